"""SignalRouter: signals become messages while a turn runs."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any, Callable, Dict, NamedTuple, NoReturn, Optional

# Signals that ask for a graceful end, by name because Windows lacks some of them.
_GRACEFUL = ("SIGINT", "SIGTERM", "SIGHUP")
_LAST_PRESS = 3


class Interrupt(NamedTuple):
    """A signal arrived: its number, and which press of Ctrl+C it is (1, 2)."""

    signum: int
    press: int


class SignalRouter:
    """Posts each signal and does nothing else; a context manager around the turn loop.

    Main thread only, because Python installs handlers there. The handler calls ``post``,
    which must be safe inside a signal handler (``Inbox.post`` is). The third Ctrl+C and
    SIGQUIT end the process at once, without asking anybody.
    """

    def __init__(self, post: Callable[[Interrupt], None]) -> None:
        self._post = post
        self._presses = 0
        self._previous: Dict[int, Any] = {}

    def __enter__(self) -> SignalRouter:
        for name in _GRACEFUL:
            signum = getattr(signal, name, None)
            # A signal that the parent ignores (nohup, a background job) stays ignored.
            if signum is not None and signal.getsignal(signum) is not signal.SIG_IGN:
                self._previous[signum] = signal.signal(signum, self._handle)
        return self

    def __exit__(self, *exc: object) -> None:
        for signum, handler in self._previous.items():
            signal.signal(signum, handler)
        self._previous.clear()

    def _handle(self, signum: int, frame: Optional[object]) -> None:
        if signum == signal.SIGINT:
            self._presses += 1
            if self._presses >= _LAST_PRESS:
                end_by_signal(signum)
        self._post(Interrupt(signum, max(self._presses, 1)))


def end_by_interrupt() -> NoReturn:
    """End the process by Ctrl+C."""
    end_by_signal(signal.SIGINT)


def end_by_signal(signum: int) -> NoReturn:
    """End the process as if it had never handled ``signum``, so that its parent sees it."""
    if sys.platform != "win32":  # os.kill there ends with the bare number as exit code
        signal.signal(signum, signal.SIG_DFL)
        os.kill(os.getpid(), signum)
    os._exit(128 + signum)  # elsewhere only reached when the signal is blocked
