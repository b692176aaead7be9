"""What a provider's decoder yields while a cycle streams.

One index is one logical event of one kind; indices are dense and in order, whatever the
provider numbers. A tool call is announced by ToolCallStarted, its arguments arrive as
ToolArgumentsDelta, and it becomes a single Part when they are whole. Flush says that an
index is finished. A stream is complete only when Finished says so; an end without the
provider's own end marker is Finished(INTERRUPTED).

The field ``index`` hides ``tuple.index``, which nobody calls on these values; hence the
type comments.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from jpq.events.usage import Usage
from jpq.named import NamedTuple

STOP = "stop"
TOOL_CALLS = "tool_calls"
LENGTH = "length"
REFUSAL = "refusal"
CONTENT_FILTER = "content_filter"
PAUSED = "pause_turn"  # Anthropic: send the answer back as it is, and it goes on
INTERRUPTED = "interrupted"
ERROR = "error"


class MessageDelta(NamedTuple):
    """A piece of the answer's text, in characters as they came."""

    text: str


class ReasoningDelta(NamedTuple):
    """A piece of the model's reasoning."""

    text: str


class ToolCallRequest(NamedTuple):
    """A call the model asks for, with its whole arguments.

    Where the argument text does not parse as a JSON object, ``raw`` is that text and
    ``arguments`` is ``{"raw": text}``; such a call is never run.
    """

    id: str
    name: str
    arguments: Dict[str, Any]
    raw: Optional[str] = None


class Opaque(NamedTuple):
    """A block jpq does not understand, kept verbatim for the provider that sent it."""

    data: Mapping[str, Any]


Payload = Union[MessageDelta, ReasoningDelta, ToolCallRequest, Opaque]


class Started(NamedTuple):
    """The provider began to answer; ``model`` is the one that serves."""

    model: Optional[str] = None
    message_id: Optional[str] = None


class Part(NamedTuple):
    """A piece of the logical event ``index``."""

    index: int  # type: ignore[assignment]
    payload: Payload


class ToolCallStarted(NamedTuple):
    """A tool call was announced; its arguments are still on their way."""

    index: int  # type: ignore[assignment]
    id: str
    name: str


class ToolArgumentsDelta(NamedTuple):
    """A piece of the argument text of the call at ``index``."""

    index: int  # type: ignore[assignment]
    text: str


class Flush(NamedTuple):
    """The logical event ``index`` is finished; ``metadata`` is the provider's opaque data."""

    index: int  # type: ignore[assignment]
    metadata: Mapping[str, Any] = {}


class Metered(NamedTuple):
    """A report of the cycle's usage so far; reports replace, they do not add."""

    usage: Usage


class KeepAlive(NamedTuple):
    """The server is alive but said nothing; does not count as progress."""


class Finished(NamedTuple):
    """The provider's own end of the cycle.

    ``reason`` is one of the words of this module or the provider's own where none fits;
    ``details`` may hold ``native`` (the provider's word) and ``message`` (its explanation).
    """

    reason: str
    details: Mapping[str, Any] = {}


StreamEvent = Union[
    Started, Part, ToolCallStarted, ToolArgumentsDelta, Flush, Metered, KeepAlive, Finished
]


def coalesced(events: Sequence[StreamEvent]) -> Sequence[StreamEvent]:
    """The same events with adjacent text of one index joined; order and text are kept.

    A burst of small deltas then costs its audience one event instead of thousands.
    """
    if len(events) < 2:
        return events
    joined: List[StreamEvent] = []
    run: List[str] = []
    index = -1
    kind: Any = MessageDelta
    for event in events:
        payload = event.payload if isinstance(event, Part) else None
        if isinstance(payload, (MessageDelta, ReasoningDelta)):
            assert isinstance(event, Part)
            if run and event.index == index and type(payload) is kind:
                run.append(payload.text)
                continue
            _end_run(joined, run, index, kind)
            run, index, kind = [payload.text], event.index, type(payload)
        else:
            _end_run(joined, run, index, kind)
            run = []
            joined.append(event)
    _end_run(joined, run, index, kind)
    return joined


def _end_run(joined: List[StreamEvent], run: List[str], index: int, kind: Any) -> None:
    if run:
        joined.append(Part(index, kind("".join(run))))
