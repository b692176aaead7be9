"""One output item of a response: what it is, what it has said, and what goes back with it."""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator, List, Mapping, Optional, Set, Tuple, Type, Union

from jpq.events.parts import MessageDelta, ReasoningDelta, ToolCallRequest
from jpq.events.surrogates import mend, mend_value
from jpq.events.transcript import parse_tool_call
from jpq.named import NamedTuple
from jpq.provider.wire_reply import word

MESSAGE, REASONING = "message", "reasoning"
CALL, CUSTOM_CALL = "function_call", "custom_tool_call"
TEXT_KINDS, CALL_KINDS = (MESSAGE, REASONING), (CALL, CUSTOM_CALL)

# Metadata of a reasoning: its whole item. Metadata of a message that says no.
ITEM, REFUSED = "item", "refused"


class Stem(NamedTuple):
    """The events ``NAME.delta`` and ``NAME.done`` that write an item of ``kind``.

    ``part`` is their field with the number of the part that they write, ``whole`` that of
    the ``.done`` event with all of its text.
    """

    kind: str
    part: str
    whole: str


STEMS: Mapping[str, Stem] = {
    "response.output_text": Stem(MESSAGE, "content_index", "text"),
    "response.refusal": Stem(MESSAGE, "content_index", "refusal"),
    "response.reasoning_summary_text": Stem(REASONING, "summary_index", "text"),
    "response.reasoning_text": Stem(REASONING, "content_index", "text"),
    "response.reasoning": Stem(REASONING, "content_index", "text"),  # Open Responses
    "response.function_call_arguments": Stem(CALL, "content_index", "arguments"),
    "response.custom_tool_call_input": Stem(CUSTOM_CALL, "content_index", "input"),
}
REFUSAL_STEM = "response.refusal"

# Type of a content part or summary part -> the events that would have written it.
_PART_STEMS = {
    "output_text": "response.output_text",
    "text": "response.output_text",
    "refusal": REFUSAL_STEM,
    "summary_text": "response.reasoning_summary_text",
    "reasoning_text": "response.reasoning_text",
}
_TEXT_PAYLOADS: Mapping[str, Type[Union[MessageDelta, ReasoningDelta]]] = {
    MESSAGE: MessageDelta,
    REASONING: ReasoningDelta,
}
_ARGUMENTS = {CALL: "arguments", CUSTOM_CALL: "input"}
# Of a call, what its events say already; anything else of it is kept for its maker.
_TOLD_OF_CALL = ("call_id", "name", "arguments", "input", "status")

Part = Tuple[str, Any]  # the stem that wrote a text, and the number of its part


class OutputItem:
    """An item that is being written.

    ``number`` is the server's ``output_index`` if it gives one; ``index`` that of the
    stream events, None until there is something to give an index to. ``part`` is the
    number of the part that was written last. ``ended`` says that the item is whole.
    """

    def __init__(self, number: Optional[int], kind: str, item: Mapping[str, Any]) -> None:
        self.number = number
        self.kind = kind
        self.item = item
        self.id = word(item, "id")
        self.payload = _TEXT_PAYLOADS.get(kind, MessageDelta)
        self.index: Optional[int] = None
        self.part: Optional[int] = None
        self.said: Set[Part] = set()
        self.pieces: List[str] = []
        self.held = ""  # the first half of a surrogate pair, waiting for the second
        self.ended = False

    @property
    def call_id(self) -> str:
        """The id that the result of the call must name."""
        return word(self.item, "call_id") or self.id

    @property
    def name(self) -> str:
        """The name of the tool that is called."""
        return word(self.item, "name")

    def texts(self) -> Iterator[Tuple[str, int, str]]:
        """The texts in the whole item: stem, number of the part, text."""
        for field in ("summary", "content"):
            parts = self.item.get(field)
            for number, part in enumerate(parts if isinstance(parts, list) else ()):
                if isinstance(part, dict):
                    stem = _PART_STEMS.get(word(part, "type"), "")
                    text = part.get("refusal" if stem == REFUSAL_STEM else "text")
                    if text and isinstance(text, str) and stem and STEMS[stem].kind == self.kind:
                        yield stem, number, text

    def argument_text(self) -> str:
        """The arguments of the call: those of the whole item, else what came in pieces."""
        whole = self.item.get(_ARGUMENTS[self.kind])
        if whole and not isinstance(whole, str):
            return _json(whole)  # an object instead of its text
        return mend(whole or "".join(self.pieces) + self.held)

    def call(self, cut: bool) -> ToolCallRequest:
        """The finished call. No arguments are an empty object, unless it was ``cut``.

        A custom tool takes any text; jpq offers none, so such a call is never run.
        """
        text = self.argument_text()
        cut = cut or self.item.get("status") == "incomplete"
        if self.kind == CUSTOM_CALL or (cut and not text.strip()):
            return ToolCallRequest(self.call_id, self.name, {"raw": text}, text)
        return parse_tool_call(self.call_id, self.name, text)

    def metadata(self) -> Dict[str, Any]:
        """What goes back with the item besides what its events say."""
        if self.kind == REASONING:
            kept: Dict[str, Any] = {ITEM: self.item} if self.goes_back else {}
        elif self.kind == MESSAGE:
            kept = {name: self.item[name] for name in ("id", "phase") if self.item.get(name)}
            if self.said and all(stem == REFUSAL_STEM for stem, _ in self.said):
                kept[REFUSED] = True
        else:
            known = _TOLD_OF_CALL if self.kind == CUSTOM_CALL else (*_TOLD_OF_CALL, "type")
            kept = {name: v for name, v in self.item.items() if v and name not in known}
        return mend_value(kept) or {}

    @property
    def goes_back(self) -> bool:
        """Whether a reasoning can be sent back: without its text, encrypted or not, a server
        that stores nothing would have to look it up."""
        return bool(self.item.get("encrypted_content") or self.item.get("content"))


def _json(value: Any) -> str:
    try:
        return mend(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        return ""
