"""CallPhase: the calls of a cycle, from the model's request to the answers in the conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, List, Optional, Sequence, Set, Tuple

from jpq.conversation.attachment import as_metadata
from jpq.conversation.event import Draft, ToolResponse
from jpq.errors import DeniedError
from jpq.events.parts import STOP, TOOL_CALLS
from jpq.events.turn import ToolResult, TurnEvent
from jpq.store.journal import Journal
from jpq.turn.calls import CallRound, Settle, cut_answers, earlier_calls
from jpq.turn.coordinator import Answer, Phase, TurnCoordinator
from jpq.turn.saving import Saving

if TYPE_CHECKING:
    from jpq.tools.definition import ToolAnswered


class CallPhase:
    """Runs calls, and keeps each answer as soon as it is there. Main thread.

    ``follow`` is given the acts that an answer leads to. ``disturbed`` is asked about what is
    none of the tools': False leaves the phase.
    """

    def __init__(
        self,
        *,
        journal: Journal,
        saving: Saving,
        coordinator: TurnCoordinator,
        open_round: Callable[[Settle], CallRound],
        show: Callable[[TurnEvent], None],
        follow: Callable[[Sequence[str]], None],
        disturbed: Callable[[Any], bool],
    ) -> None:
        self._journal = journal
        self._saving = saving
        self._coordinator = coordinator
        self._open_round = open_round
        self._show = show
        self._follow = follow
        self._disturbed = disturbed
        self._round: Optional[CallRound] = None
        self._settled: Set[str] = set()  # calls whose answers are in the journal
        self.outputs: List[str] = []  # files that hold whole outputs of this turn

    @property
    def denied(self) -> Optional[DeniedError]:
        """Why no further request may be made, if so."""
        return None if self._round is None else self._round.denied

    def run(self, finish_reason: Optional[str]) -> None:
        """Run the calls of the cycle that ended for ``finish_reason``, until all are answered
        or the phase is left."""
        calls = self._journal.unanswered_tool_calls()
        self._settled.clear()
        if finish_reason not in (STOP, TOOL_CALLS):
            for answer in cut_answers(calls, finish_reason):
                self._follow(self._coordinator.answer(answer))
            return
        if self._round is None:
            self._round = self._open_round(self._settle)
        self._round.start(calls, earlier_calls(self._journal.stream, len(calls)))
        self._attend(self._round)

    def restart(self, ids: Sequence[str]) -> None:
        """Stop these calls and run them again; then go on as in ``run``."""
        assert self._round is not None
        self._round.restart(ids)
        self._attend(self._round)

    def running(self) -> Sequence[Tuple[str, str]]:
        """The calls that could be restarted, and their titles."""
        return () if self._round is None else self._round.running()

    def behind(self) -> Any:
        """While a menu is open: go on; the first item that is none of the tools', or None."""
        return None if self._round is None else self._round.behind()

    def cancel(self) -> None:
        """Give up what runs."""
        if self._round is not None:
            self._round.cancel()

    def commit_left(self) -> None:
        """Answer what has no answer yet, so that every call has one."""
        names = {call.id: call.name for call in self._journal.unanswered_tool_calls()}
        left = [each for each in self._coordinator.take_answers() if each.id not in self._settled]
        if left:
            self._saving.commit([Draft(ToolResponse(*answer)) for answer in left])
        for id, content, is_error in left:
            self._show(ToolResult(id, names[id], content, is_error))

    def _attend(self, calls: CallRound) -> None:
        try:
            while self._coordinator.phase is Phase.EXECUTING:
                item = calls.attend()
                if item is not None and not self._disturbed(item):
                    return
        finally:
            calls.hand_back()

    def _settle(self, answers: List[ToolAnswered], drafts: List[Draft]) -> None:
        for answer in answers:
            told = Answer(answer.id, answer.content, answer.is_error)
            self._follow(self._coordinator.answer(told))
            self._settled.add(answer.id)
            self.outputs += [answer.full_output] if answer.full_output else []
            drafts.append(Draft(ToolResponse(*told), as_metadata(answer.attachments)))
        self._saving.commit(drafts)
