"""ConversationStream: what was said and done, in order; the one truth about a conversation."""

from __future__ import annotations

import re
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set

from jpq.conversation.effective import effective
from jpq.conversation.event import (
    ChatRequest,
    Compaction,
    ConfigDelta,
    Draft,
    Entry,
    InquiryRequest,
    InquiryResponse,
    Overlay,
    ToolCall,
    ToolResponse,
    TurnEnd,
    Unknown,
)
from jpq.conversation.identity import new_event_id, settled_event_id, utc_timestamp
from jpq.named import NamedTuple

# What ended in one of these is not over: the person can have it done again or gone on with.
UNFINISHED = frozenset({"interrupted", "incomplete", "limited", "empty", "error", "denied"})

# Such timestamps sort by time; others are not ours.
_TIMESTAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"

_PASSED_OVER = (ConfigDelta, Compaction, Overlay, InquiryRequest, InquiryResponse, Unknown)


class Turn(NamedTuple):
    """One request and everything that came of it. ``entries`` begins with the request."""

    entries: Sequence[Entry]

    @property
    def end(self) -> Optional[TurnEnd]:
        """How the turn ended; None when it never said so, or when it went on afterwards."""
        for entry in reversed(self.entries):
            if isinstance(entry.event, TurnEnd):
                return entry.event
            if not isinstance(entry.event, _PASSED_OVER):
                return None
        return None

    @property
    def status(self) -> str:
        """The word of docs/events.md; a turn without an end was interrupted."""
        return self.end.status if self.end is not None else "interrupted"

    @property
    def unfinished(self) -> bool:
        """Whether ``--retry`` has something to do."""
        return self.status in UNFINISHED


class ConversationStream:
    """Append-only sequence of entries. Main thread only.

    ``base_config`` is what the conversation began with, dotted key to value. ``clock``
    returns seconds since the epoch.
    """

    def __init__(
        self,
        base_config: Optional[Mapping[str, Any]] = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.base_config: Mapping[str, Any] = dict(base_config or {})
        self._clock = clock
        self._entries: List[Entry] = []
        self._taken: Set[str] = set()  # ids ever given, so that none is used again

    @property
    def entries(self) -> Sequence[Entry]:
        """All entries, oldest first; not to be changed by the caller."""
        return self._entries

    @property
    def last_event_id(self) -> Optional[str]:
        """The id of the newest entry."""
        return self._entries[-1].event_id if self._entries else None

    def append(self, draft: Draft) -> Entry:
        """Insert ``draft``, which gets its id and its time, and return the entry.

        Its time is never before that of the entry before it, also when the clock went back.
        """
        now = utc_timestamp(self._clock())
        last = self._entries[-1].timestamp if self._entries else ""
        if last > now and re.match(_TIMESTAMP, last):
            now = last
        entry = Entry(new_event_id(self._taken), now, draft.event, draft.metadata)
        return self._insert(entry)

    def adopt(self, entry: Entry) -> Entry:
        """Insert an entry that was read; a missing or repeated id is replaced."""
        found = entry.event_id
        if not found or found in self._taken:
            line = entry.line or b""
            event_id = settled_event_id(line, len(self._entries), self._taken)
            entry = entry._replace(event_id=event_id, repeated_id=found or None)
        return self._insert(entry)

    def holds(self, event_id: str) -> bool:
        """Whether ``event_id`` was ever given in this conversation."""
        return event_id in self._taken

    def truncate(self, length: int) -> None:
        """Take back every entry from position ``length`` on; their ids stay used."""
        del self._entries[length:]

    def turns(self) -> List[Turn]:
        """Every turn, oldest first; what precedes the first request belongs to none."""
        starts = [i for i, e in enumerate(self._entries) if isinstance(e.event, ChatRequest)]
        ends = [*starts[1:], len(self._entries)]
        return [Turn(self._entries[start:end]) for start, end in zip(starts, ends)]

    def last_turn(self) -> Optional[Turn]:
        """The newest turn, or None before the first request."""
        for position in range(len(self._entries) - 1, -1, -1):
            if isinstance(self._entries[position].event, ChatRequest):
                return Turn(self._entries[position:])
        return None

    def unanswered_tool_calls(self) -> List[ToolCall]:
        """The last turn's calls that have no response yet, in the order they were made.

        Calls of a cut cycle (``partial``) are not among them: they are never run.
        """
        turn = self.last_turn()
        waiting: List[ToolCall] = []
        for entry in turn.entries if turn else self._entries:
            event = entry.event
            if isinstance(event, ToolCall) and not entry.metadata.get("partial"):
                waiting.append(event)
            elif isinstance(event, ToolResponse):
                answered = next((call for call in waiting if call.id == event.id), None)
                if answered is not None:
                    waiting.remove(answered)
        return waiting

    def config(self) -> Dict[str, Any]:
        """The conversation's own configuration now: its base and every change since.

        A change to None takes the key away, so that the sources below count again.
        """
        values = dict(self.base_config)
        for entry in effective(self._entries):
            if isinstance(entry.event, ConfigDelta):
                values.update(entry.event.changes)
        return {key: value for key, value in values.items() if value is not None}

    def _insert(self, entry: Entry) -> Entry:
        self._taken.add(entry.event_id)
        self._entries.append(entry)
        return entry
