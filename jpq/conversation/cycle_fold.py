"""CycleFold: the stream events of one cycle as drafts of conversation events."""

from __future__ import annotations

from typing import Any, Dict, Optional

from jpq.conversation.event import (
    AssistantMessage,
    AssistantOpaque,
    AssistantReasoning,
    Draft,
    Drafts,
    ToolCall,
    ToolResponse,
    TurnEnd,
)
from jpq.conversation.sanitize import CUT_CALL
from jpq.conversation.thread import Origin
from jpq.events.parts import CONTENT_FILTER, LENGTH, PAUSED, REFUSAL, STOP, StreamEvent
from jpq.events.transcript import (
    Block,
    ChatResponse,
    OpaqueBlock,
    TextBlock,
    ToolCallBlock,
    Transcript,
)

# The status of a turn whose last answer the provider ended so.
_STATUS = {
    STOP: "complete",
    LENGTH: "limited",
    REFUSAL: "refused",
    CONTENT_FILTER: "filtered",
}


class CycleFold:
    """Collects a cycle's stream events; readable at any moment, reading changes nothing.

    ``origin`` names the provider and the model that were asked, which every draft carries,
    because opaque data may go back to no other. Single-threaded.
    """

    def __init__(self, origin: Optional[Origin] = None) -> None:
        self._origin = origin
        self._transcript = Transcript(origin.model if origin else None)

    def feed(self, event: StreamEvent) -> None:
        """Fold one event."""
        self._transcript.feed(event)

    def response(self) -> ChatResponse:
        """What the model said so far."""
        return self._transcript.finish()

    def drafts(self) -> Drafts:
        """What is to be stored, in order; blocks without content, blank text too, are left out.

        In a cycle that did not end by itself no call is run: a whole one is answered as
        such, and one that was still being written is left out. A text at its end is marked
        ``partial``, and kept even if blank, because the next attempt goes on after it.
        """
        response = self.response()
        if response.is_complete:
            drafts = [self._draft(block) for block in response.blocks if _has_content(block)]
            return _paused(drafts) if response.stop_reason == PAUSED else drafts
        whole = [b for b in response.blocks if not isinstance(b, ToolCallBlock) or b.finished]
        open_end = whole[-1] if whole and _was_shown(whole[-1]) else None
        kept = [block for block in whole if block is open_end or _has_content(block)]
        drafts = [self._draft(block) for block in kept]
        if open_end is not None:
            event, metadata = drafts[-1]
            drafts[-1] = Draft(event, {**metadata, "partial": True})
        calls = [block.call for block in kept if isinstance(block, ToolCallBlock)]
        return drafts + [Draft(ToolResponse(call.id, CUT_CALL, is_error=True)) for call in calls]

    def turn_end(self) -> Optional[TurnEnd]:
        """The end of a turn that died after the provider had ended its answer; None where
        something is left to do. What the turn took is not known here."""
        response = self.response()
        status = _STATUS.get(response.stop_reason)
        if status is None or response.tool_calls or not response.text.strip():
            return None
        return TurnEnd(status, response.stop_reason, {}, response.model)

    def _draft(self, block: Block) -> Draft:
        metadata: Dict[str, Any] = {}
        if self._origin is not None:
            metadata.update(self._origin._asdict())
        if isinstance(block, OpaqueBlock):
            return Draft(AssistantOpaque(dict(block.data)), metadata)
        if block.metadata:
            metadata["opaque"] = dict(block.metadata)
        if isinstance(block, ToolCallBlock):
            return Draft(ToolCall(*block.call), metadata)
        if isinstance(block, TextBlock):
            return Draft(AssistantMessage(block.text), metadata)
        return Draft(AssistantReasoning(block.text), metadata)


def _paused(drafts: Drafts) -> Drafts:
    """``drafts`` of an answer that the provider paused, which is marked on the last of them."""
    marked = [Draft(event, {**metadata, "paused": True}) for event, metadata in drafts[-1:]]
    return [*drafts[:-1], *marked]


def _has_content(block: Block) -> bool:
    if isinstance(block, ToolCallBlock):
        return True
    if isinstance(block, OpaqueBlock):
        return bool(block.data)
    return bool(block.text.strip() or block.metadata)


def _was_shown(block: Block) -> bool:
    return isinstance(block, TextBlock) and bool(block.text)
