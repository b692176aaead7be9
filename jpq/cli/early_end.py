"""Ends what a query does outside its turn, when a signal comes or the time is up."""

from __future__ import annotations

import signal
import time
from typing import Any, Dict, NoReturn, Optional

from jpq.errors import RunTimeoutError

# By name because Windows lacks some. SIGINT is Python's KeyboardInterrupt.
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


class Signalled(BaseException):
    """The signal ``signum`` asks for the end; raised wherever the main thread is, like
    KeyboardInterrupt."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


class EarlyEnd:
    """Makes signals and the time limit exceptions, so that everything cleans up on its way out.

    A context manager around a query; main thread. The turn has its own way with signals
    (``SignalRouter``) and with time. Where the system has no timer (Windows) the limit is
    only noticed when the turn begins.
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

    def stop_clock(self) -> None:
        """The turn begins, which looks at the deadline itself."""
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)

    def turn_is_over(self) -> None:
        """All is saved and told: from now on a signal simply ends the process."""
        for signum in self._previous:
            signal.signal(signum, signal.SIG_DFL)

    def __enter__(self) -> EarlyEnd:
        for name in _SIGNALS:
            signum = getattr(signal, name, None)
            # A signal that the parent ignores (nohup, a background job) stays ignored.
            if signum is not None and signal.getsignal(signum) is not signal.SIG_IGN:
                handler = signal.default_int_handler if name == "SIGINT" else _raise_signal
                self._previous[signum] = signal.signal(signum, handler)
        if hasattr(signal, "setitimer"):
            self._previous[signal.SIGALRM] = signal.signal(signal.SIGALRM, _out_of_time)
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop_clock()
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
