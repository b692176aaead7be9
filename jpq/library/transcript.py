"""Transcript: folds the events of a whole turn, or those of a provider, into one response."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, List, Mapping

from jpq.events import transcript
from jpq.events.parts import (
    ERROR,
    INTERRUPTED,
    STOP,
    Finished,
    MessageDelta,
    Metered,
    Part,
    ReasoningDelta,
    Started,
    ToolCallRequest,
    ToolCallStarted,
)
from jpq.events.transcript import ChatResponse
from jpq.events.turn import (
    Complete,
    ReasoningChunk,
    Result,
    StreamStart,
    TextChunk,
    TokenUpdate,
    ToolUse,
    ToolUseStart,
)
from jpq.events.usage import Usage, total_usage

# How a turn ended that the provider did not end, in the words of a finish reason.
_REASONS = {
    "interrupted": INTERRUPTED,
    "incomplete": INTERRUPTED,
    "error": ERROR,
    "denied": ERROR,
}


class Transcript(transcript.Transcript):
    """Folds events into a ``ChatResponse``; reading it never changes it.

    It takes what ``Session.stream`` yields, and what a provider's decoder does. The response
    to a turn of several cycles has the blocks of all of them in order, and the sum of their
    usage. Usable at any moment and after a failure: what never said how it ended reads as
    interrupted. Single-threaded.
    """

    def __init__(self, asked_model: Any = None) -> None:
        super().__init__(asked_model)
        self._places: Dict[Any, int] = {}
        self._cycle = 0
        self._usages: List[Usage] = []

    def feed(self, event: Any) -> None:
        """Fold one event; one that says nothing about the response is passed over."""
        fold = _FOLDS.get(type(event))
        if fold is None:
            super().feed(event)
        else:
            fold(self, event)

    def drain(self, events: Iterable[Any]) -> ChatResponse:
        """Fold every event and return the response.

        An error raised by ``events`` passes through; what came before it stays folded.
        """
        return super().drain(events)

    def _place(self, *key: Any) -> int:
        """The index of the block that ``key`` names; blocks are in the order of their first
        event."""
        return self._places.setdefault(key, len(self._places))

    def _stream_start(self, event: StreamStart) -> None:
        super().feed(Started(event.model, event.message_id))

    def _text(self, event: TextChunk) -> None:
        place = self._place(self._cycle, "text", event.index)
        super().feed(Part(place, MessageDelta(event.text)))

    def _reasoning(self, event: ReasoningChunk) -> None:
        place = self._place(self._cycle, "reasoning", event.index)
        super().feed(Part(place, ReasoningDelta(event.text)))

    def _call_started(self, event: ToolUseStart) -> None:
        super().feed(ToolCallStarted(self._place("call", event.id), event.id, event.name))

    def _call(self, event: ToolUse) -> None:
        call = ToolCallRequest(event.id, event.name, dict(event.arguments))
        super().feed(Part(self._place("call", event.id), call))

    def _complete(self, event: Complete) -> None:
        self._cycle += 1
        super().feed(Finished(event.finish_reason))

    def _tokens(self, event: TokenUpdate) -> None:
        self._usages.append(event.usage)
        super().feed(Metered(total_usage(self._usages)))

    def _result(self, event: Result) -> None:
        reason = _REASONS.get(event.status) or event.finish_reason or STOP
        super().feed(Metered(event.usage))
        about = {"status": event.status, "text": event.text, "cost": event.cost}
        super().feed(Finished(reason, {**about, **event.extra}))


_FOLDS: Mapping[type, Callable[[Transcript, Any], None]] = {
    StreamStart: Transcript._stream_start,
    TextChunk: Transcript._text,
    ReasoningChunk: Transcript._reasoning,
    ToolUseStart: Transcript._call_started,
    ToolUse: Transcript._call,
    Complete: Transcript._complete,
    TokenUpdate: Transcript._tokens,
    Result: Transcript._result,
}
