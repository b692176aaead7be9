"""Saving: the journal as a turn uses it, where a failed write never stops the display."""

from __future__ import annotations

import contextlib
import os
from typing import Any, Callable, Optional, Sequence

from jpq.conversation.event import Draft, ToolResponse
from jpq.conversation.sanitize import NOT_ANSWERED
from jpq.conversation.thread import Origin
from jpq.errors import WriteError
from jpq.events.parts import StreamEvent
from jpq.events.turn import Error, Notice, TurnEvent
from jpq.store.journal import Journal
from jpq.turn import ending


class Saving:
    """Saves through ``journal``; the first failure is shown and kept in ``error``. Main thread."""

    def __init__(self, journal: Journal, show: Callable[[TurnEvent], None]) -> None:
        self._journal = journal
        self._show = show
        self._mark: Any = None
        self.error: Optional[WriteError] = None

    def begin_turn(self, requests: Sequence[Draft]) -> None:
        """Remember where the conversation stands, and commit ``requests``.

        Calls that a process which died left in the turn are answered as interrupted: they
        would be run again else, after the answer that comes now.
        """
        self._mark = self._journal.mark()
        if requests:
            self.commit(requests)
        lost = self._journal.unanswered_tool_calls()
        if lost:
            self.commit(
                [Draft(ToolResponse(call.id, NOT_ANSWERED, is_error=True)) for call in lost]
            )

    def begin_cycle(self, origin: Origin) -> None:
        """A request is about to be sent to ``origin``."""
        self._try(self._journal.begin_cycle, origin)

    def record(self, events: Sequence[StreamEvent]) -> None:
        """Keep what arrived, before it is shown."""
        self._try(self._journal.record, events)

    def commit(self, drafts: Sequence[Draft]) -> None:
        """Make ``drafts`` part of the conversation."""
        self._try(self._journal.commit, drafts)

    def forget(self) -> None:
        """Forget what was recorded since the last commit."""
        self._try(self._journal.discard_inflight)

    def roll_back(self, outputs: Sequence[str]) -> None:
        """Make the conversation what it was when the turn began, without the files that its
        tools' ``outputs`` are in."""
        self._try(self._journal.rollback, self._mark)
        for path in outputs:
            with contextlib.suppress(OSError):  # it is gone, or others are still in its folder
                os.remove(path)
                os.rmdir(os.path.dirname(path))
        if self.error is None:
            self._show(Notice(ending.DISCARDED))

    def _try(self, save: Callable[..., Any], *args: Any) -> None:
        try:
            save(*args)
        except WriteError as error:
            if self.error is None:
                self.error = error
                told = f"{error.message} The answer goes on, but is not saved."
                self._show(Error(error.word, told, error.where, error.hint))
