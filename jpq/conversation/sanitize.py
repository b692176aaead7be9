"""sanitize: the structure that every API wants of a conversation, whatever was stored.

It repairs structure and never identity: an entry that stays keeps its id and its bytes.
"""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Set, Tuple

from jpq.conversation.event import (
    AssistantMessage,
    AssistantOpaque,
    AssistantReasoning,
    AssistantStructured,
    ChatRequest,
    ConversationEvent,
    Entry,
    InquiryRequest,
    InquiryResponse,
    ToolCall,
    ToolResponse,
)
from jpq.named import NamedTuple

# What the model is told where the store has nothing to tell it.
NOT_ANSWERED = "The call was interrupted before it gave a result. What it did until then is lost."
CUT_CALL = "Not run: the answer was cut off before it was complete."
NO_REQUEST = "(The beginning of this conversation is missing.)"
NO_ANSWER = "(The question was interrupted before it was answered.)"

_ANSWERS = (AssistantMessage, AssistantReasoning, AssistantOpaque, AssistantStructured)


class Repair(NamedTuple):
    """One change: why, the entry that is set aside, the one that is put in."""

    reason: str
    removed: Optional[Entry] = None
    added: Optional[Entry] = None


class Sanitized(NamedTuple):
    """The repaired entries, and what was done to them. An added entry has no id yet."""

    entries: List[Entry]
    repairs: List[Repair]


def sanitize(entries: Sequence[Entry]) -> Sanitized:
    """``entries`` with their structure repaired; what is sound passes as it is.

    Every tool call has exactly one result, behind it and in request order; a result or an
    answer to an inquiry that nothing asked for is set aside, and so is a call that was
    only half written; an answer at the very beginning gets a request. Sanitizing the
    result again changes nothing.
    """
    sanitizer = _Sanitizer(entries)
    return Sanitized(sanitizer.run(), sanitizer.repairs)


def is_runnable(entry: Entry) -> bool:
    """Whether the call in ``entry`` is one: it has a name, and was not cut while written."""
    call = entry.event
    return isinstance(call, ToolCall) and bool(
        call.name.strip() and not (call.raw is not None and entry.metadata.get("partial"))
    )


class _Sanitizer:
    """Walks the entries once. The calls of an answer are open until their results are out."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.repairs: List[Repair] = []
        self._entries = entries
        self._pairs = _paired(entries)  # position of a call or question -> of its answer
        self._wanted = set(self._pairs.values())
        self._moved: Set[int] = set()  # answers that were put where they belong
        self._out: List[Entry] = []
        self._open: List[int] = []  # calls without a result so far, in request order
        self._answering = False  # the open calls' results have begun
        self._place = 0  # in _out, behind the last call, text or result
        self._has_request = False

    def run(self) -> List[Entry]:
        for position, entry in enumerate(self._entries):
            event = entry.event
            if isinstance(event, ToolResponse):
                self._response(position, entry)
            elif isinstance(event, ToolCall):
                if is_runnable(entry):
                    self._block(entry)
                    self._open.append(position)
                else:
                    self._set_aside("A tool call that was only half written.", entry)
            elif isinstance(event, _ANSWERS):
                self._block(entry)
            elif isinstance(event, ChatRequest):
                self._answer_rest()
                self._has_request = True
                self._out.append(entry)
            elif isinstance(event, InquiryRequest):
                self._inquiry(position, entry)
            elif isinstance(event, InquiryResponse) and position not in self._wanted:
                self._set_aside("An answer without its question.", entry)
            else:
                self._out.append(entry)
        self._answer_rest()
        return self._out

    def _block(self, entry: Entry) -> None:
        if self._answering:
            self._answer_rest()
        if not self._has_request:
            self._has_request = True
            # At the very beginning: a request between a question and its answer parts them.
            self._put_in("An answer without a request.", ChatRequest(NO_REQUEST), 0)
        self._out.append(entry)
        self._place = len(self._out)

    def _response(self, position: int, entry: Entry) -> None:
        if position in self._moved:
            return
        if position not in self._wanted:
            self._set_aside("A result without its call, or a second one.", entry)
            return
        self._answering = True
        self._place = len(self._out)
        while position not in self._moved:
            self._answer_first(position)

    def _answer_rest(self) -> None:
        while self._open:
            self._answer_first()
        self._answering = False

    def _answer_first(self, position: Optional[int] = None) -> None:
        """Give the oldest open call its result, wherever that stands; ``position`` is that of
        the result we are at."""
        call = self._open.pop(0)
        answer = self._pairs.get(call)
        if answer is not None:
            entry = self._entries[answer]
            if answer != position:
                self.repairs.append(Repair("A result out of request order.", entry, entry))
            self._moved.add(answer)
            self._out.insert(self._place, entry)
        else:
            self._put_in("A tool call without a result.", missing_result(self._entries[call]))
        self._place += 1

    def _inquiry(self, position: int, entry: Entry) -> None:
        self._out.append(entry)
        if position not in self._pairs and isinstance(entry.event, InquiryRequest):
            answer = InquiryResponse(entry.event.id, NO_ANSWER)
            self._put_in("A question without an answer.", answer, len(self._out))

    def _put_in(self, reason: str, event: ConversationEvent, place: Optional[int] = None) -> None:
        entry = Entry("", "", event)
        self._out.insert(self._place if place is None else place, entry)
        self.repairs.append(Repair(reason, added=entry))

    def _set_aside(self, reason: str, entry: Entry) -> None:
        self.repairs.append(Repair(reason, removed=entry))


def missing_result(entry: Entry) -> ToolResponse:
    """The result of a call that has none: how far it got, as far as that is known."""
    assert isinstance(entry.event, ToolCall)
    told = CUT_CALL if entry.metadata.get("partial") else NOT_ANSWERED
    return ToolResponse(entry.event.id, told, is_error=True)


def _paired(entries: Sequence[Entry]) -> Dict[int, int]:
    """Position of each call and question -> position of what answers it.

    Ids may repeat from turn to turn, so an answer belongs to the oldest of its turn that
    has its id and still waits.
    """
    pairs: Dict[int, int] = {}
    waiting: Dict[Tuple[type, str], List[int]] = {}
    for position, entry in enumerate(entries):
        event = entry.event
        if isinstance(event, ChatRequest):
            waiting = {}
        elif isinstance(event, ToolCall):
            if is_runnable(entry):
                waiting.setdefault((ToolResponse, event.id), []).append(position)
        elif isinstance(event, InquiryRequest):
            waiting.setdefault((InquiryResponse, event.id), []).append(position)
        elif isinstance(event, (ToolResponse, InquiryResponse)):
            askers = waiting.get((type(event), event.id))
            if askers:
                pairs[askers.pop(0)] = position
    return pairs
