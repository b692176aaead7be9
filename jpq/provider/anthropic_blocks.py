"""The content block that is open while a message streams, as stream events.

The API sends its blocks one after the other. A block is finished when the next one begins
or the message ends, not at its own ``content_block_stop``: only then is it known whether
its text goes on in the next block, and whether the output limit cut its call.
"""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, Type, Union

from jpq.events.parts import (
    Flush,
    MessageDelta,
    Opaque,
    Part,
    ReasoningDelta,
    StreamEvent,
    ToolArgumentsDelta,
    ToolCallRequest,
    ToolCallStarted,
)
from jpq.events.surrogates import REPLACEMENT, has_surrogates, mend, mend_piece, mend_value
from jpq.events.transcript import parse_tool_call
from jpq.provider.wire_reply import ReplyCallIds, word

TEXT, THINKING, CALL = "text", "thinking", "tool_use"

# Metadata of a text: the content blocks it was sent as, where they carry citations.
BLOCKS = "blocks"

# The blocks that are shown as they come. What they say is in the field of that name, in the
# block and in its deltas.
_SHOWN: Mapping[str, Type[Union[MessageDelta, ReasoningDelta]]] = {
    TEXT: MessageDelta,
    THINKING: ReasoningDelta,
}
_DELTAS = {
    "text_delta": TEXT,
    "citations_delta": TEXT,
    "thinking_delta": THINKING,
    "signature_delta": THINKING,
}
# What the events of a block say of it; the rest of it is metadata.
_SAID: Mapping[str, Tuple[str, ...]] = {
    THINKING: ("type", "thinking"),
    CALL: ("type", "id", "name", "input"),
}


class _Open:
    """The block that is being written; ``block`` is its beginning as the server sent it.

    A text that goes on over several blocks is one of these: ``earlier`` are the blocks
    before the last. ``index`` is None until there is something to give an index to.
    """

    def __init__(self, kind: str, block: Mapping[str, Any]) -> None:
        self.kind = kind
        self.delta = f"{kind}_delta" if kind in _SHOWN else "input_json_delta"
        self.field = kind if kind in _SHOWN else "partial_json"
        self.payload = _SHOWN.get(kind, MessageDelta)
        self.block: Dict[str, Any] = dict(block)
        self.earlier: List[Dict[str, Any]] = []
        self.index: Optional[int] = None
        self.id = ""  # of a call
        self.pieces: List[str] = []
        self.held = ""  # the first half of a surrogate pair, waiting for the second
        self.stopped = False

    def whole_block(self) -> Dict[str, Any]:
        """The block with the pieces that came since its beginning."""
        if self.kind in _SHOWN:
            return {**self.block, self.field: "".join(self.pieces)}
        if not self.pieces:
            return self.block
        return {**self.block, "input": self.call(cut=False).arguments}

    def go_on_in(self, block: Mapping[str, Any]) -> None:
        """Another text block comes right after this one: its text belongs to the same text."""
        self.earlier.append(self.whole_block())
        self.block, self.pieces, self.stopped = dict(block), [], False

    def call(self, cut: bool) -> ToolCallRequest:
        """The call with its whole arguments. None are an empty object, unless it was ``cut``."""
        name = word(self.block, "name")
        text = mend("".join(self.pieces) + self.held)
        if cut and not text.strip():
            return ToolCallRequest(self.id, name, {"raw": text}, text)
        return parse_tool_call(self.id, name, text)


class OpenBlocks:
    """Gives each block of one message its index, and says when it is finished."""

    def __init__(self) -> None:
        self.has_calls = False
        self.reply = ""  # what tells this message from others
        self._ids = ReplyCallIds()
        self._indices = 0
        self._number: Any = None  # the server's own number of the open block
        self._open: Optional[_Open] = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been said yet."""
        return self._open is None and not self._indices

    def plain_delta(self, chunk: Mapping[str, Any]) -> Optional[StreamEvent]:
        """The event of a delta that only goes on with the open block, as most do; else None."""
        block = self._open
        if block is None or block.index is None or block.held:
            return None
        try:
            delta = chunk["delta"]
            text = delta[block.field]
            if delta["type"] != block.delta or chunk["index"] != self._number or not text:
                return None
            if not text.isascii() and has_surrogates(text):
                return None
        except (KeyError, TypeError, AttributeError):
            return None  # some other shape, which ``delta`` takes apart
        block.pieces.append(text)
        if block.kind == CALL:
            return ToolArgumentsDelta(block.index, text)
        return Part(block.index, block.payload(text))

    def start(self, number: Any, block: Any) -> Iterator[StreamEvent]:
        """A block begins. Some servers send it whole at once, deltas or not."""
        if not isinstance(block, dict):
            return
        kind = word(block, "type")
        yield from self._begin(kind, block)
        self._number = number
        assert self._open is not None
        if self._open.kind == CALL:
            self.has_calls = True
            self._open.index = self._next_index()
            self._open.id = self._ids.of(word(block, "id"), self.reply)
            yield ToolCallStarted(self._open.index, self._open.id, word(block, "name"))
        elif self._open.kind in _SHOWN:
            yield from self._say(self._open, block)

    def delta(self, number: Any, delta: Any) -> Iterator[StreamEvent]:
        """More of the block ``number``; what is of an unknown kind says nothing."""
        if not isinstance(delta, dict):
            return
        type = word(delta, "type")
        if type == "input_json_delta":
            yield from self._add_arguments(number, delta.get("partial_json"))
        elif type in _DELTAS:
            kind = _DELTAS[type]
            if self._open is None or self._open.kind != kind or number != self._number:
                # Its beginning was lost on the way; what it says was not.
                yield from self._begin(kind, {"type": kind})
                self._number = number
            assert self._open is not None
            if type == self._open.delta:
                yield from self._say(self._open, delta)
            else:
                self._note(self._open.block, delta)

    def stop(self, number: Any) -> None:
        """The block ``number`` is whole."""
        if self._open is not None and number == self._number:
            self._open.stopped = True

    def end(self, whole: bool, cut: bool) -> Iterator[StreamEvent]:
        """The message ends; ``cut`` says that the output limit ended it.

        If it is not ``whole``, a block that was being written stays open, and so do a text,
        which may go on, and a call, which nobody may run.
        """
        block = self._open
        if block is not None and (whole or (block.stopped and block.kind not in (TEXT, CALL))):
            yield from self._finish(cut)

    def _begin(self, kind: str, block: Mapping[str, Any]) -> Iterator[StreamEvent]:
        if kind == TEXT and self._open is not None and self._open.kind == TEXT:
            self._open.go_on_in(block)
            return
        yield from self._finish(cut=False)
        self._open = _Open(kind, block)

    def _say(self, block: _Open, source: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """The text in ``source``, the beginning of ``block`` or a delta of it."""
        text = source.get(block.field)
        if not text or not isinstance(text, str):
            return
        text, block.held = mend_piece(block.held, text)
        if text:
            yield self._piece(block, text)

    def _piece(self, block: _Open, text: str) -> Part:
        if block.index is None:
            block.index = self._next_index()
        block.pieces.append(text)
        return Part(block.index, block.payload(text))

    def _note(self, block: Dict[str, Any], delta: Mapping[str, Any]) -> None:
        """A signature or citation that belongs to ``block``."""
        if delta["type"] == "signature_delta":
            block["signature"] = word(delta, "signature") or block.get("signature")
        elif delta.get("citation"):
            citations = block.get("citations")
            known = citations if isinstance(citations, list) else []
            block["citations"] = [*known, delta["citation"]]

    def _add_arguments(self, number: Any, text: Any) -> Iterator[StreamEvent]:
        block = self._open
        if block is None or block.kind in _SHOWN or number != self._number:
            return  # a fragment of no call
        text, block.held = mend_piece(block.held, text) if isinstance(text, str) else ("", "")
        if text:
            block.pieces.append(text)
            if block.kind == CALL and block.index is not None:
                yield ToolArgumentsDelta(block.index, text)

    def _finish(self, cut: bool) -> Iterator[StreamEvent]:
        block, self._open = self._open, None
        if block is None:
            return
        if block.kind == CALL:
            yield from self._finish_call(block, cut)
            return
        if block.held and block.kind in _SHOWN:
            yield self._piece(block, REPLACEMENT)
        if block.index is not None:
            yield Flush(block.index, _metadata(block))
        elif block.kind != TEXT and not _says_nothing(block):
            yield from self._keep(block.whole_block())

    def _finish_call(self, block: _Open, cut: bool) -> Iterator[StreamEvent]:
        index, given = block.index, block.block.get("input")
        assert index is not None
        if not block.pieces and given:
            # Whole in its first event; without this nobody would see the arguments arrive.
            text = given if isinstance(given, str) else _json(given)
            block.pieces.append(text)
            yield ToolArgumentsDelta(index, text)
        yield Part(index, block.call(cut))
        yield Flush(index, _metadata(block))

    def _keep(self, block: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """A block without anything to show, verbatim."""
        kept = mend_value(block)
        if kept:
            index = self._next_index()
            yield Part(index, Opaque(kept))
            yield Flush(index)

    def _next_index(self) -> int:
        self._indices += 1
        return self._indices - 1


def _metadata(block: _Open) -> Dict[str, Any]:
    """What is to be sent back with the block besides what its events say."""
    if block.kind == TEXT:
        blocks = [*block.earlier, block.whole_block()]
        kept = {BLOCKS: blocks} if any(b.get("citations") for b in blocks) else {}
    else:
        fields = block.block.items()
        kept = {name: value for name, value in fields if value and name not in _SAID[block.kind]}
    return mend_value(kept) or {} if kept else kept


def _says_nothing(block: _Open) -> bool:
    """Whether ``block`` is reasoning with neither text nor signature."""
    return block.kind == THINKING and not block.block.get("signature")


def _json(value: Any) -> str:
    try:
        return mend(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        return ""
