"""TurnLoop: performs what the coordinator decides, on the main thread."""

from __future__ import annotations

from collections import deque
from typing import Any, Callable, Deque, List, NamedTuple, Optional, Sequence, Set

from jpq.conversation.cycle_fold import CycleFold
from jpq.conversation.event import ChatRequest, Draft, ToolResponse, TurnEnd
from jpq.conversation.thread import Origin
from jpq.errors import JpqError, RunTimeoutError
from jpq.events.parts import PAUSED, STOP, TOOL_CALLS, StreamEvent, coalesced
from jpq.events.turn import (
    Complete,
    Notice,
    TokenUpdate,
    ToolResult,
    TurnEvent,
    Waiting,
)
from jpq.interrupt.signals import Interrupt
from jpq.provider.base import Exchange, ModelRef, Provider, ProviderRequest
from jpq.render.worker import DisplayFailed
from jpq.store.journal import Journal
from jpq.tools.definition import ToolAnswered
from jpq.turn import ending, seam
from jpq.turn.calls import CallRound, Settle, cut_answers, earlier_calls
from jpq.turn.coordinator import Act, Answer, Phase, Trigger, TurnCoordinator
from jpq.turn.cycle import CycleTimes, ResilientCycle, RetryLimits
from jpq.turn.inbox import Inbox
from jpq.turn.narrator import Narrator
from jpq.turn.saving import Saving
from jpq.turn.tally import Tally


class TurnSettings(NamedTuple):
    """What a turn is allowed: ``max_cycles`` tool round trips, and the cycle's limits."""

    max_cycles: int
    times: CycleTimes
    limits: RetryLimits


class TurnLoop:
    """Runs one turn. Main thread; blocks only on the inbox.

    ``make_request(tools, continues)`` builds the request from the conversation as it is;
    ``open_round(settle)`` is called for the first calls, and makes what runs them;
    ``choose(interrupt)`` is the menu: it returns CONTINUE, STOP, ABORT or RESPOND.
    """

    def __init__(
        self,
        *,
        journal: Journal,
        provider: Provider,
        model: ModelRef,
        make_request: Callable[[bool, bool], ProviderRequest],
        open_round: Callable[[Settle], CallRound],
        inbox: Inbox,
        show: Callable[[TurnEvent], None],
        settings: TurnSettings,
        choose: Callable[[Interrupt], Trigger],
    ) -> None:
        self._journal = journal
        self._saving = Saving(journal, show)
        self._provider = provider
        self._model = model
        self._origin = Origin(*model)
        self._make_request = make_request
        self._open_round = open_round
        self._round: Optional[CallRound] = None
        self._settled: Set[str] = set()  # calls whose answers are in the journal
        self._inbox = inbox
        self._show = show
        self._settings = settings
        self._choose = choose
        self._coordinator = TurnCoordinator()
        self._cycle = ResilientCycle(inbox, self, settings.times, settings.limits)
        self._fold = CycleFold(self._origin)
        self._narrator = Narrator(show)
        self._todo: Deque[Act] = deque()
        self._tally = Tally()
        self._continues = False
        self._cycles = 0
        self._ending: Optional[ending.Ending] = None
        self._signum: Optional[int] = None

    def run(self, requests: Sequence[Draft]) -> ending.TurnOutcome:
        """Commit ``requests`` and answer them; without a question, the unfinished turn."""
        self._saving.begin_turn()
        if requests:
            self._saving.commit(requests)
        self._continues = not any(isinstance(draft.event, ChatRequest) for draft in requests)
        self._move(Trigger.START)
        perform = {
            Act.SEND: self._stream_cycle,
            Act.COMMIT_CYCLE: self._commit_cycle,
            Act.KEEP_PARTIAL: self._keep_partial,
            Act.RUN_TOOLS: self._run_tools,
            Act.COMMIT_RESPONSES: self._commit_responses,
            Act.RESTART_TOOLS: self._restart_tools,
            Act.CANCEL: self._cancel,
            Act.ROLL_BACK: self._saving.roll_back,
            Act.END_TURN: self._end_turn,
        }
        while self._todo:
            perform[self._todo.popleft()]()
        assert self._ending is not None
        return ending.TurnOutcome(
            ending=self._ending,
            finish_reason=self._tally.finish_reason,
            text=self._tally.text,
            usage=self._tally.usage,
            model=self._tally.served,
            signum=self._signum,
        )

    def _move(self, trigger: Trigger) -> None:
        self._todo.extend(self._coordinator.handle(trigger))

    # -- one cycle ---------------------------------------------------------------------

    def _stream_cycle(self) -> None:
        self._show(Waiting(str(self._model)))
        try:
            finished = self._cycle.run(self._open_exchange)
        except JpqError as error:
            self._ending = ending.of_error(error)
            self._move(Trigger.FAILED)
            return
        if finished:
            self._move(Trigger.FINISHED)

    def _open_exchange(self) -> Exchange:
        tools = self._cycles < self._settings.max_cycles
        request = self._make_request(tools, self._continues)
        self._fold = CycleFold(self._origin)
        self._saving.begin_cycle(self._origin)
        self._narrator.attempt_begins(continues=request.thread.continues)
        self._continues = request.thread.continues
        return seam.joined(self._provider.exchange(request), request.thread)

    def received(self, events: List[StreamEvent]) -> None:
        """Keep events, then show them: what is on the screen is always on the disk."""
        for act in self._coordinator.handle(Trigger.RECEIVED):
            assert act is Act.SHOW
            joined = coalesced(events)
            self._saving.record(joined)
            for event in joined:
                self._narrator.tell(event)
                self._fold.feed(event)

    def retrying(self, retry: Any) -> None:
        """Keep what was shown, and say why and when the next attempt is made."""
        for act in self._coordinator.handle(Trigger.RETRY):
            assert act is Act.KEEP_PARTIAL
            self._keep_partial()
        self._continues = True
        why = retry.error.message.rstrip(".")
        attempt = f"{retry.attempt} of {retry.max_attempts}"
        self._show(Notice(f"{why}. Attempt {attempt} in {retry.wait_s:.1f} s."))
        self._show(Waiting(f"attempt {attempt}"))

    def disturbed(self, item: Any) -> bool:
        """A signal, a failed display or the end of the time; True when the turn goes on."""
        if isinstance(item, Interrupt):
            return self._interrupted(item)
        if isinstance(item, DisplayFailed):
            return self._ends(ending.of_display(item.error))
        if isinstance(item, RunTimeoutError):
            return self._ends(ending.of_error(item))
        return True

    def _commit_cycle(self) -> None:
        response = self._take_response()
        self._saving.commit(self._fold.drafts())
        self._fold = CycleFold(self._origin)
        self._cycles += 1
        calls = self._journal.unanswered_tool_calls()
        if response.stop_reason == PAUSED and not calls and not self._over_the_limit:
            self._continues = True
            self._tell_cycle_end()
            self._move(Trigger.PAUSED)
            return
        if not calls:
            self._ending = ending.of_response(response, self._tally.last_text)
            self._tell_cycle_end()
        self._todo.extend(self._coordinator.evaluate(tuple(call.id for call in calls)))

    def _keep_partial(self) -> None:
        drafts = self._fold.drafts()
        if drafts:
            self._take_response()
            self._saving.commit(drafts)
        else:
            self._saving.forget()
        self._fold = CycleFold(self._origin)

    def _take_response(self) -> Any:
        """The attempt's response, with its text, usage and model added to the turn's."""
        response = self._fold.response()
        self._tally.add(response, self._continues)
        self._continues = False
        return response

    # -- calls -------------------------------------------------------------------------

    def _run_tools(self) -> None:
        calls = self._journal.unanswered_tool_calls()
        self._settled.clear()
        if self._tally.finish_reason not in (STOP, TOOL_CALLS):
            answers = cut_answers(calls, self._tally.finish_reason)
            self._settle(answers, [])
            for call, answer in zip(calls, answers):
                self._show(ToolResult(call.id, call.name, answer.content, answer.is_error))
            return
        if self._round is None:
            self._round = self._open_round(self._settle)
        self._round.start(calls, earlier_calls(self._journal.stream, len(calls)))
        self._attend_calls()

    def _attend_calls(self) -> None:
        assert self._round is not None
        while self._coordinator.phase is Phase.EXECUTING:
            item = self._round.attend()
            if item is not None and not self.disturbed(item):
                return

    def _restart_tools(self) -> None:
        assert self._round is not None
        self._round.restart()
        self._attend_calls()

    def _settle(self, answers: List[ToolAnswered], drafts: List[Draft]) -> None:
        """Keep what has come of calls, as soon as it is there."""
        for answer in answers:
            told = Answer(answer.id, answer.content, answer.is_error)
            self._todo.extend(self._coordinator.answer(told))
            self._settled.add(answer.id)
            drafts.append(Draft(ToolResponse(*told)))
        self._saving.commit(drafts)

    def _commit_responses(self) -> None:
        names = {call.id: call.name for call in self._journal.unanswered_tool_calls()}
        left = [each for each in self._coordinator.take_answers() if each.id not in self._settled]
        if left:
            self._saving.commit([Draft(ToolResponse(*answer)) for answer in left])
        for id, content, is_error in left:
            self._show(ToolResult(id, names[id], content, is_error))
        if self._coordinator.phase is not Phase.CONTINUING:
            return
        self._tell_cycle_end()
        if self._round is not None and self._round.denied is not None:
            self._ending = ending.of_denied(self._round.denied)
        elif self._over_the_limit:
            self._ending = ending.of_cycle_limit(self._settings.max_cycles)
        self._move(Trigger.NEXT_CYCLE if self._ending is None else Trigger.LIMIT)

    def _cancel(self) -> None:
        """Stop the calls that run; leaving a cycle has ended its exchange."""
        if self._round is not None:
            self._round.cancel()

    # -- endings -----------------------------------------------------------------------

    def _interrupted(self, interrupt: Interrupt) -> bool:
        self._coordinator.handle(Trigger.INTERRUPT)
        choice = self._choose(interrupt)
        if choice is Trigger.CONTINUE:
            self._move(choice)
            return True
        self._signum = interrupt.signum
        self._ending = ending.of_signal(interrupt.signum)
        self._move(choice)
        return False

    def _ends(self, reason: ending.Ending) -> bool:
        self._ending = reason
        self._coordinator.handle(Trigger.INTERRUPT)
        self._move(Trigger.STOP)
        return False

    def _end_turn(self) -> None:
        assert self._ending is not None
        tally, status = self._tally, self._ending.status
        end = TurnEnd(status, tally.finish_reason, tally.usage.to_json(), tally.served)
        self._saving.commit([Draft(end)])
        if self._saving.error is not None and self._ending.exit_code == 0:
            self._ending = self._ending._replace(exit_code=int(self._saving.error.exit_code))
        if self._signum is not None and self._saving.error is None and self._journal.id:
            self._show(Notice(ending.STOPPED_AND_SAVED))

    @property
    def _over_the_limit(self) -> bool:
        return self._cycles > self._settings.max_cycles

    def _tell_cycle_end(self) -> None:
        self._show(Complete(self._tally.finish_reason or ""))
        self._show(TokenUpdate(self._tally.last_usage))
