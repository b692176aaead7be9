"""Ends what a query does before its turn, when a signal comes or the time is up."""

from __future__ import annotations

import signal
import time
from typing import Any, Dict, NoReturn, Optional

from jpq.errors import RunTimeoutError

# SIGINT is left to Python, whose KeyboardInterrupt is an exception as well.
_SIGNALS = ("SIGTERM", "SIGHUP")


class Signalled(BaseException):
    """The signal ``signum`` asks for the end; raised wherever the main thread is."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


class EarlyEnd:
    """Makes signals and the time limit exceptions, so that everything cleans up on its way out.

    A context manager around the time before the turn, which has its own way; main thread.
    Where the system has no timer (Windows) the limit is only noticed when the turn begins.
    """

    def __init__(self, started: float) -> None:
        self._started = started
        self._previous: Dict[int, Any] = {}
        self.deadline: Optional[float] = None

    def limit(self, seconds: Optional[float]) -> None:
        """End the run ``seconds`` after it was started; None: never. Raises RunTimeoutError."""
        self.deadline = None if seconds is None else self._started + seconds
        left = 0.0 if self.deadline is None else self.deadline - time.monotonic()
        if self.deadline is not None and left <= 0:
            _out_of_time()
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, left)

    def __enter__(self) -> EarlyEnd:
        for name in _SIGNALS:
            signum = getattr(signal, name, None)
            # A signal that the parent ignores (nohup) stays ignored.
            if signum is not None and signal.getsignal(signum) is signal.SIG_DFL:
                self._previous[signum] = signal.signal(signum, _raise_signal)
        if hasattr(signal, "setitimer"):
            self._previous[signal.SIGALRM] = signal.signal(signal.SIGALRM, _out_of_time)
        return self

    def __exit__(self, *exc: object) -> None:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        for signum, handler in self._previous.items():
            signal.signal(signum, handler)
        self._previous.clear()


def _raise_signal(signum: int, frame: object) -> NoReturn:
    raise Signalled(signum)


def _out_of_time(signum: int = 0, frame: object = None) -> NoReturn:
    raise RunTimeoutError(
        "The run took longer than --timeout allows; nothing was sent.",
        hint="Raise --timeout, or request.total_timeout_s in the configuration.",
    )
