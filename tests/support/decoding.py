"""Runs recorded bytes through SSE framing and a decoder, as an exchange does."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Iterator, List, NamedTuple, Optional

from jpq.errors import StreamError
from jpq.events.parts import Finished, Flush, Part, StreamEvent, ToolArgumentsDelta, ToolCallStarted
from jpq.events.transcript import ChatResponse, Transcript
from jpq.provider.base import Decoder
from jpq.wire import sse


class Decoded(NamedTuple):
    """All that came of a stream: its events, what they fold into, and the error it ended with."""

    events: List[StreamEvent]
    response: ChatResponse
    error: Optional[StreamError]

    @property
    def is_complete(self) -> bool:
        """Whether a consumer would take the answer for whole."""
        return self.error is None and self.response.is_complete


def decode(
    decoder: Decoder, chunks: Iterable[bytes], framing: Callable[..., Any] = sse.messages
) -> Decoded:
    """Feed ``chunks`` to ``decoder`` until its end marker or the end of the bytes."""

    def events() -> Iterator[StreamEvent]:
        for message in framing(chunks):
            yield from decoder.feed(message)
            if decoder.done:
                return
        yield from decoder.close()

    return collect(events())


def collect(events: Iterable[StreamEvent]) -> Decoded:
    """Fold ``events``; a StreamError ends them and is kept."""
    seen: List[StreamEvent] = []
    transcript = Transcript()
    error = None
    try:
        for event in events:
            seen.append(event)
            transcript.feed(event)
    except StreamError as caught:
        error = caught
    return Decoded(seen, transcript.finish(), error)


def pieces(body: bytes, size: int) -> Iterator[bytes]:
    """``body`` in pieces of ``size`` bytes."""
    return (body[start : start + size] for start in range(0, len(body), size))


def check_order(events: List[StreamEvent]) -> None:
    """Assert the rules of ``jpq.events.parts``: dense indices, one kind each, flushed in order."""
    kinds: List[Any] = []
    flushed: List[int] = []
    assert not any(isinstance(event, Finished) for event in events[:-1]), "Finished comes last"
    for event in events:
        if not isinstance(event, (Part, ToolCallStarted, ToolArgumentsDelta, Flush)):
            continue
        if isinstance(event, Flush):
            assert event.index < len(kinds), "an index is flushed before it begins"
            flushed.append(event.index)
            continue
        assert event.index <= len(kinds), "an index was left out"
        assert event.index not in flushed, "an index goes on after its flush"
        kind = type(event.payload).__name__ if isinstance(event, Part) else "ToolCallRequest"
        if event.index == len(kinds):
            assert isinstance(event, (Part, ToolCallStarted))
            kinds.append(kind)
        assert kinds[event.index] == kind, "an index changes its kind"
    assert flushed == sorted(set(flushed)), "indices are flushed out of order"
    finished = [e for e in events if isinstance(e, Finished)]
    if finished and finished[0].reason != "interrupted":
        assert flushed == list(range(len(kinds))), "an index was never flushed"
