"""The output items of one response, as stream events.

Items are found by the server's ``output_index``, because gateways give them another id in
every event, and by their id where there is none (llama.cpp). Several may be open at once;
text is passed on as it comes, and flushes are put into the order of their indices.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Optional

from jpq.events.parts import (
    Flush,
    Opaque,
    Part,
    ReasoningDelta,
    StreamEvent,
    ToolArgumentsDelta,
    ToolCallStarted,
)
from jpq.events.surrogates import REPLACEMENT, has_surrogates, mend_piece, mend_value
from jpq.provider.openai_responses_item import (
    CALL_KINDS,
    REASONING,
    REFUSAL_STEM,
    STEMS,
    TEXT_KINDS,
    OutputItem,
)
from jpq.provider.wire_reply import word


class OutputItems:
    """Gives each item its index, and says when it is finished."""

    def __init__(self) -> None:
        self.has_calls = False
        self.refused = False
        self._items: List[OutputItem] = []  # in order of appearance
        self._silent: List[OutputItem] = []  # those with reasoning that have said nothing
        self._by_number: Dict[int, OutputItem] = {}
        self._by_id: Dict[str, OutputItem] = {}
        self._speaking: Optional[OutputItem] = None  # who spoke last, in the events:
        self._delta, self._part = "", ""
        self._indices = 0
        self._finished: Dict[int, Mapping[str, Any]] = {}  # metadata of what is to be flushed
        self._next_flush = 0

    def plain_delta(self, chunk: Mapping[str, Any]) -> Optional[StreamEvent]:
        """The event of a delta that only goes on with what spoke last, as most do; else None."""
        item = self._speaking
        if item is None or chunk.get("type") != self._delta:
            return None
        text = chunk.get("delta")
        if type(text) is not str or not text or item.held or item.index is None:
            return None
        if chunk.get("output_index") != item.number or (chunk.get(self._part) or 0) != item.part:
            return None
        if item.number is None and chunk.get("item_id") != item.id:
            return None
        if not text.isascii() and has_surrogates(text):
            return None
        if item.kind in CALL_KINDS:
            item.pieces.append(text)
            return ToolArgumentsDelta(item.index, text)
        return Part(item.index, item.payload(text))

    def begin(self, number: Any, value: Any) -> Iterator[StreamEvent]:
        """``response.output_item.added``."""
        if not isinstance(value, dict):
            return
        known = self._find(number, word(value, "id"))
        if known is not None and not known.ended and known.kind == word(value, "type"):
            return  # told twice
        item = self._add(number, word(value, "type"), value)
        if item.kind in CALL_KINDS and item.name:
            yield from self._announce(item)

    def write(self, event: str, chunk: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """``STEM.delta`` or ``STEM.done``; the latter says something if no delta did."""
        stem, _, end = event.rpartition(".")
        kind, part_field, whole_field = STEMS[stem]
        number, id = chunk.get("output_index"), word(chunk, "item_id")
        item = self._find(number, id)
        if item is not None and item.ended and end == "done":
            return  # after the whole item
        if item is None or item.ended or item.kind != kind:
            item = self._add(number, kind, {"type": kind, "id": id})  # its beginning was lost
        part = chunk.get(part_field) or 0
        part = part if isinstance(part, int) else 0
        if end == "delta":
            yield from self._say(item, stem, part, chunk.get("delta"))
            self._speaking, self._delta, self._part = item, event, part_field
        elif (stem, part) not in item.said:
            yield from self._say(item, stem, part, chunk.get(whole_field))

    def finish(self, number: Any, value: Any) -> Iterator[StreamEvent]:
        """``response.output_item.done``: the item is whole."""
        if not isinstance(value, dict):
            return
        item = self._find(number, word(value, "id"))
        if item is not None and item.ended and item.id and item.id == word(value, "id"):
            return  # told twice
        if item is None or item.ended or item.kind != word(value, "type"):
            item = self._add(number, word(value, "type"), value)
        yield from self._complete(item, value)

    def settle(self, output: Any) -> Iterator[StreamEvent]:
        """The ``output`` of the finished response: it completes what was left open, and says
        what was never said: all of it, or calls. Often it is empty, and the ids of its items
        may be new, so that a text in it cannot be told from one that was said."""
        values = output if isinstance(output, list) else []
        if not self._items:
            for number, value in enumerate(values):
                yield from self.finish(number, value)
            return
        for number, value in enumerate(values):
            if not isinstance(value, dict):
                continue
            item = self._by_number.get(number) or self._by_id.get(word(value, "id"))
            if item is not None and not item.ended and item.kind == word(value, "type"):
                yield from self._complete(item, value)
            elif word(value, "type") in CALL_KINDS and not self._was_called(value):
                yield from self._complete(self._add(None, word(value, "type"), value), value)

    def end(self, whole: bool, cut: bool) -> Iterator[StreamEvent]:
        """The response ends. If not ``whole``, items that were being written stay open, and
        so do calls, which nobody may run; ``cut`` says that the output limit ended it."""
        for item in self._items if whole else ():
            if not item.ended:
                yield from self._end(item, cut)
        for index in sorted(self._finished):
            yield Flush(index, self._finished[index])
        self._finished = {}

    # Finding items

    def _was_called(self, value: Mapping[str, Any]) -> bool:
        told = (item.call_id for item in self._items if item.kind in CALL_KINDS)
        return (word(value, "call_id") or word(value, "id")) in told

    def _find(self, number: Any, id: str) -> Optional[OutputItem]:
        """The latest item with that number or, where the server gives none, that id."""
        return self._by_number.get(number) if isinstance(number, int) else self._by_id.get(id)

    def _add(self, number: Any, kind: str, value: Mapping[str, Any]) -> OutputItem:
        item = OutputItem(number if isinstance(number, int) else None, kind, value)
        self._items.append(item)
        if kind == REASONING:
            self._silent.append(item)
        if item.number is not None:
            self._by_number[item.number] = item
        self._by_id[item.id] = item
        self.has_calls = self.has_calls or kind in CALL_KINDS
        return item

    # Events of one item

    def _say(self, item: OutputItem, stem: str, part: int, text: Any) -> Iterator[StreamEvent]:
        if not text or not isinstance(text, str):
            return
        text, item.held = mend_piece(item.held, text)
        if item.kind in CALL_KINDS:
            item.said.add((stem, part))
            yield from self._say_arguments(item, text)
            return
        self.refused = self.refused or stem == REFUSAL_STEM
        if item.kind == REASONING and item.said and (stem, part) not in item.said:
            text = "\n\n" + text  # another paragraph of the summary
        item.said.add((stem, part))
        item.part = part
        if text:
            yield from self._piece(item, text)

    def _say_arguments(self, item: OutputItem, text: str) -> Iterator[StreamEvent]:
        item.part = 0
        if text:
            item.pieces.append(text)
            if item.index is not None:
                yield ToolArgumentsDelta(item.index, text)

    def _piece(self, item: OutputItem, text: str) -> Iterator[StreamEvent]:
        if item.index is None:
            yield from self._take_index(item)
        assert item.index is not None
        yield Part(item.index, item.payload(text))

    def _announce(self, item: OutputItem) -> Iterator[StreamEvent]:
        yield from self._take_index(item)
        assert item.index is not None
        yield ToolCallStarted(item.index, item.call_id, item.name)
        if item.pieces:
            yield ToolArgumentsDelta(item.index, "".join(item.pieces))

    def _take_index(self, item: OutputItem) -> Iterator[StreamEvent]:
        """Give ``item`` the next index. Reasoning that came before it and has said nothing
        yet gets one too: where its item is finished late, it must still go back first."""
        while self._silent:
            earlier = self._silent.pop(0)
            if earlier is item:
                break
            if earlier.index is None and not earlier.ended:
                earlier.index = self._next_index()
                yield Part(earlier.index, ReasoningDelta(""))
        item.index = self._next_index()

    def _complete(self, item: OutputItem, value: Mapping[str, Any]) -> Iterator[StreamEvent]:
        item.item = value
        yield from self._end(item, cut=False)
        yield from self._flush()

    def _end(self, item: OutputItem, cut: bool) -> Iterator[StreamEvent]:
        item.ended = True
        if item is self._speaking:
            self._speaking = None
        if item.kind in CALL_KINDS:
            yield from self._end_call(item, cut)
        elif item.kind in TEXT_KINDS:
            yield from self._end_text(item)
        else:
            yield from self._keep(item)

    def _end_text(self, item: OutputItem) -> Iterator[StreamEvent]:
        if not item.said:
            for stem, part, text in item.texts():
                yield from self._say(item, stem, part, text)
        if item.held:
            item.held = ""
            yield from self._piece(item, REPLACEMENT)
        if item.index is not None:
            self._finished[item.index] = item.metadata()
        elif item.kind == REASONING and item.goes_back:
            yield from self._keep(item)

    def _end_call(self, item: OutputItem, cut: bool) -> Iterator[StreamEvent]:
        call = item.call(cut)
        if not item.pieces:
            text = item.argument_text()
            item.pieces = [text] if text else []
            announced = item.index
            if announced is not None and text:
                yield ToolArgumentsDelta(announced, text)
        if item.index is None:
            yield from self._announce(item)
        assert item.index is not None
        yield Part(item.index, call)
        self._finished[item.index] = item.metadata()

    def _keep(self, item: OutputItem) -> Iterator[StreamEvent]:
        """An item without anything to show, verbatim."""
        kept = mend_value(dict(item.item))
        if kept:
            index = self._next_index()
            yield Part(index, Opaque(kept))
            self._finished[index] = {}

    def _flush(self) -> Iterator[StreamEvent]:
        """Flush what is finished, as far as everything before it is finished, too."""
        while self._next_flush in self._finished:
            yield Flush(self._next_flush, self._finished.pop(self._next_flush))
            self._next_flush += 1

    def _next_index(self) -> int:
        self._indices += 1
        return self._indices - 1
