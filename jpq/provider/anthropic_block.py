"""One content block of a message that is being written: what it says, and what is kept of it."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple, Type, Union

from jpq.events.parts import MessageDelta, ReasoningDelta, ToolCallRequest
from jpq.events.surrogates import mend, mend_value
from jpq.events.transcript import parse_tool_call
from jpq.provider.wire_reply import word

TEXT, THINKING, CALL, COMPACTION = "text", "thinking", "tool_use", "compaction"

# Metadata of a text: the content blocks it was sent as, where they carry citations.
BLOCKS = "blocks"

# The blocks that are shown as they come. What they say is in the field of that name, in the
# block and in its deltas.
SHOWN: Mapping[str, Type[Union[MessageDelta, ReasoningDelta]]] = {
    TEXT: MessageDelta,
    THINKING: ReasoningDelta,
}
# What the events of a block say of it; the rest of it is metadata.
_SAID: Mapping[str, Tuple[str, ...]] = {
    THINKING: ("type", "thinking"),
    CALL: ("type", "id", "name", "input"),
}


class OpenBlock:
    """The block that is being written; ``block`` is its beginning as the server sent it.

    A text that goes on over several blocks is one of these: ``earlier`` are the blocks
    before the last. ``number`` is the server's own; ``index`` is None until there is something
    to give an index to.
    """

    def __init__(self, kind: str, number: Any, block: Mapping[str, Any]) -> None:
        self.kind = kind
        self.number = number
        self.delta = f"{kind}_delta" if kind in SHOWN else "input_json_delta"
        self.field = kind if kind in SHOWN else "partial_json"
        self.payload = SHOWN.get(kind, MessageDelta)
        self.block: Dict[str, Any] = dict(block)
        self.earlier: List[Dict[str, Any]] = []
        self.index: Optional[int] = None
        self.id = ""  # of a call
        self.pieces: List[str] = []
        self.held = ""  # the first half of a surrogate pair, waiting for the second
        self.stopped = False

    def whole_block(self) -> Dict[str, Any]:
        """The block with the pieces that came since its beginning."""
        if self.kind in SHOWN:
            return {**self.block, self.field: "".join(self.pieces)}
        if not self.pieces:
            return self.block
        return {**self.block, "input": self.call(cut=False).arguments}

    def go_on_in(self, number: Any, block: Mapping[str, Any]) -> None:
        """Another text block comes right after this one: its text belongs to the same text."""
        self.earlier.append(self.whole_block())
        self.number, self.block, self.pieces, self.stopped = number, dict(block), [], False

    def note(self, delta: Mapping[str, Any]) -> None:
        """Take a signature or a citation that belongs to the block."""
        if delta["type"] == "signature_delta":
            self.block["signature"] = word(delta, "signature") or self.block.get("signature")
        elif delta.get("citation"):
            citations = self.block.get("citations")
            known = citations if isinstance(citations, list) else []
            self.block["citations"] = [*known, delta["citation"]]

    def sum_up(self, delta: Mapping[str, Any]) -> None:
        """Take more of the summary that stands for what came before it (``compaction``)."""
        self.block["content"] = word(self.block, "content") + word(delta, "content") or None
        if delta.get("encrypted_content"):
            self.block["encrypted_content"] = delta["encrypted_content"]

    def call(self, cut: bool) -> ToolCallRequest:
        """The call with its whole arguments. None are an empty object, unless it was ``cut``."""
        name = word(self.block, "name")
        text = mend("".join(self.pieces) + self.held)
        if cut and not text.strip():
            return ToolCallRequest(self.id, name, {"raw": text}, text)
        return parse_tool_call(self.id, name, text)

    def metadata(self) -> Dict[str, Any]:
        """What is to be sent back with the block besides what its events say."""
        if self.kind == TEXT:
            blocks = [*self.earlier, self.whole_block()]
            kept = {BLOCKS: blocks} if any(b.get("citations") for b in blocks) else {}
        else:
            said = _SAID[self.kind]
            kept = {n: value for n, value in self.block.items() if value and n not in said}
        return mend_value(kept) or {} if kept else kept

    @property
    def says_nothing(self) -> bool:
        """Whether it is reasoning with neither text nor signature."""
        return self.kind == THINKING and not self.block.get("signature")
