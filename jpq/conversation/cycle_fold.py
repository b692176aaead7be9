"""CycleFold: the stream events of one cycle as drafts of conversation events."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Set, Tuple

from jpq.conversation.event import (
    AssistantMessage,
    AssistantOpaque,
    AssistantReasoning,
    Draft,
    Drafts,
    ToolCall,
    ToolResponse,
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

CUT_CALL = "Not run: the answer was cut off before it was complete."


class CycleFold:
    """Collects a cycle's stream events; readable at any moment, reading changes nothing.

    ``origin`` names the provider and the model that were asked, which every draft carries,
    because opaque data may go back to no other. Single-threaded.
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
        """What is to be stored, in order; blocks without content, blank text too, are left out.

        In a cycle that did not end by itself no call is run: a whole one is answered as
        such, one that was still being written is left out, and a text that was still
        being written is marked ``partial``, and kept even if blank, because the next
        attempt goes on after it.
        """
        cut = not self.response().is_complete
        drafts: List[Draft] = []
        refusals: List[Draft] = []
        for index, block in self._blocks():
            if cut and isinstance(block, ToolCallBlock):
                if not block.finished:
                    continue
                refusals.append(Draft(ToolResponse(block.call.id, CUT_CALL, is_error=True)))
            partial = cut and index not in self._flushed
            if _has_content(block, partial):
                drafts.append(self._draft(block, partial))
        return drafts + refusals

    def _blocks(self) -> List[Tuple[int, Block]]:
        blocks = ((index, self._transcript.block(index)) for index in sorted(self._seen))
        return [(index, block) for index, block in blocks if block]

    def _draft(self, block: Block, partial: bool) -> Draft:
        metadata: Dict[str, Any] = {}
        if self._origin is not None:
            metadata.update(self._origin._asdict())
        if isinstance(block, OpaqueBlock):
            return Draft(AssistantOpaque(dict(block.data)), metadata)
        if block.metadata:
            metadata["opaque"] = dict(block.metadata)
        if isinstance(block, ToolCallBlock):
            return Draft(ToolCall(*block.call), metadata)
        if partial:
            metadata["partial"] = True
        if isinstance(block, TextBlock):
            return Draft(AssistantMessage(block.text), metadata)
        return Draft(AssistantReasoning(block.text), metadata)


def _has_content(block: Block, partial: bool) -> bool:
    if isinstance(block, ToolCallBlock):
        return True
    if isinstance(block, OpaqueBlock):
        return bool(block.data)
    text = block.text if partial and isinstance(block, TextBlock) else block.text.strip()
    return bool(text or block.metadata)
