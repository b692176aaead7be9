"""Talk: messages in, turns out, until the person leaves."""

from __future__ import annotations

import functools
from typing import List, Optional, Protocol

from jpq.cli.chat.commands import run_line
from jpq.cli.chat.naming import Naming
from jpq.cli.chat.place import Ask, Leave, Place
from jpq.cli.chat.signals import Pressed
from jpq.cli.chat.turns import Turns
from jpq.cli.chat.wording import in_chat_words
from jpq.cli.conversation_offer import compaction_offer
from jpq.cli.failure import as_error
from jpq.conversation.event import ConfigDelta, Draft
from jpq.errors import ErrorKind, JpqError
from jpq.provider.window import context_window
from jpq.store.journal import Journal
from jpq.turn.ending import TurnOutcome


class Messages(Protocol):
    """Where messages come from."""

    def next(self) -> Optional[str]:
        """The next message that is not blank; None when there is none."""

    def remember(self, text: str) -> None:
        """Have ``text`` found again."""


class Talk:
    """One chat's loop. Main thread."""

    def __init__(self, place: Place, messages: Messages, turns: Turns) -> None:
        self._place = place
        self._chat, self._voice = place.chat, place.voice
        self._messages = messages
        self._turns = turns
        self._naming = Naming(place.chat)
        self.exit_code = 0  # of the last turn that failed

    def run(self, first: str) -> Optional[TurnOutcome]:
        """Talk, beginning with the message ``first`` unless it is empty. The turn that ended
        the chat; None when the person left."""
        while True:
            with self._turns.renderer.lease():
                drafts = self._next(first)
            if drafts is None:
                self._naming.end()
                return None
            first = ""
            outcome = self._turns.run(drafts)
            if self._ends(outcome):
                return outcome
            self._after(drafts, outcome)

    def _next(self, first: str) -> Optional[List[Draft]]:
        """What is asked next; None when the person leaves."""
        self._voice.separate()
        text: Optional[str] = first
        if first:
            self._voice.repeat(first)
            self._messages.remember(first)
        while True:
            text = text or self._messages.next()
            if text is None:
                return None
            try:
                done = run_line(self._place, text)
                if isinstance(done, Ask):
                    self._chat.unsaid = _without_settings(done.drafts)
                    with self._place.interruptible():
                        self._chat.settle()
                    return done.drafts
            except Exception as error:
                self._chat.log.failure(error)
                self._voice.tell_error(as_error(error))
                done = None
            except Pressed:
                self._voice.say("Interrupted; nothing has changed.")
                done = None
            if isinstance(done, Leave):
                return None
            text = None

    def _ends(self, outcome: TurnOutcome) -> bool:
        code = outcome.ending.exit_code
        self.exit_code = code or self.exit_code
        return outcome.signum is not None or self._turns.stdout_is_gone

    def _after(self, drafts: List[Draft], outcome: TurnOutcome) -> None:
        chat = self._chat
        chat.unsaid = _taken_back(drafts, chat.journal)
        try:
            chat.refresh()
        except JpqError as error:
            with self._turns.renderer.lease():
                self._voice.tell_error(error)
        self._offer_compaction(outcome)
        self._naming.after(outcome)

    def _offer_compaction(self, outcome: TurnOutcome) -> None:
        chat = self._chat
        if chat.args.quiet or chat.journal is None:
            return
        told = None
        if getattr(outcome.ending.error, "kind", None) is ErrorKind.CONTEXT_LENGTH:
            if len(chat.journal.stream.turns()) > 1:
                told = "Make the conversation shorter with /compact summary, then /retry."
        elif chat.config["conversation.compact_at"]:
            where = (chat.env.paths.cache, chat.env.environ)
            window = functools.partial(context_window, chat.model, chat.config, *where)
            limit = chat.config["conversation.compact_at"]
            told = compaction_offer(chat.journal, False, limit, window)
        if told:
            with self._turns.renderer.lease():
                self._voice.warn(in_chat_words(told))


def _taken_back(drafts: List[Draft], journal: Optional[Journal]) -> List[Draft]:
    """What was asked, if the person had it discarded with its turn."""
    entries = () if journal is None else journal.stream.entries
    kept = {id(entry.event) for entry in entries}
    asked = _without_settings(drafts)
    return [] if any(id(draft.event) in kept for draft in asked) else asked


def _without_settings(drafts: List[Draft]) -> List[Draft]:
    return [draft for draft in drafts if not isinstance(draft.event, ConfigDelta)]
