"""EventBuilder: what a cycle streamed, as conversation events to commit."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping

from jpq.conversation.event import (
    AssistantMessage,
    AssistantReasoning,
    Draft,
    ToolCall,
    ToolResponse,
)
from jpq.events.parts import StreamEvent
from jpq.events.transcript import (
    Block,
    ChatResponse,
    OpaqueBlock,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    Transcript,
)
from jpq.provider.base import ModelRef

CUT_CALL = "Not run: the answer was cut off before it was complete."


class EventBuilder:
    """Collects the stream events of one attempt and drafts conversation events from them.

    Each draft says which provider and model made it, because opaque data may go back to
    no other. Main thread.
    """

    def __init__(self, model: ModelRef) -> None:
        self._model = model
        self._transcript = Transcript(model.model)

    def feed(self, event: StreamEvent) -> None:
        """Take the next event of the attempt."""
        self._transcript.feed(event)

    def response(self) -> ChatResponse:
        """What arrived so far."""
        return self._transcript.finish()

    def drafts(self) -> List[Draft]:
        """The events of a finished cycle; blank text is left out."""
        return [self._draft(block) for block in self.response().blocks if _says_something(block)]

    def partial_drafts(self) -> List[Draft]:
        """The events of a cycle that was cut: its last text is marked partial, a whole call
        is answered as not run, and a call that was still being written is left out."""
        drafts: List[Draft] = []
        answers: List[Draft] = []
        for block in self.response().blocks:
            if not _says_something(block):
                continue
            if isinstance(block, ToolCallBlock):
                if not block.finished:
                    continue
                answers.append(Draft(ToolResponse(block.call.id, CUT_CALL, is_error=True)))
            drafts.append(self._draft(block))
        if drafts and not answers and isinstance(drafts[-1].event, AssistantMessage):
            last = drafts.pop()
            drafts.append(Draft(last.event, {**last.metadata, "partial": True}))
        return drafts + answers

    def _draft(self, block: Block) -> Draft:
        if isinstance(block, TextBlock):
            return Draft(AssistantMessage(block.text), self._metadata(block.metadata))
        if isinstance(block, ReasoningBlock):
            return Draft(AssistantReasoning(block.text), self._metadata(block.metadata))
        if isinstance(block, ToolCallBlock):
            return Draft(ToolCall(*block.call), self._metadata(block.metadata))
        # A provider's own block: kept as reasoning without text, which only its maker gets.
        return Draft(AssistantReasoning(""), self._metadata(block.data))

    def _metadata(self, opaque: Mapping[str, Any]) -> Dict[str, Any]:
        metadata: Dict[str, Any] = {"provider": self._model.provider, "model": self._model.model}
        if opaque:
            metadata["opaque"] = dict(opaque)
        return metadata


def _says_something(block: Block) -> bool:
    if isinstance(block, (ToolCallBlock, OpaqueBlock)):
        return True
    return bool(block.text.strip() or block.metadata)
