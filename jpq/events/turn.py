"""What a turn tells its audience: the screen, a JSON Lines reader, the Python API.

These are the values behind ``--format jsonl`` (docs/events.md) and ``Session.stream``.
Notice, Waiting and what a tool is doing are for people only and never reach stdout. The
field ``index`` hides ``tuple.index``, which nobody calls on these values; hence the type
comments.
"""

from __future__ import annotations

from typing import Any, Mapping, Optional, Union

from jpq.events.usage import Usage
from jpq.named import NamedTuple


class ConversationOpened(NamedTuple):
    """The conversation the turn belongs to; ``id`` is None when nothing is saved."""

    id: Optional[str]
    model: str


class StreamStart(NamedTuple):
    """A cycle's answer begins; ``model`` is the one that serves. ``turn`` is the id of the
    question in the conversation, for programs."""

    model: Optional[str]
    message_id: Optional[str]
    turn: Optional[str] = None


class TextChunk(NamedTuple):
    """Text of the answer, in order; ``index`` counts message items within the cycle."""

    text: str
    index: int = 0  # type: ignore[assignment]


class ReasoningChunk(NamedTuple):
    """Text of the model's reasoning, in order."""

    text: str
    index: int = 0  # type: ignore[assignment]


class ToolUseStart(NamedTuple):
    """The model began to write a call."""

    id: str
    name: str


class ToolUse(NamedTuple):
    """A call with its whole arguments. Programs are told how a person knows the tool
    (``display_name``) and the call (``title``); neither is sanitised."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    display_name: str = ""
    title: str = ""


class ToolStarted(NamedTuple):
    """A call runs now; ``title`` is its header for people."""

    id: str
    title: str


class ToolProgress(NamedTuple):
    """A running call wrote a line. Posted on the tool's thread, and not for every line."""

    id: str
    text: str


class ToolEnded(NamedTuple):
    """A call does not run any more; its result follows when those before it are there."""

    id: str


class ToolResult(NamedTuple):
    """What the model is told about a call; ``full_output`` is a file with the whole of it
    where its middle was left out."""

    id: str
    name: str
    content: str
    is_error: bool
    full_output: Optional[str] = None


class Complete(NamedTuple):
    """A cycle ended with ``finish_reason``."""

    finish_reason: str


class TokenUpdate(NamedTuple):
    """The cycle's usage; for programs the model's context window in tokens, where known."""

    usage: Usage
    context_limit: Optional[int] = None


class Error(NamedTuple):
    """What went wrong, where, and what to do; ``kind`` is a stable word."""

    kind: str
    message: str
    where: str = ""
    hint: str = ""


class Result(NamedTuple):
    """The end of the turn: sums of usage and cost, the last cycle's finish reason.

    ``error`` is what the person was told, if anything; ``extra`` are fields that were asked for.
    """

    status: str
    text: str
    finish_reason: Optional[str]
    usage: Usage
    cost: Optional[float]
    exit_code: int
    error: Optional[Error] = None
    extra: Mapping[str, Any] = {}


class Notice(NamedTuple):
    """One line for the person, on stderr."""

    text: str


class Waiting(NamedTuple):
    """Nothing has come yet; a terminal shows that jpq waits for ``what``, which begins in
    ``seconds``."""

    what: str
    seconds: float = 0.0


TurnEvent = Union[
    ConversationOpened,
    StreamStart,
    TextChunk,
    ReasoningChunk,
    ToolUseStart,
    ToolUse,
    ToolStarted,
    ToolProgress,
    ToolEnded,
    ToolResult,
    Complete,
    TokenUpdate,
    Error,
    Result,
    Notice,
    Waiting,
]
