"""Thread: the view of a conversation that a provider is sent."""

from __future__ import annotations

import json
from collections import deque
from typing import Any, Deque, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple, Union

from jpq.conversation.attachment import PDF, PLAIN_TEXT, Attachment, from_metadata
from jpq.conversation.effective import compacted, effective
from jpq.conversation.event import (
    AssistantMessage,
    AssistantOpaque,
    AssistantReasoning,
    AssistantStructured,
    ChatRequest,
    Entry,
    ToolCall,
    ToolResponse,
)
from jpq.conversation.sanitize import NO_REQUEST, sanitize
from jpq.named import NamedTuple

USER = "user"
ASSISTANT = "assistant"
UNFIT = "That does not match the schema: {}. Answer again, with JSON that does and nothing else."

_ANSWERS = (AssistantMessage, AssistantReasoning, AssistantOpaque, AssistantStructured)


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


class ThreadOpaque(NamedTuple):
    """A provider's own block, verbatim."""

    data: Mapping[str, Any]
    origin: Optional[Origin] = None


class ThreadImage(NamedTuple):
    """A picture that the person attached or a tool gave; ``data`` is base64."""

    name: str
    media_type: str
    data: str


class ThreadDocument(NamedTuple):
    """A PDF that the person attached or a tool gave; ``data`` is base64."""

    name: str
    media_type: str
    data: str


class ThreadToolResult(NamedTuple):
    """The one result of the call ``id``; ``attached`` is what it holds beside its text."""

    id: str
    name: str
    content: str
    is_error: bool
    attached: Tuple[Union[ThreadImage, ThreadDocument], ...] = ()


ThreadBlock = Union[
    ThreadText,
    ThreadReasoning,
    ThreadToolCall,
    ThreadToolResult,
    ThreadOpaque,
    ThreadImage,
    ThreadDocument,
]


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


def build_thread(entries: Iterable[Entry], system: str = "", continue_last: bool = False) -> Thread:
    """The thread of ``entries``, which every API accepts whatever was stored.

    Overlays and compactions have their effect, and the structure is repaired first.
    Roles alternate and begin with the user; each call is followed by exactly one result,
    in the order of the calls, and no id repeats; no text is blank. A text that was cut
    (``partial``) joins the next text of the same message with nothing between. With
    ``continue_last`` an answer at the end is one to go on with (``Thread.continues``).
    """
    sound = sanitize(compacted(effective(list(entries)))).entries
    messages = _ThreadBuilder(sound).build(asks_again=continue_last)
    continues = continue_last and bool(messages) and messages[-1].role == ASSISTANT
    return Thread(system, tuple(messages), continues)


class _ThreadBuilder:
    """Walks sanitized entries once, with one assistant message open at a time."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        self._messages: List[Message] = []
        self._blocks: List[ThreadBlock] = []  # of the open assistant message
        self._calls: Deque[ThreadToolCall] = deque()  # that wait for their results
        self._cut: Optional[int] = None  # where in _blocks a cut text is, to be gone on with
        self._paused = False  # the provider paused behind the last of _blocks
        self._call_ids: Set[str] = set()
        self._mismatch = ""  # what the last answer, which was to match a schema, had wrong

    def build(self, asks_again: bool) -> List[Message]:
        for entry in self._entries:
            event = entry.event
            if isinstance(event, ChatRequest):
                self._close_assistant()
                self._mismatch = ""
                asked = _asked(event, entry)
                if asked:
                    self._push(USER, asked)
            elif isinstance(event, ToolResponse):
                self._close_assistant()
                self._push(USER, [_result(self._calls.popleft(), event, entry)])
            elif isinstance(event, ToolCall):
                self._complain()
                self._add_call(event, entry)
            else:
                self._add_block(entry)
            self._mismatch = str(entry.metadata.get("mismatch") or self._mismatch)
        self._close_assistant(goes_on=asks_again and self._paused)
        if asks_again:
            self._complain()
        return self._messages

    def _complain(self) -> None:
        """Ask again for an answer that did not match its schema."""
        if self._mismatch:
            self._close_assistant()
            self._push(USER, [ThreadText(UNFIT.format(self._mismatch))])
            self._mismatch = ""

    def _add_block(self, entry: Entry) -> None:
        event, origin = entry.event, _origin(entry)
        if isinstance(event, _ANSWERS):
            self._complain()
            self._paused = bool(entry.metadata.get("paused"))
        if isinstance(event, AssistantMessage):
            self._add_text(event.text, entry)
        elif isinstance(event, AssistantStructured):
            self._add_text(json.dumps(event.value, ensure_ascii=False), entry)
        elif isinstance(event, AssistantOpaque):
            self._blocks.append(ThreadOpaque(event.data, origin))
        elif isinstance(event, AssistantReasoning):
            opaque = _opaque(entry)
            # Reasoning that was cut has no signature yet, and no API takes it back.
            if (event.text.strip() or opaque) and not entry.metadata.get("partial"):
                self._blocks.append(ThreadReasoning(event.text, origin, opaque))

    def _add_text(self, text: str, entry: Entry) -> None:
        opaque = _opaque(entry)
        if self._cut is not None:
            cut = self._blocks.pop(self._cut)
            if isinstance(cut, ThreadText):
                # Another model may go on with the text, and never gets the first one's data.
                kept = cut.opaque if cut.origin == _origin(entry) else {}
                text, opaque = cut.text + text, {**kept, **opaque}
        self._cut = len(self._blocks) if entry.metadata.get("partial") else None
        self._blocks.append(ThreadText(text, _origin(entry), opaque))

    def _add_call(self, event: ToolCall, entry: Entry) -> None:
        self._cut = None
        id = _free_id(event.id, self._call_ids)
        self._call_ids.add(id)
        call = ThreadToolCall(id, event.name, event.arguments, _origin(entry), _opaque(entry))
        self._blocks.append(call)
        self._calls.append(call)

    def _close_assistant(self, goes_on: bool = False) -> None:
        blocks = [kept for kept in map(_sendable, self._blocks) if kept is not None]
        while blocks and isinstance(blocks[-1], ThreadReasoning):
            blocks.pop()  # reasoning that led to nothing is refused by the API that made it
        # Blocks of other kinds may be dropped by a provider that did not make them, which
        # must not leave an empty message behind. An answer that was paused is nothing else yet.
        if any(goes_on or isinstance(block, (ThreadText, ThreadToolCall)) for block in blocks):
            if not self._messages:
                self._push(USER, [ThreadText(NO_REQUEST)])
            self._push(ASSISTANT, blocks)
        self._blocks, self._cut = [], None

    def _push(self, role: str, blocks: Sequence[ThreadBlock]) -> None:
        if self._messages and self._messages[-1].role == role:
            blocks = [*self._messages.pop().blocks, *blocks]
        self._messages.append(Message(role, tuple(blocks)))


def _asked(request: ChatRequest, entry: Entry) -> List[ThreadBlock]:
    """What the person said and attached."""
    blocks: List[ThreadBlock] = []
    if request.content.strip():
        blocks.append(ThreadText(request.content))
    blocks.extend(map(block_of, from_metadata(entry.metadata)))
    return blocks


def _result(call: ThreadToolCall, told: ToolResponse, entry: Entry) -> ThreadToolResult:
    """What the tool said, and gave beside it."""
    content, attached = told.content, []
    for block in map(block_of, from_metadata(entry.metadata)):
        if isinstance(block, ThreadText):
            content = f"{content}\n\n{block.text}"
        else:
            attached.append(block)
    return ThreadToolResult(call.id, call.name, content, told.is_error, tuple(attached))


def block_of(attachment: Attachment) -> Union[ThreadText, ThreadImage, ThreadDocument]:
    """What is sent for ``attachment``."""
    name, media_type, content = attachment
    if media_type == PLAIN_TEXT:
        return ThreadText(f"{name}:\n\n{content}")
    if media_type == PDF:
        return ThreadDocument(name, media_type, content)
    return ThreadImage(name, media_type, content)


def _sendable(block: ThreadBlock) -> Optional[ThreadBlock]:
    """``block``, or what is left of a blank text: its opaque data, or nothing."""
    if not isinstance(block, ThreadText) or block.text.strip():
        return block
    return ThreadOpaque(block.opaque, block.origin) if block.opaque else None


def _free_id(id: str, taken: Set[str]) -> str:
    """``id``, with a number behind it if it is blank or has been used."""
    free, number = id, 1
    while not free.strip() or free in taken:
        number += 1
        free = f"{id.strip() or 'call'}-{number}"
    return free


def _origin(entry: Entry) -> Optional[Origin]:
    provider, model = entry.metadata.get("provider"), entry.metadata.get("model")
    if isinstance(provider, str) and isinstance(model, str):
        return Origin(provider, model)
    return None


def _opaque(entry: Entry) -> Mapping[str, Any]:
    opaque = entry.metadata.get("opaque")
    return opaque if isinstance(opaque, dict) else {}
