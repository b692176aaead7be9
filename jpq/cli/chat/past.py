"""The turns of a conversation that still count, and how one is taken out of it."""

from __future__ import annotations

from typing import List, Optional

from jpq.conversation.effective import compacted, effective
from jpq.conversation.event import ChatRequest, Compaction, Draft
from jpq.conversation.stream import ConversationStream, Turn
from jpq.errors import BadInputError


def counting_turns(stream: ConversationStream) -> List[Turn]:
    """The turns whose question is sent as it was asked, oldest first."""
    sent = {entry.event_id for entry in compacted(effective(stream.entries))}
    return [turn for turn in stream.turns() if turn.entries[0].event_id in sent]


def last_counting(stream: Optional[ConversationStream]) -> Turn:
    """The newest of them. Raises BadInputError where there is none."""
    turns = [] if stream is None else counting_turns(stream)
    if not turns:
        raise BadInputError("There is no question before this one.", hint="Ask one first.")
    return turns[-1]


def question_of(turn: Turn) -> Draft:
    """The turn's question as it could be asked again, with what was attached to it."""
    return Draft(turn.entries[0].event, turn.entries[0].metadata)


def text_of(question: Draft) -> str:
    """What the person said in it."""
    assert isinstance(question.event, ChatRequest)
    return question.event.content


def without(turn: Turn) -> Draft:
    """What takes ``turn`` out of all that is sent from now on; it stays stored."""
    return Draft(Compaction(turn.entries[0].event_id, turn.entries[-1].event_id, summary=""))
