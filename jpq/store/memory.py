"""MemoryJournal: a conversation that is saved nowhere (``--ephemeral``)."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence

from jpq.conversation.event import Draft, Entry, ToolCall
from jpq.conversation.stream import ConversationStream
from jpq.conversation.thread import Origin
from jpq.errors import WriteError
from jpq.events.parts import StreamEvent
from jpq.store.journal import Mark


class MemoryJournal:
    """A Journal without files. Main thread only."""

    id: Optional[str] = None
    folder: Optional[str] = None

    def __init__(
        self,
        stream: Optional[ConversationStream] = None,
        metadata: Optional[Mapping[str, Any]] = None,
    ) -> None:
        self.stream = stream if stream is not None else ConversationStream()
        self.metadata: Dict[str, Any] = dict(metadata or {})

    def begin_cycle(self, origin: Optional[Origin] = None) -> None:
        pass

    def record(self, events: Sequence[StreamEvent]) -> None:
        pass

    def commit(self, drafts: Sequence[Draft]) -> List[Entry]:
        return [self.stream.append(draft) for draft in drafts]

    def discard_inflight(self) -> None:
        pass

    def mark(self) -> Mark:
        return Mark(len(self.stream.entries), 0, ())

    def rollback(self, mark: Mark) -> None:
        self.stream.truncate(mark.entries)

    def unanswered_tool_calls(self) -> List[ToolCall]:
        return self.stream.unanswered_tool_calls()

    def set_title(self, title: str) -> None:
        self.metadata["title"] = title

    def close(self) -> None:
        pass


class UnsavedJournal(MemoryJournal):
    """Stands in for a conversation that could not be created or opened, which the turn tells
    once."""

    def __init__(self, stream: ConversationStream, error: WriteError) -> None:
        super().__init__(stream)
        self._error: Optional[WriteError] = error

    def begin_cycle(self, origin: Optional[Origin] = None) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error
