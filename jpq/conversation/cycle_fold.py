"""CycleFold: the stream events of one cycle as drafts of conversation events."""

from __future__ import annotations

from typing import Any, Dict, Optional, Set

from jpq.conversation.event import (
    AssistantMessage,
    AssistantOpaque,
    AssistantReasoning,
    Draft,
    Drafts,
    ToolCall,
)
from jpq.conversation.thread import Origin
from jpq.events.parts import Flush, Part, StreamEvent, ToolCallStarted
from jpq.events.transcript import (
    Block,
    ChatResponse,
    OpaqueBlock,
    TextBlock,
    ToolCallBlock,
    Transcript,
)


class CycleFold:
    """Collects a cycle's stream events; readable at any moment, reading changes nothing.

    ``origin`` names the provider and the model that was asked; the model that serves wins.
    """

    def __init__(self, origin: Optional[Origin] = None) -> None:
        self._origin = origin
        self._transcript = Transcript(origin.model if origin else None)
        self._seen: Set[int] = set()
        self._flushed: Set[int] = set()

    def feed(self, event: StreamEvent) -> None:
        """Fold one event."""
        if isinstance(event, (Part, ToolCallStarted, Flush)):
            self._seen.add(event.index)
        if isinstance(event, Flush):
            self._flushed.add(event.index)
        self._transcript.feed(event)

    def response(self) -> ChatResponse:
        """What the model said so far."""
        return self._transcript.finish()

    def drafts(self) -> Drafts:
        """What is to be stored, in order; blocks without any content are left out.

        In a cycle that did not end by itself, a text that was not flushed is marked
        ``partial``, and so is every call, because calls of a cut cycle are never run.
        """
        response = self.response()
        drafts = []
        for index in sorted(self._seen):
            block = self._transcript.block(index)
            if block is None or not _has_content(block):
                continue
            cut = not response.is_complete and (
                isinstance(block, ToolCallBlock) or index not in self._flushed
            )
            drafts.append(self._draft(block, response.model, cut))
        return drafts

    def _draft(self, block: Block, model: Optional[str], cut: bool) -> Draft:
        metadata: Dict[str, Any] = {}
        if self._origin is not None:
            metadata["provider"] = self._origin.provider
        if model is not None:
            metadata["model"] = model
        if isinstance(block, OpaqueBlock):
            return Draft(AssistantOpaque(dict(block.data)), metadata)
        if block.metadata:
            metadata["opaque"] = dict(block.metadata)
        if cut:
            metadata["partial"] = True
        if isinstance(block, ToolCallBlock):
            call = block.call
            return Draft(ToolCall(call.id, call.name, call.arguments, call.raw), metadata)
        if isinstance(block, TextBlock):
            return Draft(AssistantMessage(block.text), metadata)
        return Draft(AssistantReasoning(block.text), metadata)


def _has_content(block: Block) -> bool:
    if isinstance(block, ToolCallBlock):
        return True
    if isinstance(block, OpaqueBlock):
        return bool(block.data)
    return bool(block.text or block.metadata)
