"""Ends what a query does outside its turn, when a signal comes or the time is up."""

from __future__ import annotations

import functools
import signal
import time
from typing import Any, NoReturn, Optional

from jpq.errors import RunTimeoutError
from jpq.interrupt.signals import AGAIN_S, Interrupt, Notify, SignalRouter
from jpq.turn.ending import TurnOutcome
from jpq.turn.inbox import Inbox


class EarlyEnd:
    """Makes signals and the time limit exceptions, so that everything cleans up on its way out.

    A context manager around a query; main thread. Once the turn begins they are messages in
    ``inbox``, and the turn looks at the time itself. Where the system has no timer (Windows)
    the limit is only noticed when the turn begins.
    """

    def __init__(self, started: float) -> None:
        self._started = started
        self._previous_alarm: Any = None
        self.router = SignalRouter()  # without a scope, signals are exceptions
        self.inbox = Inbox()
        self.deadline: Optional[float] = None

    def limit(self, seconds: Optional[float]) -> None:
        """End the run ``seconds`` after it was started; None: never. Raises RunTimeoutError."""
        self.deadline = None if seconds is None else self._started + seconds
        left = 0.0 if self.deadline is None else self.deadline - time.monotonic()
        if self.deadline is not None and left <= 0:
            raise _out_of_time()
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, left)

    def turn_begins(self, notify: Optional[Notify] = None) -> None:
        """From now on nothing is raised; signals go to ``notify``, without one to the inbox."""
        self._stop_clock()
        self.router.listen(notify or self.inbox.post)

    def turn_is_over(self) -> None:
        """All is saved and told: from now on a signal ends the process at once."""
        self.router.stop_listening()

    def __enter__(self) -> EarlyEnd:
        self.router.__enter__()
        if hasattr(signal, "setitimer"):
            self._previous_alarm = signal.signal(signal.SIGALRM, self._alarmed)
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop_clock()
        if hasattr(signal, "setitimer"):
            signal.signal(signal.SIGALRM, self._previous_alarm)
        self.router.__exit__(*exc)

    def _alarmed(self, signum: int, frame: object) -> NoReturn:
        # By the timer, which is stopped when the turn begins, and with the run at the latest.
        again = functools.partial(signal.setitimer, signal.ITIMER_REAL, AGAIN_S)
        self.router.surely(_out_of_time(), again)

    def _stop_clock(self) -> None:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)


def with_late_signal(outcome: TurnOutcome, inbox: Inbox) -> TurnOutcome:
    """``outcome`` with the signal that came after all was shown, if one did."""
    item = inbox.take_ready()
    while item is not None and outcome.signum is None:
        if isinstance(item, Interrupt):
            outcome = outcome._replace(signum=item.signum)
        item = inbox.take_ready()
    return outcome


def _out_of_time() -> RunTimeoutError:
    return RunTimeoutError(
        "The run took longer than --timeout allows; nothing was sent.",
        hint="Raise --timeout, or request.total_timeout_s in the configuration.",
    )
