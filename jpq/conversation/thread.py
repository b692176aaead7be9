"""Thread: the view of a conversation that a provider is sent."""

from __future__ import annotations

from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple, Union


class Origin(NamedTuple):
    """The provider and model that made a block; opaque data goes back to no other."""

    provider: str
    model: str


class ThreadText(NamedTuple):
    """Text, never blank."""

    text: str
    origin: Optional[Origin] = None
    opaque: Mapping[str, Any] = {}


class ThreadReasoning(NamedTuple):
    """Reasoning with what its maker needs back verbatim."""

    text: str
    origin: Optional[Origin] = None
    opaque: Mapping[str, Any] = {}


class ThreadToolCall(NamedTuple):
    """A call; always answered by a ThreadToolResult in the next user message."""

    id: str
    name: str
    arguments: Dict[str, Any]
    origin: Optional[Origin] = None
    opaque: Mapping[str, Any] = {}


class ThreadToolResult(NamedTuple):
    """The one result of the call ``id``."""

    id: str
    name: str
    content: str
    is_error: bool


class ThreadOpaque(NamedTuple):
    """A provider's own block, verbatim."""

    data: Mapping[str, Any]
    origin: Optional[Origin] = None


ThreadBlock = Union[ThreadText, ThreadReasoning, ThreadToolCall, ThreadToolResult, ThreadOpaque]


class Message(NamedTuple):
    """One message; ``role`` is ``user`` or ``assistant``, and roles alternate."""

    role: str
    blocks: Tuple[ThreadBlock, ...]


class Thread(NamedTuple):
    """System prompt and messages. ``continues`` means that the last message is a cut
    assistant answer which the provider is asked to go on with."""

    system: str
    messages: Tuple[Message, ...]
    continues: bool = False
