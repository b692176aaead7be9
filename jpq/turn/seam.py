"""Seam: where a continued answer joins the cut one, without what the model says again.

Asked to go on, some models begin with the end of what was cut. The repetition is taken out
before anything is saved or shown, so that screen, file and later requests agree.
"""

from __future__ import annotations

from typing import Iterator, List, Optional, Sequence

from jpq.conversation.thread import Thread, ThreadText
from jpq.errors import StreamError
from jpq.events.parts import MessageDelta, Part, StreamEvent
from jpq.provider.base import Exchange

# A repetition is exact, and long and varied enough not to be meant: code and tables repeat
# short and uniform things ("    }", "| --- |", "0, 0, 0") where they are cut.
LONGEST = 4_000
SHORTEST = 16
_DISTINCT = 8


def repetition(cut: str, text: str, more: bool) -> Optional[int]:
    """How many characters at the beginning of ``text`` repeat the end of ``cut``.

    None when that is open, because ``more`` text may come.
    """
    cut = cut[-LONGEST:]
    found = cut.find(text)
    if more and 0 <= found < len(cut) - len(text):
        return None
    for length in range(min(len(cut), len(text)), SHORTEST - 1, -1):
        if cut.endswith(text[:length]) and len(set(text[:length]) - {" ", "\n"}) >= _DISTINCT:
            return length
    return 0


def open_end(thread: Thread) -> str:
    """The text that ``thread`` asks the provider to go on with, or ''."""
    if not thread.continues:
        return ""
    last = thread.messages[-1].blocks[-1]
    return last.text if isinstance(last, ThreadText) else ""


def joined(exchange: Exchange, thread: Thread) -> Exchange:
    """``exchange``, which goes on with ``thread``, without what it says again."""
    cut = open_end(thread)
    return _JoinedExchange(exchange, Seam(cut)) if cut else exchange


class _JoinedExchange:
    """An exchange whose events pass a seam."""

    def __init__(self, exchange: Exchange, seam: Seam) -> None:
        self._exchange = exchange
        self._seam = seam

    @property
    def ending(self) -> bool:
        return self._exchange.ending

    def events(self) -> Iterator[StreamEvent]:
        """As the exchange's own; what is held back when it fails comes before its error."""
        try:
            for event in self._exchange.events():
                yield from self._seam.pass_on((event,))
        except StreamError:
            yield from self._seam.end()
            raise
        yield from self._seam.end()

    def abort(self) -> None:
        self._exchange.abort()


class Seam:
    """Takes the repetition out of the first text of an attempt. Reader thread.

    Text is held back for as long as it may be one: for a few characters, unless it is.
    """

    def __init__(self, cut: str = "") -> None:
        self._cut = cut
        self._index: Optional[int] = None  # of the text that goes on
        self._held = ""
        self._open = bool(cut)

    def pass_on(self, events: Sequence[StreamEvent]) -> Sequence[StreamEvent]:
        """``events`` without the repetition."""
        if not self._open:
            return events
        passed: List[StreamEvent] = []
        for event in events:
            passed += self._pass(event)
        return passed

    def end(self) -> Sequence[StreamEvent]:
        """What is still held back; the attempt is over."""
        return self._decide(more=False) if self._open and self._index is not None else []

    def _pass(self, event: StreamEvent) -> Sequence[StreamEvent]:
        if not self._open:
            return [event]
        payload = event.payload if isinstance(event, Part) else None
        if isinstance(payload, MessageDelta):
            assert isinstance(event, Part)
            if self._index is None:
                self._index = event.index
            if self._index == event.index:
                self._held += payload.text
                return self._decide(more=True)
        if self._index is None:
            return [event]  # reasoning, or who answers: the text is still to come
        return [*self._decide(more=False), event]

    def _decide(self, more: bool) -> Sequence[StreamEvent]:
        length = repetition(self._cut, self._held, more)
        if length is None:
            return []
        assert self._index is not None
        self._open = False
        # Blank where all of it was said again: the index must not be missing.
        return [Part(self._index, MessageDelta(self._held[length:]))]
