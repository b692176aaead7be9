"""Lines that readline edits, in a process and on a terminal of its own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.support.ptys import Child, environment

pytest.importorskip("readline", reason="this Python has no readline")

# While what the first signal raises is set, another one waits to be attended to.
TWO_SIGNALS = """
import os, signal
from jpq.terminal.line_editor import open_line_editor

class Pressed(BaseException):
    pass

def press(signum, frame):
    signal.setitimer(signal.ITIMER_REAL, 1e-5, 1e-5)
    raise Pressed

signal.signal(signal.SIGINT, press)
editor = open_line_editor(os.environ)
for _ in range(20):
    try:
        editor.read("more> ")
    except Pressed:
        editor.write("pressed\\n")
print(type(editor).__name__, "goes on")
"""


def test_two_signals_at_once_are_no_fault(tmp_path: Path) -> None:
    command = [sys.executable, "-c", TWO_SIGNALS]
    with Child(command, environment(str(tmp_path)), os.fspath(tmp_path), terminal=True) as child:
        for _ in range(20):
            child.wait_for(b"more> ")
            child.type(b"\x03")
            child.wait_for(b"pressed")
            del child.output[: child.output.index(b"pressed") + 1]
        child.wait_for(b"ReadlineEditor goes on")
        assert child.end() == 0
