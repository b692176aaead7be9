"""However jpq itself ends, no process of its tools is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import List

import pytest

from tests.support.programs import JPQ, ROOT, WAIT_S, environment, model_at
from tests.support.server import DONE, Server, reply

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="process groups and signals")

# A tool that takes no notice of signals, with children that do not, either; on Linux some have
# a session of their own.
STUBBORN = """
import os, signal, sys, time
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
os.fork()
if os.fork() == 0 and sys.platform == "linux":
    os.setsid()
with open(os.path.join(sys.argv[1], str(os.getpid())), "w"):
    pass
time.sleep(100)
"""


def processes(folder: Path) -> List[int]:
    """The processes of the tool that live; those that nobody has waited for yet do not."""
    living = []
    for name in os.listdir(str(folder)):
        found = subprocess.run(["ps", "-o", "stat=", "-p", name], stdout=-1)
        if found.stdout.strip() and not found.stdout.startswith(b"Z"):
            living.append(int(name))
    return living


def wait_for(count: int, folder: Path) -> None:
    deadline = time.monotonic() + WAIT_S
    while len(processes(folder)) != count:
        assert time.monotonic() < deadline, f"{processes(folder)} live, and not {count}"
        time.sleep(0.02)


@pytest.mark.parametrize("signals", [[signal.SIGKILL], [signal.SIGQUIT], [signal.SIGINT] * 3])
def test_no_process_of_a_tool_outlives_jpq(signals: List[int], tmp_path: Path) -> None:
    home, pids = tmp_path / "home", tmp_path / "pids"
    home.mkdir()
    pids.mkdir()
    command = json.dumps([sys.executable, "-c", STUBBORN, str(pids)])
    (home / "config.toml").write_text(f"[tools.stubborn]\ncommand = {command}\n")
    call = {"index": 0, "id": "c1", "function": {"name": "stubborn", "arguments": "{}"}}
    asks = {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}
    ends = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    with Server(reply(asks, ends, DONE)) as server:
        child = subprocess.Popen(
            [*JPQ, *model_at(server), "-y", "go"],
            env=environment(JPQ_HOME=str(home)),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for(4, pids)
            for number in signals:
                child.send_signal(number)
                time.sleep(0.05)  # as far apart as presses are: signals at once are one
            assert child.wait(WAIT_S) == -signals[0]
            wait_for(0, pids)
        finally:
            child.kill()
            child.wait()
            for pid in processes(pids):
                os.kill(pid, signal.SIGKILL)
