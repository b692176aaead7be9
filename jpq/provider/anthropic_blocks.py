"""The content blocks that are open while a message streams, as stream events.

The API sends its blocks one after the other. A block is finished when the next one begins
or the message ends, not at its own ``content_block_stop``: only then is it known whether
its text goes on in the next block, and whether the output limit cut its call. Gateways may
write several calls at a time: one that has not ended when the next block begins stays open
until the message ends, and what is finished behind it is flushed after it.
"""

from __future__ import annotations

import json
from typing import Any, Iterator, List, Mapping, Optional

from jpq.events.parts import (
    Flush,
    Opaque,
    Part,
    StreamEvent,
    ToolArgumentsDelta,
    ToolCallStarted,
)
from jpq.events.surrogates import REPLACEMENT, has_surrogates, mend, mend_piece, mend_value
from jpq.provider.anthropic_block import CALL, COMPACTION, SHOWN, TEXT, THINKING, OpenBlock
from jpq.provider.wire_reply import ReplyCallIds, word

_DELTAS = {
    "text_delta": TEXT,
    "citations_delta": TEXT,
    "thinking_delta": THINKING,
    "signature_delta": THINKING,
}


class OpenBlocks:
    """Gives each block of one message its index, and says when it is finished."""

    def __init__(self) -> None:
        self.has_calls = False
        self.reply = ""  # what tells this message from others
        self._ids = ReplyCallIds()
        self._indices = 0
        self._open: Optional[OpenBlock] = None
        self._aside: List[OpenBlock] = []  # calls that had not ended when another block began
        self._late: List[Flush] = []  # of what was finished behind those

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
            if delta["type"] != block.delta or chunk["index"] != block.number or not text:
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
        yield from self._begin(kind, number, block)
        assert self._open is not None
        if self._open.kind == CALL:
            self.has_calls = True
            self._open.index = self._next_index()
            self._open.id = self._ids.of(word(block, "id"), self.reply)
            yield ToolCallStarted(self._open.index, self._open.id, word(block, "name"))
        elif self._open.kind in SHOWN:
            yield from self._say(self._open, block)

    def delta(self, number: Any, delta: Any) -> Iterator[StreamEvent]:
        """More of the block ``number``; what is of an unknown kind says nothing."""
        if not isinstance(delta, dict):
            return
        type = word(delta, "type")
        if type == "input_json_delta":
            yield from self._add_arguments(number, delta.get("partial_json"))
        elif type == "compaction_delta":
            block = self._numbered(number)
            if block is not None and block.kind == COMPACTION:
                block.sum_up(delta)
        elif type in _DELTAS:
            kind = _DELTAS[type]
            if self._open is None or self._open.kind != kind or number != self._open.number:
                # Its beginning was lost on the way; what it says was not.
                yield from self._begin(kind, number, {"type": kind})
            assert self._open is not None
            if type == self._open.delta:
                yield from self._say(self._open, delta)
            else:
                self._open.note(delta)

    def stop(self, number: Any) -> None:
        """The block ``number`` is whole."""
        block = self._numbered(number)
        if block is not None:
            block.stopped = True

    def end(self, whole: bool, cut: bool) -> Iterator[StreamEvent]:
        """The message ends; ``cut`` says that the output limit ended it.

        If it is not ``whole``, a block that was being written stays open, and so do a text,
        which may go on, and a call, which nobody may run.
        """
        block = self._open
        if block is not None and (whole or (block.stopped and block.kind not in (TEXT, CALL))):
            yield from self._finish(cut)
        for call in self._aside if whole else ():
            yield from self._finish_call(call, cut=False)
        yield from sorted(self._late, key=_index)

    def _numbered(self, number: Any) -> Optional[OpenBlock]:
        """The open block that the server calls ``number``; the latest, as gateways number anew."""
        if self._open is not None and self._open.number == number:
            return self._open
        return next((call for call in reversed(self._aside) if call.number == number), None)

    def _begin(self, kind: str, number: Any, block: Mapping[str, Any]) -> Iterator[StreamEvent]:
        opened = self._open
        if opened is not None and kind == opened.kind == TEXT:
            opened.go_on_in(number, block)
            return
        if opened is not None and opened.kind == CALL and not opened.stopped:
            self._aside.append(opened)
        else:
            yield from self._finish(cut=False)
        self._open = OpenBlock(kind, number, block)

    def _say(self, block: OpenBlock, source: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """The text in ``source``, the beginning of ``block`` or a delta of it."""
        text = source.get(block.field)
        if not text or not isinstance(text, str):
            return
        text, block.held = mend_piece(block.held, text)
        if text:
            yield self._piece(block, text)

    def _piece(self, block: OpenBlock, text: str) -> Part:
        if block.index is None:
            block.index = self._next_index()
        block.pieces.append(text)
        return Part(block.index, block.payload(text))

    def _add_arguments(self, number: Any, text: Any) -> Iterator[StreamEvent]:
        block = self._numbered(number)
        if block is None or block.kind in SHOWN:
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
        if block.held and block.kind in SHOWN:
            yield self._piece(block, REPLACEMENT)
        if block.index is not None:
            yield from self._flush(block.index, block.metadata())
        elif block.kind != TEXT and not block.says_nothing:
            yield from self._keep(block.whole_block())

    def _finish_call(self, block: OpenBlock, cut: bool) -> Iterator[StreamEvent]:
        index, given = block.index, block.block.get("input")
        assert index is not None
        if not block.pieces and given:
            # Whole in its first event; without this nobody would see the arguments arrive.
            text = given if isinstance(given, str) else _json(given)
            block.pieces.append(text)
            yield ToolArgumentsDelta(index, text)
        yield Part(index, block.call(cut))
        yield from self._flush(index, block.metadata())

    def _keep(self, block: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """A block without anything to show, verbatim."""
        kept = mend_value(block)
        if kept:
            index = self._next_index()
            yield Part(index, Opaque(kept))
            yield from self._flush(index, {})

    def _flush(self, index: int, metadata: Mapping[str, Any]) -> Iterator[StreamEvent]:
        if self._aside:
            self._late.append(Flush(index, metadata))
        else:
            yield Flush(index, metadata)

    def _next_index(self) -> int:
        self._indices += 1
        return self._indices - 1


def _index(flush: Flush) -> int:
    return flush.index


def _json(value: Any) -> str:
    try:
        return mend(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        return ""
