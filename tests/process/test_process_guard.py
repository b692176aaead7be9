"""The guard: what it does to the groups that are left when jpq is gone, and to no others."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import List

import pytest

from jpq.process.start import CannotStart, Launch, start_dialogue

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WAIT_S = 30.0

# Each child says that it was asked to end.
PARENT = """
import os, signal, sys
from jpq.process.guard import AT_ONCE, GENTLY, GUARD
from jpq.process.start import Launch, start_dialogue

CHILD = 'trap "echo asked >&9; exit" TERM; echo ready; while :; do sleep 0.05; done'

def child(how, name):
    # The shell tells of its child that TERM ends, too, and nobody reads that any more.
    line = f"exec 9>{sys.argv[1]}/{name} 2>/dev/null; {CHILD}"
    process = start_dialogue(Launch(("sh", "-c", line), "/", os.environ))
    GUARD.watch(process.pid, how)
    process.stdout.readline()
    return process

with GUARD.ready():
    children = [child(AT_ONCE, "at-once"), child(GENTLY, "gently"), child(GENTLY, "released")]
    GUARD.release(children[-1].pid)
    print(*(each.pid for each in children), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX's")


def pids_of(folder: str) -> List[int]:
    """The children of a process that was killed."""
    command = [sys.executable, "-c", PARENT, folder]
    run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, timeout=WAIT_S)
    return [int(word) for word in run.stdout.split()]


def has_ended(pid: int) -> bool:
    """Whether it ends within the time that the guard gives it, and some more."""
    watch = f"while kill -0 {pid} 2>/dev/null; do sleep 0.05; done"
    try:
        subprocess.run(["sh", "-c", watch], timeout=WAIT_S)
    except subprocess.TimeoutExpired:
        return False
    return True


def test_groups_end_as_they_were_to(tmp_path: object) -> None:
    folder = str(tmp_path)
    at_once, gently, released = pids_of(folder)
    try:
        assert has_ended(at_once) and has_ended(gently)
        os.kill(released, 0)
    finally:
        os.killpg(released, 9)
    said = {}
    for name in ("at-once", "gently"):
        with open(os.path.join(folder, name)) as file:
            said[name] = file.read()
    assert said == {"at-once": "", "gently": "asked\n"}


def test_a_dialogue_has_pipes_of_its_own() -> None:
    line = 'read word; echo "$word"; echo aside >&2'
    with start_dialogue(Launch(("sh", "-c", line), "/", {"PATH": os.defpath})) as process:
        out, err = process.communicate(b"hello\n", timeout=WAIT_S)
    assert (out, err, process.returncode) == (b"hello\n", b"aside\n", 0)
    with pytest.raises(CannotStart, match="There is no program '/nowhere'"):
        start_dialogue(Launch(("/nowhere",), "/", {}))
    with pytest.raises(CannotStart, match="The folder /nowhere does not exist"):
        start_dialogue(Launch(("sh",), "/nowhere", {}))
