"""TurnLoop: performs what the coordinator decides, on the main thread."""

from __future__ import annotations

import importlib
from collections import deque
from typing import TYPE_CHECKING, Any, Callable, Deque, List, Optional, Sequence

from jpq.conversation.cycle_fold import CycleFold
from jpq.conversation.event import ChatRequest, Draft
from jpq.conversation.thread import Origin
from jpq.errors import JpqError, RunTimeoutError
from jpq.events.parts import StreamEvent, coalesced
from jpq.events.turn import Notice, TurnEvent, Waiting
from jpq.interrupt.signals import Interrupt
from jpq.named import NamedTuple
from jpq.provider.base import Exchange, ModelRef, Provider, ProviderRequest
from jpq.render.worker import DisplayFailed
from jpq.store.journal import Journal
from jpq.turn import ending, seam
from jpq.turn.allowance import Allowance, TurnLimits
from jpq.turn.call_phase import CallPhase
from jpq.turn.calls import CallRound, Settle
from jpq.turn.coordinator import Act, Phase, Trigger, TurnCoordinator
from jpq.turn.cycle import CycleTimes, ResilientCycle, RetryLimits
from jpq.turn.inbox import Inbox, StopAsked
from jpq.turn.narrator import Narrator
from jpq.turn.saving import Saving
from jpq.turn.tally import Tally

if TYPE_CHECKING:
    from jpq.turn.demand import Demand
    from jpq.turn.interruption import Decision, Menus


class TurnSettings(NamedTuple):
    """What a turn is allowed, and each of its cycles; and what its answer must be."""

    turn: TurnLimits
    times: CycleTimes
    limits: RetryLimits
    demand: Optional[Demand] = None


class TurnLoop:
    """Runs one turn. Main thread; blocks only on the inbox.

    ``make_request(tools, continues)`` builds the request from the conversation as it is;
    ``open_round(settle)`` is called for the first calls, and makes what runs them;
    ``menus`` asks the person what a press of Ctrl+C is to do.
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
        menus: Menus,
    ) -> None:
        self._journal = journal
        self._saving = Saving(journal, show)
        self._provider = provider
        self._model = model
        self._origin = Origin(*model)
        self._make_request = make_request
        self._inbox, self._menus = inbox, menus
        self._show = show
        self._settings = settings
        self._coordinator = TurnCoordinator()
        self._words = ""  # what the person typed in a menu, and the calls chosen there
        self._chosen_calls: Sequence[str] = ()
        self._calls = CallPhase(
            journal=journal,
            saving=self._saving,
            coordinator=self._coordinator,
            open_round=open_round,
            show=show,
            follow=lambda acts: self._todo.extend(acts),
            disturbed=self.disturbed,
        )
        self._cycle = ResilientCycle(inbox, self, settings.times, settings.limits)
        self._fold = CycleFold(self._origin)
        self._narrator = Narrator(show)
        self._todo: Deque[str] = deque()
        self._tally = Tally()
        self._continues = False
        retries = settings.limits.max_attempts > 1
        self._allowance = Allowance(settings.turn, settings.demand, retries, menus, inbox, show)
        self._ending: Optional[ending.Ending] = None
        self._signum: Optional[int] = None

    def run(self, requests: Sequence[Draft]) -> ending.TurnOutcome:
        """Commit ``requests`` and answer them; without a question, the unfinished turn."""
        self._saving.begin_turn(requests)
        self._continues = not any(isinstance(draft.event, ChatRequest) for draft in requests)
        self._move(Trigger.START)
        perform = {
            Act.SEND: self._stream_cycle,
            Act.COMMIT_CYCLE: self._commit_cycle,
            Act.KEEP_PARTIAL: self._keep_partial,
            Act.RUN_TOOLS: lambda: self._calls.run(self._tally.finish_reason),
            Act.COMMIT_RESPONSES: self._commit_responses,
            Act.RESTART_TOOLS: lambda: self._calls.restart(self._chosen_calls),
            Act.CANCEL: self._calls.cancel,
            Act.ROLL_BACK: lambda: self._saving.roll_back(self._calls.outputs),
            Act.NEW_REQUEST: self._new_request,
            Act.END_TURN: self._end_turn,
        }
        while self._todo:
            perform[self._todo.popleft()]()
        assert self._ending is not None
        return self._tally.outcome(self._ending, self._signum, self._settings.demand)

    def _move(self, trigger: str) -> None:
        self._todo.extend(self._coordinator.handle(trigger))

    # -- one cycle ---------------------------------------------------------------------

    def _stream_cycle(self) -> None:
        self._show(Waiting(str(self._model)))
        try:
            finished = self._cycle.run(self._open_exchange)
        except JpqError as error:
            self._ending = ending.of_failure(error, saved=self._journal.id is not None)
            self._move(Trigger.FAILED)
            return
        if finished:
            self._move(Trigger.FINISHED)

    def _open_exchange(self) -> Exchange:
        request = self._make_request(self._allowance.tools, self._continues)
        self._fold = CycleFold(self._origin)
        self._saving.begin_cycle(self._origin)
        self._narrator.attempt_begins(continues=request.thread.continues)
        self._continues = request.thread.continues
        self._tally.goes_on_from = seam.open_end(request.thread)
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
        self._keep_for_next_attempt()
        self._narrator.retrying(retry)

    def disturbed(self, item: Any) -> bool:
        """A signal, a failed display or the end of the time; True when the turn goes on."""
        if isinstance(item, Interrupt) and self._coordinator.phase is not Phase.INTERRUPTED:
            return self._interrupted(item)
        if isinstance(item, Interrupt):  # it was chosen, or came while a menu was open
            self._signum = item.signum
            return self._ends(ending.of_signal(item.signum))
        if isinstance(item, StopAsked):
            return self._ends(ending.of_choice(saved=True))
        if isinstance(item, DisplayFailed):
            return self._ends(ending.of_display(item.error))
        if isinstance(item, RunTimeoutError):
            return self._ends(ending.of_error(item))
        return True

    def resuming(self, error: JpqError) -> None:
        """Keep what was shown, and say why the provider is asked to go on."""
        self._keep_for_next_attempt()
        self._narrator.resuming(error)

    def _commit_cycle(self) -> None:
        response = self._take_response()
        reached = ending.of_response(response, self._tally.last_text)
        drafts, demand = self._fold.drafts(), self._settings.demand
        if demand is not None and reached.exit_code == 0 and not response.tool_calls:
            drafts = demand.judge(drafts, self._journal.stream.entries)
            reached = demand.ending(reached)
        self._saving.commit(drafts)
        self._fold = CycleFold(self._origin)
        self._allowance.count()
        calls = self._journal.unanswered_tool_calls()
        if not calls:
            self._ending = reached
            self._narrator.cycle_ended(self._tally, reached.notice)
            if self._goes_on(response.stop_reason):
                return
        self._todo.extend(self._coordinator.evaluate(tuple(call.id for call in calls)))

    def _goes_on(self, stop_reason: Optional[str]) -> bool:
        """Send again what calls for it; whether it does."""
        assert self._ending is not None
        trigger = self._allowance.sequel(self._ending, stop_reason, self._tally)
        if trigger in (Trigger.EMPTY, Trigger.UNFIT):
            self._narrator.asking_again(self._ending.error)
        if trigger is not None:
            self._ending, self._continues = None, True
            self._move(trigger)
        return trigger is not None

    def _keep_partial(self) -> None:
        drafts = self._fold.drafts()
        if drafts:
            self._take_response()
            self._saving.commit(drafts)
        else:
            self._saving.forget()
        self._fold = CycleFold(self._origin)

    def _keep_for_next_attempt(self) -> None:
        for act in self._coordinator.handle(Trigger.RETRY):
            assert act is Act.KEEP_PARTIAL
            self._keep_partial()
        self._continues = True

    def _take_response(self) -> Any:
        """The attempt's response, with its text, usage and model added to the turn's."""
        response = self._fold.response()
        self._tally.add(response, self._continues)
        self._continues = False
        return response

    # -- calls -------------------------------------------------------------------------

    def _commit_responses(self) -> None:
        self._calls.commit_left()
        if self._coordinator.phase is not Phase.CONTINUING:
            return
        if self._words:  # what the person wants the model to know goes with them
            self._saving.commit([Draft(ChatRequest(self._words))])
            self._words = ""
        self._narrator.cycle_ended(self._tally)
        if self._calls.denied is not None:
            self._ending = ending.of_denied(self._calls.denied)
        else:
            self._ending = self._allowance.exceeded(self._tally)
        if self._attend_to_signals():
            self._move(Trigger.NEXT_CYCLE if self._ending is None else Trigger.LIMIT)

    def _attend_to_signals(self) -> bool:
        """Deal with what came in between two phases; True when the turn goes on."""
        while (item := self._inbox.take_ready()) is not None:
            if not self.disturbed(item):
                return False
        return True

    # -- endings -----------------------------------------------------------------------

    def _interrupted(self, interrupt: Interrupt) -> bool:
        """Do what the person chooses; True when the phase goes on."""
        # Of no use to the many turns that nobody interrupts.
        module = importlib.import_module("jpq.turn.interruption")
        decision: Decision = module.Interruption(
            self._coordinator, self._menus, self._cycle, self._calls, self._inbox
        ).decide(interrupt)
        self._words, self._chosen_calls = decision.words, decision.calls
        if decision.item is not None:
            return self.disturbed(decision.item)
        self._move(decision.trigger)
        if decision.trigger is Trigger.CONTINUE:
            if decision.hurry:
                self._cycle.hurry()
            return True
        if self._coordinator.ended or decision.trigger is Trigger.REPLIED:
            self._ending = ending.of_choice(saved=decision.trigger is not Trigger.ABORT)
        return False

    def _new_request(self) -> None:
        """The person's reply is a turn of its own."""
        self._narrator.cycle_ended(self._tally)
        self._tally, self._ending = Tally(), None
        self._allowance.renew()
        self._calls.outputs.clear()
        self._saving.begin_turn([Draft(ChatRequest(self._words))])
        self._words, self._continues = "", False

    def _ends(self, reason: ending.Ending) -> bool:
        self._ending = reason
        if self._coordinator.phase is not Phase.INTERRUPTED:
            self._coordinator.handle(Trigger.INTERRUPT)
        self._move(Trigger.STOP)
        return False

    def _end_turn(self) -> None:
        self._ending = self._tally.settled(self._ending, self._settings.demand)
        self._saving.commit([Draft(self._tally.turn_end(self._ending.status))])
        if self._saving.error is not None and self._ending.exit_code == 0:
            self._ending = self._ending._replace(exit_code=int(self._saving.error.exit_code))
        saved = self._saving.error is None and self._journal.id
        if saved and ending.was_stopped(self._ending) and Act.NEW_REQUEST not in self._todo:
            self._show(Notice(ending.STOPPED_AND_SAVED))
