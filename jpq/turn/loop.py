"""TurnLoop: performs what the coordinator decides, on the main thread."""

from __future__ import annotations

from collections import deque
from typing import Any, Callable, Deque, List, NamedTuple, Optional, Sequence

from jpq.conversation.cycle_fold import CycleFold
from jpq.conversation.event import ChatRequest, Draft, ToolResponse, TurnEnd
from jpq.conversation.thread import Origin
from jpq.errors import JpqError
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
from jpq.tools.coordinator import ToolAnswered, ToolCoordinator
from jpq.turn import ending, seam
from jpq.turn.coordinator import Act, Answer, Phase, Trigger, TurnCoordinator
from jpq.turn.cycle import CycleTimes, ResilientCycle, RetryLimits
from jpq.turn.inbox import Inbox
from jpq.turn.narrator import Narrator
from jpq.turn.saving import Saving
from jpq.turn.tally import Tally

CUT_BY_LIMIT = "Not run: the answer was stopped ({reason}) before it was whole."


class TurnSettings(NamedTuple):
    """What a turn is allowed: ``max_cycles`` tool round trips, and the cycle's limits."""

    max_cycles: int
    times: CycleTimes
    limits: RetryLimits


class TurnLoop:
    """Runs one turn. Main thread; blocks only on the inbox.

    ``make_request(tools, continues)`` builds the request from the conversation as it is;
    ``choose(interrupt)`` is the menu: it returns CONTINUE, STOP, ABORT or RESPOND.
    """

    def __init__(
        self,
        *,
        journal: Journal,
        provider: Provider,
        model: ModelRef,
        make_request: Callable[[bool, bool], ProviderRequest],
        tools: ToolCoordinator,
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
        self._tools = tools
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
        """A signal or a failed display; True when the turn goes on."""
        if isinstance(item, Interrupt):
            return self._interrupted(item)
        if isinstance(item, DisplayFailed):
            return self._display_failed(item)
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
        if self._tally.finish_reason in (STOP, TOOL_CALLS):
            self._tools.start(calls)
        else:
            # The limit may have cut any of them, and a cut prefix can be valid JSON.
            told = CUT_BY_LIMIT.format(reason=self._tally.finish_reason)
            for call in calls:
                self._inbox.post(ToolAnswered(call.id, told, is_error=True))
        while self._coordinator.phase is Phase.EXECUTING:
            item = self._inbox.take()
            if isinstance(item, ToolAnswered):
                self._todo.extend(self._coordinator.answer(Answer(*item)))
            elif not self.disturbed(item):
                return

    def _commit_responses(self) -> None:
        names = {call.id: call.name for call in self._journal.unanswered_tool_calls()}
        answers = self._coordinator.take_answers()
        if not answers:
            return
        self._saving.commit([Draft(ToolResponse(*answer)) for answer in answers])
        for answer in answers:
            self._show(ToolResult(answer.id, names[answer.id], answer.content, answer.is_error))
        if self._coordinator.phase is Phase.CONTINUING:
            self._tell_cycle_end()
            if self._over_the_limit:
                self._ending = ending.of_cycle_limit(self._settings.max_cycles)
                self._move(Trigger.LIMIT)
            else:
                self._move(Trigger.NEXT_CYCLE)

    def _cancel(self) -> None:
        """Nothing to do: leaving a cycle ends its exchange."""

    # -- endings -----------------------------------------------------------------------

    def _interrupted(self, interrupt: Interrupt) -> bool:
        self._coordinator.handle(Trigger.INTERRUPT)
        choice = self._choose(interrupt)
        if choice is Trigger.CONTINUE:
            self._coordinator.handle(choice)
            return True
        self._signum = interrupt.signum
        self._ending = ending.of_signal(interrupt.signum)
        self._move(choice)
        return False

    def _display_failed(self, failure: DisplayFailed) -> bool:
        self._ending = ending.of_display(failure.error)
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
