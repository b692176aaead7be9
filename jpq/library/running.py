"""RunningTurn: a turn on a thread of its own, whose events another thread takes.

program's thread                    turn's thread
events() ◀── events, requests ──    run_turn, waits in its inbox
         ─── answers, stop ──▶
"""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import Any, Callable, ContextManager, Iterator, Optional, Union

from jpq.events.turn import Error, TurnEvent
from jpq.library.asking import (
    Answer,
    Approve,
    Asking,
    PermissionRequest,
    QuestionRequest,
    hint_in_python,
)
from jpq.named import NamedTuple
from jpq.turn.ending import TurnOutcome
from jpq.turn.inbox import Inbox, StopAsked

Event = Union[TurnEvent, PermissionRequest, QuestionRequest]


class _Ended(NamedTuple):
    """The last item: the turn's outcome, or what broke it."""

    outcome: Optional[TurnOutcome]
    error: Optional[BaseException]


class RunningTurn:
    """One turn; also the ``Display`` that it is shown on.

    ``run(turn)`` is called on the new thread, and posts what happens through ``turn``. The
    other methods are for the program: ``events`` on one thread, ``stop`` on any.
    """

    def __init__(self, run: Callable[[RunningTurn], TurnOutcome]) -> None:
        self.inbox = Inbox()
        self.outcome: Optional[TurnOutcome] = None
        self.stopping = False  # no Event: setting one is not safe in a signal handler
        self._run = run
        # Unbounded: a program that takes its time must not slow the reading or the saving.
        self._items = Inbox()
        self._thread = threading.Thread(target=self._body, name="jpq-turn", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def events(self, approve: Optional[Approve], answer: Optional[Answer]) -> Iterator[Event]:
        """What happens, as it happens, until the turn is over; requests are yielded and then
        put to ``approve`` and ``answer``. Raises what broke the turn."""
        while True:
            item = self._items.take()
            if isinstance(item, _Ended):
                self.outcome = item.outcome
                if item.error is not None:
                    raise item.error
                return
            if not isinstance(item, Asking):
                yield item
                continue
            yield item.request
            decide: Any = approve if isinstance(item.request, PermissionRequest) else answer
            if not item.over:
                item.decide(None if decide is None else decide(item.request))

    def stop(self) -> None:
        """Have the turn saved and ended, as it is. Does not wait. Any thread, and signal
        handlers."""
        self.stopping = True
        self.inbox.post(StopAsked())

    def join(self) -> None:
        """Wait until it is over. While Python itself ends no thread runs any more; what had
        arrived is in the conversation's in-flight file by then."""
        if not sys.is_finalizing():
            self._thread.join()

    # -- on the turn's thread, and on those of its tools ---------------------------------

    def post(self, item: Any) -> None:
        """Hand the program an item."""
        self._items.post(item)

    def show(self, event: TurnEvent) -> None:
        """Hand the program an event."""
        if isinstance(event, Error):
            event = event._replace(hint=hint_in_python(event.hint))
        self._items.post(event)

    def flush(self, timeout_s: float) -> bool:
        """The program has it all."""
        return True

    def lease(self) -> ContextManager[Callable[[], bool]]:
        """Nobody draws here."""
        return contextlib.nullcontext(lambda: True)

    lease_now = lease

    def _body(self) -> None:
        try:
            ended = _Ended(self._run(self), None)
        except BaseException as error:  # the top of a thread: raised again on the program's
            ended = _Ended(None, error)
        self._items.post(ended)
