"""Demands: what an answer must be besides whole, which a turn checks before it ends.

Loaded for ``--schema`` and ``--extract``.
"""

from __future__ import annotations

from typing import Any, Callable, List, Mapping, Optional, Protocol, Sequence

from jpq.conversation.event import (
    AssistantMessage,
    AssistantReasoning,
    AssistantStructured,
    ConfigDelta,
    Draft,
    Drafts,
    Entry,
    Overlay,
    TurnEnd,
)
from jpq.conversation.fenced import first_block
from jpq.conversation.json_answer import parse_answer
from jpq.errors import BadInputError
from jpq.turn import ending
from jpq.turn.ending import Ending

Check = Callable[[Any], Optional[str]]


class Demand(Protocol):
    """One turn's. Main thread."""

    text: Optional[str]  # of the answer judged last

    def judge(self, drafts: Drafts, entries: Sequence[Entry]) -> Drafts:
        """What is stored for a whole answer, of which ``drafts`` are what is not in
        ``entries`` yet."""

    def ending(self, reached: Ending) -> Ending:
        """How the turn ends with the answer judged last, which was whole."""

    def asks_again(self) -> bool:
        """Whether another answer is to be asked for."""

    @property
    def fields(self) -> Mapping[str, Any]:
        """What a program finds in the result besides its usual fields."""


class SchemaDemand:
    """An answer that ``check`` has no complaint about; if it has, the model is asked once more.

    A text that does not match is stored with the complaint, and whoever builds the next
    request puts that after it.
    """

    def __init__(self, check: Check, repairs: int = 1) -> None:
        self._check = check
        self._repairs = repairs
        self._complaint: Optional[str] = None
        self._value: Any = None
        self.text: Optional[str] = None

    def judge(self, drafts: Drafts, entries: Sequence[Entry]) -> Drafts:
        self.text = _whole(drafts, entries)
        parsed, self._complaint = _parsed(self.text, self._check)
        self._value = None if self._complaint is not None else parsed
        if self._complaint is not None:
            return _marked(drafts, {"mismatch": self._complaint})
        taken_back = [Draft(Overlay(entry.event_id, None)) for entry in _cut_pieces(entries)]
        return [*taken_back, *_in_place_of_text(drafts, parsed)]

    def ending(self, reached: Ending) -> Ending:
        if self._complaint is None:
            return reached
        error = BadInputError(
            f"The answer does not match the schema: {self._complaint}.",
            hint="It is printed as it came. Try another model, or: jpq --retry",
        )
        error.word = "schema_mismatch"
        return Ending(ending.ERROR, int(error.exit_code), error)

    def asks_again(self) -> bool:
        if self._complaint is None or self._repairs <= 0:
            return False
        self._repairs -= 1
        return True

    @property
    def fields(self) -> Mapping[str, Any]:
        return {"structured": self._value}


class BlockDemand:
    """An answer with a fenced block, of ``language`` unless that is empty."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._block: Optional[str] = None
        self.text: Optional[str] = None

    def judge(self, drafts: Drafts, entries: Sequence[Entry]) -> Drafts:
        self.text = _whole(drafts, entries)
        self._block = first_block(self.text, self._language)
        return drafts

    def ending(self, reached: Ending) -> Ending:
        if self._block is not None:
            return reached
        what = f"block of {self._language}" if self._language else "fenced block"
        error = BadInputError(
            f"There is no {what} in the answer.", hint="The whole answer is printed instead."
        )
        error.word = "no_block"
        return Ending(reached.status, int(error.exit_code), error)  # the answer itself is whole

    def asks_again(self) -> bool:
        return False

    @property
    def fields(self) -> Mapping[str, Any]:
        return {"extracted": self._block}


def _parsed(text: str, check: Check) -> Any:
    found, complaint = parse_answer(text)
    if found is None:
        return None, complaint
    return found[0], check(found[0])


def _marked(drafts: Drafts, mark: Mapping[str, Any]) -> Drafts:
    """``drafts`` with ``mark`` in the metadata of the last one."""
    return [*drafts[:-1], *(Draft(event, {**data, **mark}) for event, data in drafts[-1:])]


def _in_place_of_text(drafts: Drafts, value: Any) -> Drafts:
    """``drafts`` with ``value`` in the place of the texts."""
    kept: Drafts = []
    placed = False
    for draft in drafts:
        if not isinstance(draft.event, AssistantMessage):
            kept.append(draft)
        elif not placed:
            placed = True
            kept.append(Draft(AssistantStructured(value), draft.metadata))
    return kept


def _whole(drafts: Drafts, entries: Sequence[Entry]) -> str:
    """The text of the answer; separate message items are a blank line apart."""
    cut = [entry.event for entry in _cut_pieces(entries)]
    texts = [draft.event.text for draft in drafts if isinstance(draft.event, AssistantMessage)]
    before = "".join(event.text for event in cut if isinstance(event, AssistantMessage))
    return before + "\n\n".join(texts)


def _cut_pieces(entries: Sequence[Entry]) -> List[Entry]:
    """The pieces of the answer that were stored before, because it was cut there."""
    pieces: List[Entry] = []
    for entry in reversed(entries):
        if isinstance(entry.event, AssistantMessage) and entry.metadata.get("partial"):
            pieces.insert(0, entry)
        elif not isinstance(entry.event, (TurnEnd, ConfigDelta, AssistantReasoning)):
            break
    return pieces
