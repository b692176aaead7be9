"""A signal at one point after the other of a whole run: each has its effect, and once.

``JPQ_TEST_EVERY=1`` sends one at each of the four thousand calls and returns of functions;
the default is a few of them.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List

import pytest

from jpq.interrupt.menus import Place
from jpq.store.library import Library
from tests.support.pressing import MARK
from tests.support.ptys import WAIT_S, Child, environment

EVERY = int(os.environ.get("JPQ_TEST_EVERY", "600"))
# Before this many points it is not yet known that a program wants a result.
FIRST = 300
# Where one thing ends and the next one begins.
NAMED = (
    "return:prepare",
    "call:_answer",
    "call:run_turn",
    "return:run_turn",
    "call:turn_is_over",
    "return:turn_is_over",
    "return:_answer",
    "call:_log_ending",
    "call:end_process",
)


class Run:
    """A home, and a model that says something."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.environ = environment(os.path.join(folder, "home"))
        self.environ["JPQ_TEST_POINTS"] = os.path.join(folder, "points")
        self._script = os.path.join(folder, "script.toml")
        with open(self._script, "w", encoding="utf-8") as file:
            file.write('[[reply]]\ntext = "Hello."\n')

    def command(self, point: str, signum: int, *options: str) -> List[str]:
        program = [sys.executable, "-m", "tests.support.signalled", point, str(int(signum))]
        return [*program, "-m", f"scripted/{self._script}", *options, "hi"]

    def to_its_end(self, point: str, signum: int) -> subprocess.CompletedProcess[bytes]:
        command = self.command(point, signum, "--format", "json")
        return subprocess.run(
            command,
            env=self.environ,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=WAIT_S,
        )

    def count(self) -> int:
        """How many points a whole run has."""
        self.to_its_end("0", signal.SIGINT)
        with open(self.environ["JPQ_TEST_POINTS"], encoding="utf-8") as file:
            return int(file.read().split()[-1])

    def conversations(self) -> List[List[Dict[str, Any]]]:
        library = Library(os.path.join(self.folder, "home", "data", "conversations"))
        return [list(library.read(id).stream.entries) for id in library.ids()]


def check(run: Run, point: str, signum: int) -> int:
    """Send the signal there; the exit code."""
    before = len(run.conversations())
    done = run.to_its_end(point, signum)
    told = (point, done.stdout, done.stderr)
    assert b"Traceback" not in done.stderr and b"ignored" not in done.stderr, told
    assert done.returncode in (0, -signum), told
    (result,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert result["type"] == "result", told
    assert result["exit_code"] in ((0,) if done.returncode == 0 else (0, 128 + signum)), told
    conversations = run.conversations()
    assert len(conversations) - before in (0, 1), told
    assert all(conversations), f"one in which nothing was said is left: {told}"
    return done.returncode


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_program_gets_one_result_wherever_a_signal_comes(signum: int, tmp_path: Path) -> None:
    run = Run(str(tmp_path))
    for point in range(FIRST, run.count(), EVERY):
        check(run, str(point), signum)


def test_where_one_thing_ends_and_the_next_begins(tmp_path: Path) -> None:
    run = Run(str(tmp_path))
    assert {point: check(run, point, signal.SIGINT) for point in NAMED} == dict.fromkeys(
        NAMED, -signal.SIGINT
    )


@pytest.mark.parametrize("point", ["return:create", "call:_answer", "call:run_turn"])
def test_once_there_is_a_conversation_a_press_opens_the_menu(point: str, tmp_path: Path) -> None:
    run = Run(str(tmp_path))
    command = run.command(point, signal.SIGINT)
    with Child(command, run.environ, run.folder, terminal=True) as child:
        child.wait_for(MARK[Place.STREAMING])
        child.type(b"s")
        assert child.end() == 0
    assert len(run.conversations()) == 1
