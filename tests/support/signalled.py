"""Runs jpq, and sends it a signal when its main thread has come to a certain point.

As a program: ``python -m tests.support.signalled POINT SIGNUM ARGUMENTS...``. ``POINT`` is
``call:NAME`` or ``return:NAME``, for the first call of a function of jpq of that name or the
first return from it, or a number that counts all calls and returns. The number of all of them
is added to the file that JPQ_TEST_POINTS names. ``SIGNUM`` 0 holds the main thread there, as a
slow disk would, and says so on the terminal, until a signal comes from elsewhere; -1 holds it
without a word there: a file beside that one says it, with ``.held`` at the end of its name.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import Any

from tests.support.ptys import ROOT

HELD = b"It holds."
_PACKAGE = os.path.join(ROOT, "jpq", "")


class Trap:
    """A profile function that sends ``signum`` at ``point``."""

    def __init__(self, point: str, signum: int) -> None:
        self.passed = 0
        self._point = point
        self._signum = signum

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(_PACKAGE):
            return
        self.passed += 1
        if self._point in (str(self.passed), f"{event}:{code.co_name}"):
            self._point = ""
            sys.setprofile(None)
            if self._signum > 0:
                os.kill(os.getpid(), self._signum)
            else:
                _hold(says=self._signum == 0)


def _hold(says: bool) -> None:
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes)
    if says:
        with open("/dev/tty", "wb", buffering=0) as terminal:
            terminal.write(HELD + b"\r\n")
    else:
        with open(os.environ["JPQ_TEST_POINTS"] + ".held", "wb"):
            pass
    os.read(woken, 1)
    signal.set_wakeup_fd(-1)


def _run(point: str, signum: int, *arguments: str) -> None:
    trap = Trap(point, signum)

    def end(code: int, really: Any = os._exit) -> None:
        with open(os.environ["JPQ_TEST_POINTS"], "a", encoding="utf-8") as file:
            file.write(f"{trap.passed}\n")
        really(code)

    os._exit = end  # type: ignore[assignment]
    from jpq.cli.main import main

    sys.setprofile(trap)
    main(list(arguments))


if __name__ == "__main__":
    _run(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
