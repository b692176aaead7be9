"""Runs jpq, and sends it a signal when its main thread has come to a certain point.

As a program: ``python -m tests.support.signalled POINT SIGNUM ARGUMENTS...``. ``POINT`` is
``call:NAME`` or ``return:NAME``, for the first call of a function of jpq of that name or the
first return from it, or a number that counts all calls and returns. The number of all of them
is added to the file that JPQ_TEST_POINTS names.
"""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import Any

from tests.support.ptys import ROOT

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
            os.kill(os.getpid(), self._signum)


def _run(point: str, signum: int, *arguments: str) -> None:
    trap = Trap(point, signum)

    def end(code: int, really: Any = os._exit) -> None:
        sys.setprofile(None)
        with open(os.environ["JPQ_TEST_POINTS"], "a", encoding="utf-8") as file:
            file.write(f"{trap.passed}\n")
        really(code)

    os._exit = end  # type: ignore[assignment]
    from jpq.cli.main import main

    sys.setprofile(trap)
    main(list(arguments))


if __name__ == "__main__":
    _run(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
