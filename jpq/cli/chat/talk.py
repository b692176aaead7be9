"""Talk: messages in, turns out, until the person leaves."""

from __future__ import annotations

from typing import List, Optional, Protocol

from jpq.cli.chat.commands import run_line
from jpq.cli.chat.place import Ask, Leave, Place
from jpq.cli.chat.signals import Pressed
from jpq.cli.chat.turns import Turns
from jpq.cli.conversation_offer import compaction_offer, context_window
from jpq.conversation.event import ChatRequest, Draft
from jpq.errors import ErrorKind, ExitCode, JpqError
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
        self.exit_code = 0  # of the last turn that failed

    def run(self, first: str) -> Optional[TurnOutcome]:
        """Talk, beginning with the message ``first`` unless it is empty. The turn that ended
        the chat; None when the person left."""
        while True:
            with self._turns.renderer.lease():
                drafts = self._next(first)
            if drafts is None:
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
        while True:
            text = text or self._messages.next()
            if text is None:
                return None
            try:
                done = run_line(self._place, text)
            except JpqError as error:
                self._voice.tell_error(error)
                done = None
            except Pressed:
                self._voice.say("Interrupted; nothing has changed.")
                done = None
            if isinstance(done, Leave):
                return None
            if isinstance(done, Ask):
                return done.drafts
            text = None

    def _ends(self, outcome: TurnOutcome) -> bool:
        code = outcome.ending.exit_code
        self.exit_code = code or self.exit_code
        return outcome.signum is not None or self._turns.stdout_is_gone

    def _after(self, drafts: List[Draft], outcome: TurnOutcome) -> None:
        chat = self._chat
        questions = [draft for draft in drafts if isinstance(draft.event, ChatRequest)]
        was_taken_back = outcome.ending.exit_code == ExitCode.INTERRUPT
        chat.unsaid = questions[-1] if questions and was_taken_back else None
        try:
            chat.refresh()
        except JpqError as error:
            with self._turns.renderer.lease():
                self._voice.tell_error(error)
        self._offer_compaction(outcome)

    def _offer_compaction(self, outcome: TurnOutcome) -> None:
        chat = self._chat
        too_long = getattr(outcome.ending.error, "kind", None) is ErrorKind.CONTEXT_LENGTH
        limit = chat.config["conversation.compact_at"]
        if chat.args.quiet or not (too_long or limit):
            return
        line = compaction_offer(
            chat.journal,
            too_long,
            limit,
            lambda: context_window(chat.model, chat.config, chat.env.paths.cache, chat.env.environ),
        )
        if line:
            with self._turns.renderer.lease():
                self._voice.warn(line)
