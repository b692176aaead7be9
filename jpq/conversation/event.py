"""Conversation events: what was said and done, as it is stored.

Each class is one ``type`` of entry in ``events.jsonl``. A provider's opaque data sits in
the entry's ``metadata`` beside the provider and model that made it.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Union

from jpq.named import NamedTuple


class ChatRequest(NamedTuple):
    """What the person said. ``content`` is text."""

    content: str


class AssistantMessage(NamedTuple):
    """Text of the answer (``chat_response`` with ``message``)."""

    text: str


class AssistantReasoning(NamedTuple):
    """The model's reasoning (``chat_response`` with ``reasoning``)."""

    text: str


class AssistantStructured(NamedTuple):
    """An answer that matches a schema (``chat_response`` with ``structured``)."""

    value: Any


class AssistantOpaque(NamedTuple):
    """A provider's own block that goes back to it verbatim (``chat_response`` with
    ``metadata.block``)."""

    data: Mapping[str, Any]


class ToolCall(NamedTuple):
    """A call the model made (``tool_call_request``); ``raw`` as in ToolCallRequest."""

    id: str
    name: str
    arguments: Dict[str, Any]
    raw: Optional[str] = None


class ToolResponse(NamedTuple):
    """What the model is told about the call ``id`` (``tool_call_response``)."""

    id: str
    content: str
    is_error: bool = False


class InquiryRequest(NamedTuple):
    """A question a running tool asked the person."""

    id: str
    question: str


class InquiryResponse(NamedTuple):
    """The person's answer to the question ``id``."""

    id: str
    answer: str


class ConfigDelta(NamedTuple):
    """Configuration the conversation itself set from here on: dotted key to value."""

    changes: Dict[str, Any]


class Compaction(NamedTuple):
    """What is sent, from here on, for the entries from ``first`` to ``last`` (event ids).

    A ``summary`` stands in for all of them, an empty one for nothing at all. Without one
    they are sent themselves: without what only the provider that made it can read
    (``drop_reasoning``), with long tool results shortened (``shorten_results``).
    """

    first: str
    last: str
    summary: Optional[str] = None
    drop_reasoning: bool = False
    shorten_results: bool = False


class Overlay(NamedTuple):
    """An amendment: the entry ``target`` counts as if it had these ``fields``; with None it
    counts as if it were not there."""

    target: str
    fields: Optional[Dict[str, Any]]


class TurnEnd(NamedTuple):
    """How a turn ended (``status`` and ``finish_reason`` in the words of docs/events.md)."""

    status: str
    finish_reason: Optional[str]
    usage: Dict[str, int]
    model: Optional[str]


class Unknown(NamedTuple):
    """Any other entry: kept byte for byte and passed over."""

    type: str


ConversationEvent = Union[
    ChatRequest,
    AssistantMessage,
    AssistantReasoning,
    AssistantStructured,
    AssistantOpaque,
    ToolCall,
    ToolResponse,
    InquiryRequest,
    InquiryResponse,
    ConfigDelta,
    Compaction,
    Overlay,
    TurnEnd,
    Unknown,
]


class Entry(NamedTuple):
    """A conversation event with its identity.

    ``timestamp`` is UTC ISO 8601 with milliseconds and ``Z``. ``metadata`` may hold
    ``provider`` and ``model`` (who made the event), ``opaque`` (their data, verbatim) and
    ``partial`` (true: the text was cut here and the next message continues it) and ``paused``
    (true: the provider paused its answer behind this event, and goes on when asked again).
    ``line`` is the line as read from the file, without its line end; None for an entry
    that has not been written. ``repeated_id`` is the id in that line where an earlier entry
    has it too; what refers to it is ambiguous.
    """

    event_id: str
    timestamp: str
    event: ConversationEvent
    metadata: Mapping[str, Any] = {}
    line: Optional[bytes] = None
    repeated_id: Optional[str] = None


class Draft(NamedTuple):
    """A conversation event that has no identity yet."""

    event: ConversationEvent
    metadata: Mapping[str, Any] = {}


Drafts = List[Draft]
