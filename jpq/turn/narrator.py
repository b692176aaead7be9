"""Narrator: stream events as the turn events its audience is shown."""

from __future__ import annotations

from typing import Any, Callable, Optional

from jpq.errors import JpqError
from jpq.events.parts import (
    MessageDelta,
    Part,
    ReasoningDelta,
    Started,
    StreamEvent,
    ToolCallRequest,
    ToolCallStarted,
)
from jpq.events.turn import (
    Complete,
    Notice,
    ReasoningChunk,
    StreamStart,
    TextChunk,
    TokenUpdate,
    ToolUse,
    ToolUseStart,
    TurnEvent,
    Waiting,
)
from jpq.turn.tally import Tally


class Narrator:
    """Numbers the message items of a cycle and announces each attempt once. Main thread.

    A continued answer goes on in the item where it was cut, so that nothing is put
    between the two halves.
    """

    def __init__(self, show: Callable[[TurnEvent], None]) -> None:
        self._show = show
        self._announced = False
        self._item = -1
        self._part: Optional[int] = None
        self._continues = False

    def attempt_begins(self, *, continues: bool) -> None:
        """The next events are a new attempt's; ``continues`` its text joins the last one's."""
        self._announced = False
        self._part = None
        self._continues = continues
        if not continues:
            self._item = -1

    def retrying(self, retry: Any) -> None:
        """Say why another attempt (jpq.turn.retry.Retry) is made, and when."""
        why = retry.error.message.rstrip(".")
        attempt = f"{retry.attempt} of {retry.max_attempts}"
        self._show(Notice(f"{why}. Attempt {attempt} in {retry.wait_s:.1f} s."))
        self._show(Waiting(f"attempt {attempt}", retry.wait_s))

    def resuming(self, error: JpqError) -> None:
        """Say why the provider is asked to go on."""
        self._show(Notice(f"{error.message} Asking the provider to go on."))

    def asking_again(self, error: Optional[JpqError]) -> None:
        """Say that the answer is empty, which ``error`` words, and that it is asked for again."""
        why = error.message.rstrip(".") if error else "The reply is empty"
        self._show(Notice(f"{why}. Asking again, once."))

    def cycle_ended(self, tally: Tally, notice: str = "") -> None:
        """Tell how the last cycle ended, what it took, and the ``notice`` of its ending."""
        self._show(Complete(tally.finish_reason or ""))
        self._show(TokenUpdate(tally.last_usage))
        if notice:
            self._show(Notice(notice))

    def tell(self, event: StreamEvent) -> None:
        """Show what ``event`` means for a person or a program."""
        if not self._announced:
            self._announced = True
            started = event if isinstance(event, Started) else Started()
            self._show(StreamStart(started.model, started.message_id))
        if isinstance(event, Part):
            self._tell_part(event)
        elif isinstance(event, ToolCallStarted):
            self._show(ToolUseStart(event.id, event.name))

    def _tell_part(self, part: Part) -> None:
        payload = part.payload
        if isinstance(payload, (MessageDelta, ReasoningDelta)):
            if part.index != self._part:
                self._part = part.index
                if not self._continues:
                    self._item += 1
                self._continues = False
            chunk = TextChunk if isinstance(payload, MessageDelta) else ReasoningChunk
            self._show(chunk(payload.text, max(self._item, 0)))
        elif isinstance(payload, ToolCallRequest):
            self._show(ToolUse(payload.id, payload.name, payload.arguments))
