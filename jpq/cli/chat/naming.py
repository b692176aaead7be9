"""Naming: with ``conversation.title = "model"``, the title is made while the person goes on."""

from __future__ import annotations

import contextlib
from typing import Any, Optional

from jpq.cli.chat.state import Chat
from jpq.cli.title_model import TitleRequest, title_provider
from jpq.store.journal import Journal
from jpq.turn.ending import TurnOutcome


class Naming:
    """Has the conversations of ``chat`` named. Main thread; nothing here waits or is told.

    A title is asked for after the first turn of a new conversation. It is given after the
    next turn, or when the person leaves, if it has come by then and nobody gave another.
    """

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._request: Optional[TitleRequest] = None
        self._journal: Optional[Journal] = None  # whose title it is
        self._before: Any = None  # what that is called so far
        self._opened = contextlib.ExitStack()

    def after(self, outcome: TurnOutcome) -> None:
        """A turn is over: give the title that has come, or ask for one."""
        if self._request is not None:
            if self._request.is_over or self._journal is not self._chat.journal:
                self.end()
        elif self._is_wanted(outcome):
            try:
                self._ask(outcome.text)
            except Exception as error:
                self._chat.log.failure(error)
                self._opened.close()

    def end(self) -> None:
        """Give the title if it has come, and do without one otherwise."""
        if self._request is None:
            return
        title = self._request.end(0.0)
        self._request = None
        self._opened.close()
        journal = self._chat.journal
        if journal is None or journal is not self._journal or not title:
            return
        if journal.metadata.get("title") == self._before:
            try:
                journal.set_title(title)
            except Exception as error:
                self._chat.log.failure(error)

    def _is_wanted(self, outcome: TurnOutcome) -> bool:
        chat, journal = self._chat, self._chat.journal
        if chat.config["conversation.title"] != "model" or outcome.ending.exit_code:
            return False
        # Whoever talks through a pipe is a script.
        typed = chat.env.stdin is not None and chat.env.stdin.isatty()
        new = journal is not None and journal.id is not None and len(journal.stream.turns()) == 1
        return typed and new and chat.title is None

    def _ask(self, answer: str) -> None:
        chat, journal = self._chat, self._chat.journal
        assert journal is not None, "a turn was saved in it"
        by, provider = self._opened.enter_context(
            title_provider(chat.config, chat.model, chat.answering.provider, chat.env, chat.log)
        )
        asked: Any = journal.stream.turns()[0].entries[0].event  # turns begin with the question
        self._journal, self._before = journal, journal.metadata.get("title")
        request = TitleRequest(provider, by, asked.content, answer, chat.log)
        request.begin()
        self._request = request
