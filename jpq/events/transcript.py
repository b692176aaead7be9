"""Transcript: folds stream events into what the model said, usable at any moment."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from jpq.events import strict_json
from jpq.events.parts import (
    ERROR,
    INTERRUPTED,
    Finished,
    Flush,
    Metered,
    Opaque,
    Part,
    ReasoningDelta,
    Started,
    StreamEvent,
    ToolArgumentsDelta,
    ToolCallRequest,
    ToolCallStarted,
)
from jpq.events.usage import Usage
from jpq.named import NamedTuple


class TextBlock(NamedTuple):
    """Text of the answer; ``metadata`` is the provider's opaque data about it."""

    text: str
    metadata: Mapping[str, Any] = {}


class ReasoningBlock(NamedTuple):
    """Reasoning; its signature, when it has one, is in ``metadata``."""

    text: str
    metadata: Mapping[str, Any] = {}


class ToolCallBlock(NamedTuple):
    """A call; ``finished`` is False when the stream ended while it was being written."""

    call: ToolCallRequest
    metadata: Mapping[str, Any] = {}
    finished: bool = True


class OpaqueBlock(NamedTuple):
    """A block or signature that belongs to no other block, verbatim."""

    data: Mapping[str, Any]


Block = Union[TextBlock, ReasoningBlock, ToolCallBlock, OpaqueBlock]


class ChatResponse(NamedTuple):
    """What the model said in one cycle.

    ``blocks`` are in order; ``model`` is the one that served, else the one asked for;
    ``stop_reason`` is one of the words of ``jpq.events.parts`` or the provider's own.
    """

    blocks: Tuple[Block, ...]
    stop_reason: str
    usage: Usage
    model: Optional[str] = None
    message_id: Optional[str] = None
    details: Mapping[str, Any] = {}

    @property
    def text(self) -> str:
        """The answer; separate message items are a blank line apart. Of a turn that is over it
        is the text of its result."""
        if "text" in self.details:
            return str(self.details["text"])
        return "\n\n".join(b.text for b in self.blocks if isinstance(b, TextBlock) and b.text)

    @property
    def reasoning(self) -> str:
        """The reasoning; separate items are a blank line apart."""
        return "\n\n".join(b.text for b in self.blocks if isinstance(b, ReasoningBlock) and b.text)

    @property
    def tool_calls(self) -> Tuple[ToolCallRequest, ...]:
        """The calls in the order the model made them."""
        return tuple(b.call for b in self.blocks if isinstance(b, ToolCallBlock))

    @property
    def is_complete(self) -> bool:
        """Whether the provider itself ended the answer, and for a whole turn, whether that is
        all that was to come."""
        return self.status == "complete" and self.stop_reason not in (INTERRUPTED, ERROR)

    @property
    def status(self) -> str:
        """How the turn ended, in the words of docs/events.md; for a single cycle ``complete``."""
        return str(self.details.get("status", "complete"))

    @property
    def structured(self) -> Any:
        """The value that the answer is, where it had to match a schema."""
        return self.details.get("structured")

    def __str__(self) -> str:
        return self.text


class _OpenBlock:
    """The pieces of one index until it is read; pieces are joined once."""

    def __init__(self, kind: type) -> None:
        self.kind = kind
        self.pieces: List[str] = []
        self.id = ""
        self.name = ""
        self.call: Optional[ToolCallRequest] = None
        self.data: Mapping[str, Any] = {}
        self.metadata: Dict[str, Any] = {}

    def read(self) -> Block:
        if self.kind is ToolCallRequest:
            call = self.call or parse_tool_call(self.id, self.name, "".join(self.pieces))
            return ToolCallBlock(call, self.metadata, finished=self.call is not None)
        if self.kind is Opaque:
            return OpaqueBlock(self.data)
        text = "".join(self.pieces)
        if self.kind is ReasoningDelta:
            return ReasoningBlock(text, self.metadata)
        return TextBlock(text, self.metadata)


class Transcript:
    """Folds the stream events of one cycle; reading it never changes it.

    Single-threaded. Usable after a failure: what arrived until then can be read, and a
    stream that never said how it ended reads as interrupted.
    """

    def __init__(self, asked_model: Optional[str] = None) -> None:
        self._model = asked_model
        self._message_id: Optional[str] = None
        self._open: Dict[int, _OpenBlock] = {}
        self._usage = Usage()
        self._finished: Optional[Finished] = None

    def feed(self, event: StreamEvent) -> None:
        """Fold one event; a fragment for a call that was never opened is dropped."""
        if isinstance(event, Part):
            self._feed_part(event)
        elif isinstance(event, ToolCallStarted):
            block = self._block(event.index, ToolCallRequest)
            block.id, block.name = event.id, event.name
        elif isinstance(event, ToolArgumentsDelta):
            opened = self._open.get(event.index)
            if opened is not None and opened.kind is ToolCallRequest:
                opened.pieces.append(event.text)
        elif isinstance(event, Flush):
            self._feed_flush(event)
        elif isinstance(event, Metered):
            self._usage = self._usage.merged(event.usage)
        elif isinstance(event, Started):
            self._model = event.model or self._model
            self._message_id = event.message_id or self._message_id
        elif isinstance(event, Finished):
            self._finished = event

    def drain(self, events: Iterable[StreamEvent]) -> ChatResponse:
        """Fold every event and return the response.

        An error raised by ``events`` passes through; what came before it stays folded.
        """
        for event in events:
            self.feed(event)
        return self.finish()

    def finish(self) -> ChatResponse:
        """What was folded so far, as if the stream ended now."""
        ending = self._finished or Finished(INTERRUPTED)
        return ChatResponse(
            blocks=tuple(self._open[index].read() for index in sorted(self._open)),
            stop_reason=ending.reason,
            usage=self._usage,
            model=self._model,
            message_id=self._message_id,
            details=ending.details,
        )

    def block(self, index: int) -> Optional[Block]:
        """The block at ``index`` as far as it has arrived, or None."""
        opened = self._open.get(index)
        return None if opened is None else opened.read()

    @property
    def usage(self) -> Usage:
        """Usage as reported so far."""
        return self._usage

    def _block(self, index: int, kind: type) -> _OpenBlock:
        if index not in self._open:
            self._open[index] = _OpenBlock(kind)
        return self._open[index]

    def _feed_part(self, part: Part) -> None:
        payload = part.payload
        block = self._block(part.index, type(payload))
        if isinstance(payload, ToolCallRequest):
            block.call = payload
        elif isinstance(payload, Opaque):
            block.data = payload.data
        else:
            block.pieces.append(payload.text)

    def _feed_flush(self, flush: Flush) -> None:
        if not flush.metadata:
            return
        if flush.index in self._open:
            self._open[flush.index].metadata.update(flush.metadata)
        else:
            self._block(flush.index, Opaque).data = flush.metadata


def parse_tool_call(id: str, name: str, text: str) -> ToolCallRequest:
    """A call from its argument text; empty text is an empty object.

    Text that is not a JSON object is kept raw, so that it can be shown and never run.
    """
    if not text.strip():
        return ToolCallRequest(id, name, {})
    try:
        arguments = strict_json.parse(text)
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        return ToolCallRequest(id, name, {"raw": text}, raw=text)
    return ToolCallRequest(id, name, arguments)
