"""Compaction: which entries to send less of, and a summary of them by a model.

The summary is made piece by piece, each request with the summary so far, so that it also
works where the whole conversation no longer fits into one request.
"""

from __future__ import annotations

import json
from typing import Callable, Iterator, List, Optional, Sequence

from jpq.conversation.effective import compacted, effective, short_result
from jpq.conversation.event import (
    AssistantMessage,
    AssistantStructured,
    ChatRequest,
    Compaction,
    Entry,
    Overlay,
    ToolCall,
    ToolResponse,
)
from jpq.conversation.stream import ConversationStream
from jpq.conversation.tokens import BYTES_A_TOKEN
from jpq.errors import ErrorKind, StreamError

# Tokens of the conversation in one request for a summary: fits into a window of 8,192 with
# the summary so far, the instructions and the answer.
PIECE_TOKENS = 4000
_SMALLEST_PIECE = 250

# What a summary is expected to take, as long as there is none.
EXPECTED_SUMMARY_TOKENS = 800

INSTRUCTIONS = (
    "Sum up the conversation below so that it can be gone on with from your summary alone. "
    "Keep every fact, decision, name, path, number and open question; leave out greetings "
    "and what turned out wrong. At most 400 words, no preamble."
)
_PIECE = "{instructions}\n\n{so_far}Conversation:\n\n{piece}"
_SO_FAR = "Summary of what came before it, to be carried on:\n\n{summary}\n\n"


def plan_compaction(stream: ConversationStream, keep: int) -> Optional[Compaction]:
    """The range of every turn but the last ``keep``; None when that leaves none."""
    turns = stream.turns()
    counting = {entry.event_id for entry in effective(stream.entries)}
    old = [entry for turn in turns[: len(turns) - keep] for entry in turn.entries]
    ids = [entry.event_id for entry in old if entry.event_id in counting]
    return Compaction(ids[0], ids[-1]) if ids else None


def last_compaction(entries: Sequence[Entry]) -> Optional[Entry]:
    """The compaction that was made last and still counts; what an edit replaced is none."""
    for entry in list(effective(entries))[::-1]:
        if isinstance(entry.event, Compaction) and entry.event.summary != "":
            return entry
    return None


def undone(compaction: Entry) -> Overlay:
    """What takes ``compaction`` back."""
    return Overlay(compaction.event_id, None)


def summarize(entries: Sequence[Entry], plan: Compaction, ask: Callable[[str], str]) -> str:
    """A summary of the range of ``plan``; ``ask`` sends a question to the model.

    Raises StreamError, also where not even a small piece fits.
    """
    pieces = _pieces(_transcript(entries, plan), PIECE_TOKENS)
    summary = ""
    while pieces:
        piece = pieces.pop(0)
        so_far = _SO_FAR.format(summary=summary) if summary else ""
        question = _PIECE.format(instructions=INSTRUCTIONS, so_far=so_far, piece=piece)
        try:
            summary = ask(question).strip() or summary
        except StreamError as error:
            size = len(piece) // BYTES_A_TOKEN // 2
            if error.kind is not ErrorKind.CONTEXT_LENGTH or size < _SMALLEST_PIECE:
                raise
            pieces[:0] = _pieces(piece, size)
    return summary


def _transcript(entries: Sequence[Entry], plan: Compaction) -> str:
    """The range as it is sent now, as text: who said what, without reasoning, with long
    results shortened. An earlier summary stands in it for what it covers."""
    counting = effective(entries)
    end = [entry.event_id for entry in counting].index(plan.last)
    later = {entry.event_id for entry in counting[end + 1 :]}
    compactions = {e.event_id for e in counting if isinstance(e.event, Compaction)}
    sent = compacted(counting)
    # The compactions that stand behind the range are sent as summaries within it.
    inside = [entry for entry in sent if entry.event_id not in later - compactions]
    return "\n\n".join(_said(inside))


def _said(entries: Sequence[Entry]) -> Iterator[str]:
    for entry in entries:
        event = entry.event
        if isinstance(event, ChatRequest):
            yield f"User: {event.content}"
        elif isinstance(event, AssistantMessage):
            yield f"Assistant: {event.text}"
        elif isinstance(event, AssistantStructured):
            yield f"Assistant: {json.dumps(event.value, ensure_ascii=False)}"
        elif isinstance(event, ToolCall):
            arguments = event.raw or json.dumps(event.arguments, ensure_ascii=False)
            yield f"Assistant calls {event.name}: {arguments}"
        elif isinstance(event, ToolResponse):
            yield f"Result: {short_result(entry)}"


def _pieces(text: str, tokens: int) -> List[str]:
    """``text`` in pieces of at most so many tokens, cut between lines where that is possible."""
    limit = tokens * BYTES_A_TOKEN
    pieces: List[str] = []
    while len(text) > limit:
        cut = text.rfind("\n", limit // 2, limit) + 1 or limit
        pieces.append(text[:cut])
        text = text[cut:]
    return [piece for piece in [*pieces, text] if piece.strip()]
