"""What is open while a chat completion streams: one text, and the calls being written."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, Type, Union

from jpq.events.parts import (
    Flush,
    MessageDelta,
    Opaque,
    Part,
    ReasoningDelta,
    StreamEvent,
    ToolArgumentsDelta,
    ToolCallStarted,
)
from jpq.events.surrogates import REPLACEMENT, mend_piece, mend_value
from jpq.provider.openai_chat_calls import CallTable, OpenCall
from jpq.provider.openai_chat_fields import ReasoningDetails
from jpq.provider.wire_reply import ReplyCallIds

TextKind = Union[Type[MessageDelta], Type[ReasoningDelta]]


class OpenBlocks:
    """Gives each text and call its index, and says when it is finished.

    Text is passed on at once. Calls stay open until the answer ends, because servers
    interleave their fragments; what ends behind an open call is flushed after it, so that
    flushes come in the order of their indices.
    """

    def __init__(self) -> None:
        self.reply = ""  # what tells this reply from others
        self._indices = 0
        self._kind: Optional[TextKind] = None  # of the open text, whose index this is:
        self._index = -1
        self._held = ""  # the first half of a surrogate pair, waiting for the second
        self._details = ReasoningDetails()
        self._calls = CallTable()
        self._ids = ReplyCallIds()
        self._unannounced: Optional[OpenCall] = None  # the last call, until its name comes
        self._late_flushes: Optional[List[Flush]] = None  # a list once a call is announced

    @property
    def text(self) -> Optional[Tuple[TextKind, int]]:
        """Kind and index of the open text, or None when there is none (or half a character)."""
        return None if self._kind is None or self._held else (self._kind, self._index)

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been said yet."""
        return self._indices == 0 and not self.has_calls

    @property
    def has_calls(self) -> bool:
        """Whether the model made a call."""
        return bool(self._calls.calls)

    def say(self, kind: TextKind, text: str) -> Iterator[StreamEvent]:
        """More text of ``kind``."""
        if not text:
            return
        if self._kind is not kind:
            yield from self._turn_to(kind)
            self._kind, self._index = kind, self._next_index()
        text, self._held = mend_piece(self._held, text)
        if text:
            yield Part(self._index, kind(text))

    def keep(self, details: Any) -> None:
        """Take ``reasoning_details``; they belong to the reasoning text they come with."""
        self._details.add(details)

    def show(self, images: Any) -> Iterator[StreamEvent]:
        """Take ``images`` that the model made: kept as they are, since jpq shows none."""
        images = mend_value(images) if isinstance(images, list) else None
        if images:
            yield from self._turn_to(None)
            yield from self._keep({"images": images})

    def call(self, entry: Any, position: int, siblings: int) -> Iterator[StreamEvent]:
        """A delta of a call: number ``position`` of ``siblings`` entries."""
        call = self._calls.take(entry, position, siblings) if isinstance(entry, dict) else None
        if call is None:
            return
        function = entry.get("function")
        text = call.add(function.get("arguments") if isinstance(function, dict) else None)
        if call.index is not None:
            if text:
                yield ToolArgumentsDelta(call.index, text)
            return
        if call is not self._unannounced:
            yield from self._turn_to(None)
            self._unannounced = call
        if call.name:
            yield from self._announce(call)

    def end(self, cut: bool) -> Iterator[StreamEvent]:
        """Finish what is open, in order; ``cut`` as in OpenCall.request.

        Not for an answer that broke off: its text may go on, and nobody may run its calls.
        """
        yield from self._turn_to(None)
        flushes = list(self._late_flushes or ())
        parts: Dict[int, Part] = {}
        for call in self._calls.calls:
            assert call.index is not None, "_turn_to announced every call"
            parts[call.index] = Part(call.index, call.request(cut))
            flushes.append(Flush(call.index, call.metadata))
        for flush in sorted(flushes, key=lambda flush: flush.index):
            if flush.index in parts:
                yield parts[flush.index]
            yield flush

    def _turn_to(self, kind: Optional[TextKind]) -> Iterator[StreamEvent]:
        """Finish the open text: text of ``kind`` comes next, or (None) a call or the end."""
        if self._unannounced is not None:
            yield from self._announce(self._unannounced)
        if self._kind is not None:
            if self._held:
                yield Part(self._index, self._kind(REPLACEMENT))
                self._held = ""
            details = self._details.take() if self._kind is ReasoningDelta else []
            self._kind = None
            yield from self._flush(self._index, {"reasoning_details": details} if details else {})
        details = self._details.take() if kind is not ReasoningDelta else []
        if details:  # without a text they could belong to
            yield from self._keep({"reasoning_details": details})

    def _keep(self, data: Mapping[str, Any]) -> Iterator[StreamEvent]:
        index = self._next_index()
        yield Part(index, Opaque(data))
        yield from self._flush(index, {})

    def _announce(self, call: OpenCall) -> Iterator[StreamEvent]:
        self._unannounced = None
        self._late_flushes = self._late_flushes or []
        call.index = self._next_index()
        call.id = self._ids.of(call.given_id, self.reply)
        yield ToolCallStarted(call.index, call.id, call.name)
        if call.text:
            yield ToolArgumentsDelta(call.index, call.text)

    def _flush(self, index: int, metadata: Mapping[str, Any]) -> Iterator[StreamEvent]:
        if self._late_flushes is None:
            yield Flush(index, metadata)
        else:
            self._late_flushes.append(Flush(index, metadata))

    def _next_index(self) -> int:
        self._indices += 1
        return self._indices - 1
