"""Turns: runs one turn after the other over one renderer."""

from __future__ import annotations

import time
from typing import Any, List, Optional

from jpq.cli.chat.signals import PromptSignals
from jpq.cli.chat.state import Chat
from jpq.cli.chat.wording import as_in_chat
from jpq.cli.early_end import with_late_signal
from jpq.cli.failure import as_error, tell_traceback
from jpq.cli.log import LoggedRenderer
from jpq.conversation.event import Draft
from jpq.errors import JpqError
from jpq.events.turn import Error, Result, TurnEvent
from jpq.events.usage import Usage
from jpq.interrupt.signals import SignalRouter, is_key
from jpq.render.worker import DisplayFailed, View
from jpq.session import TurnSetup, run_turn
from jpq.tools.toolset import Toolset
from jpq.turn.calls import Surroundings
from jpq.turn.ending import TurnOutcome, of_display, of_error
from jpq.turn.inbox import Inbox

_FLUSH_WAIT_S = 5.0
_CLOSE_WAIT_S = 0.2


class Turns:
    """Owns the renderer. Main thread."""

    def __init__(
        self, chat: Chat, view: View, router: SignalRouter, signals: PromptSignals
    ) -> None:
        self._chat = chat
        self._router = router
        self._signals = signals
        self._inbox = Inbox()
        self._broken: Optional[BaseException] = None  # why stdout takes nothing any more
        self.renderer = _ChatRenderer(chat.log, view, self._post)

    def run(self, requests: List[Draft]) -> TurnOutcome:
        """Run a turn and show it. What a fault in it does is told like any other failure."""
        chat = self._chat
        # A reader that was left behind has the inbox of its own turn.
        self._inbox = Inbox()
        if self._broken is not None:
            return _nothing(of_display(self._broken))
        try:
            with self._router.scope(self._inbox.post):
                early = self._signals.take_early()
                if early is not None:
                    self._inbox.post(early)
                outcome = run_turn(
                    self._setup(), requests, self._inbox, self.renderer, self._router
                )
            return self._logged(self._with_late_signal(outcome))
        except Exception as error:
            chat.log.failure(error)
            ending = of_error(as_error(error))
            self._tell(error)
            return self._with_late_signal(_nothing(ending))
        finally:
            self._router.escalation.reset()

    def _with_late_signal(self, outcome: TurnOutcome) -> TurnOutcome:
        """A signal that came when all was shown counts, too; but a first press that came when all
        was saved leads back to the prompt."""
        router, outcome = self._router, with_late_signal(outcome, self._inbox)
        late = outcome.signum is not None and is_key(outcome.signum)
        if late and router.prompt_follows and not router.escalation.is_ending:
            return outcome._replace(signum=None)
        return outcome

    def _logged(self, outcome: TurnOutcome) -> TurnOutcome:
        self._chat.log.info(
            "a turn ended: %s, finish reason %s, exit code %d, served by %s, %s",
            outcome.ending.status,
            outcome.finish_reason,
            outcome.ending.exit_code,
            outcome.model,
            outcome.usage.to_json() or "no usage reported",
        )
        return outcome

    def close(self) -> None:
        """Write what is left, and end the renderer."""
        self.renderer.close(_CLOSE_WAIT_S)

    def _setup(self) -> TurnSetup:
        chat, args, env = self._chat, self._chat.args, self._chat.env
        assert chat.journal is not None, "asking opens the conversation"
        answering = chat.answering
        limit = chat.config["request.total_timeout_s"]
        return TurnSetup(
            config=chat.config,
            model=chat.model,
            provider=answering.provider,
            journal=chat.journal,
            stream=not args.no_stream,
            deadline=None if limit is None else time.monotonic() + limit,
            toolset=answering.toolset,
            tool_choice=_tool_choice(args.tool_choice, answering.toolset),
            surroundings=Surroundings(
                environ=env.environ,
                cwd=env.cwd,
                folder=chat.journal.folder,
                interactive=chat.asks,
                yes=args.yes,
            ),
            menus=chat.asks and not args.no_menu,
        )

    def _tell(self, error: Exception) -> None:
        told: JpqError = as_error(error)
        ending = of_error(told)
        self.renderer.show(Error(told.word, told.message, told.where, told.hint))
        self.renderer.show(Result(ending.status, "", None, Usage(), None, ending.exit_code))
        self.renderer.flush(_FLUSH_WAIT_S)
        if self._chat.args.verbose > 1:
            tell_traceback(self._chat.env, error)

    def _post(self, item: Any) -> None:
        """On the renderer thread, also between two turns."""
        if isinstance(item, DisplayFailed) and isinstance(item.error, OSError):
            self._broken = item.error
        self._inbox.post(item)

    @property
    def stdout_is_gone(self) -> bool:
        """Whether no answer can be shown any more."""
        return self._broken is not None


class _ChatRenderer(LoggedRenderer):
    """Says what to do next in the words of a chat."""

    def show(self, event: TurnEvent) -> None:
        """Queue ``event``."""
        super().show(as_in_chat(event))


def _nothing(ending: Any) -> TurnOutcome:
    return TurnOutcome(ending, None, "", Usage(), None)


def _tool_choice(choice: Optional[str], toolset: Toolset) -> Optional[str]:
    """``--tool-choice``, while the tool that it names is offered."""
    named = choice not in (None, "auto", "required", "none")
    return None if named and choice not in toolset.tools else choice
