"""ToolCoordinator: gives every call the model makes its one answer.

calls ─▶ refused at once
     └─▶ permission ─▶ worker ─▶ delivery ─▶ answer
            (prompt)   (its questions) (prompt)
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from jpq.conversation.event import ConfigDelta, Draft, InquiryRequest, InquiryResponse, ToolCall
from jpq.errors import DeniedError
from jpq.events.turn import ToolEnded, ToolStarted, TurnEvent
from jpq.interrupt.prompt import NobodyAnswers, PromptLeft
from jpq.tools import texts
from jpq.tools.admission import Admission, Refusal
from jpq.tools.consent import Asker
from jpq.tools.definition import EDIT, SKIP, Tool, ToolAnswered
from jpq.tools.executor import ACTIVE, RESTARTED, State, Step, ToolExecutor, ToolFinished
from jpq.tools.launcher import Launcher
from jpq.tools.permission import ALLOW, Permissions
from jpq.tools.questions import Asked, Questions, TakenBack

_STOP_MARGIN_S = 0.5
_WAITING = (State.AWAITING_PERMISSION, State.AWAITING_INPUT, State.AWAITING_DELIVERY)


class ToolCoordinator:
    """The calls of one cycle at a time. Main thread.

    Whoever drives it hands it each item of the inbox (``take``), opens a prompt while one
    is due (``prompt``), and collects what has come of it (``take_answers``,
    ``take_drafts``). ``asker`` is None where nobody can be asked.
    """

    def __init__(
        self,
        tools: Mapping[str, Tool],
        permissions: Permissions,
        asker: Optional[Asker],
        launcher: Launcher,
        show: Callable[[TurnEvent], None],
    ) -> None:
        self._tools = tools
        self._permissions = permissions
        self._admission = Admission(tools, permissions)
        self._asker = asker
        self._launcher = launcher
        self._show = show
        self._executors: Dict[str, ToolExecutor] = {}
        self._questions = Questions()
        self._number = 0  # of the question asked last
        self._answers: List[ToolAnswered] = []
        self._drafts: List[Draft] = []
        self.denied: Optional[DeniedError] = None  # why the turn must end, if it must

    @property
    def idle(self) -> bool:
        """Whether every call has its answer."""
        return all(executor.ended for executor in self._executors.values())

    @property
    def stops_within_s(self) -> float:
        """How long it takes at most until every call has its answer after ``cancel``."""
        running = (each.tool.stops_within_s for each in self._in(*ACTIVE))
        return _STOP_MARGIN_S + max(running, default=0.0)

    def take_answers(self) -> List[ToolAnswered]:
        """The answers since the last time, as they came."""
        answers, self._answers = self._answers, []
        return answers

    def take_drafts(self) -> List[Draft]:
        """What else the conversation is to keep: questions, what was decided for all of it."""
        changes = self._permissions.take_changes()
        drafts, self._drafts = self._drafts, []
        return drafts + ([Draft(ConfigDelta(dict(changes)))] if changes else [])

    def start(self, calls: Sequence[ToolCall], earlier: Sequence[ToolCall] = ()) -> None:
        """Begin all ``calls``. ``earlier`` are the calls of the same turn before them."""
        self.denied = None
        self._executors = {
            call.id: ToolExecutor(call, self._tools.get(call.name)) for call in calls
        }
        can_ask = self._asker is not None
        for executor in self._executors.values():
            judged = self._admission.judge(executor.call, earlier, can_ask)
            if isinstance(judged, Refusal):
                self._answers.append(executor.refuse(*judged))
            else:
                executor.decision = judged
        pending = [each for each in self._executors.values() if not each.ended]
        asks_for = next(filter(self._needs_person, pending), None)
        if asks_for is not None and not can_ask:
            self._deny(pending, asks_for)
            return
        for executor in pending:
            if executor.decision.action == ALLOW:
                self._begin(executor, executor.arguments, edited=False)
            else:
                executor.step(Step.ASK)

    def _needs_person(self, executor: ToolExecutor) -> bool:
        return executor.decision.action != ALLOW or self._admission.asks_before_delivery(
            executor.tool
        )

    def _deny(self, pending: Sequence[ToolExecutor], asks_for: ToolExecutor) -> None:
        """Nobody can be asked, so none of ``pending`` is run."""
        told = texts.NOT_ALLOWED.format(asked=asks_for.call.name)
        for executor in pending:
            self._answers.append(executor.refuse(told, is_error=True))
        self.denied = self._admission.denied(asks_for.tool, asks_for.decision)

    # -- what comes from the threads ---------------------------------------------------

    def take(self, item: Any) -> bool:
        """Take an item of the inbox; False if it is none of the tools'."""
        if isinstance(item, ToolFinished):
            self._finished(item)
        elif isinstance(item, Asked):
            self._take_question(item)
        elif isinstance(item, TakenBack):
            self._drop_question(item.asked)
        else:
            return False
        return True

    def _finished(self, finished: ToolFinished) -> None:
        executor = self._active(finished.id, finished.run)
        if executor is None:
            return
        self._questions.drop(executor.id)
        if executor.token.reason == RESTARTED:
            executor.begin_again(finished.seconds)
            self._launch(executor)
            return
        self._show(ToolEnded(executor.id))
        mode = self._permissions.result_mode(executor.tool)
        answer = executor.finish(finished, mode, can_ask=self._asker is not None)
        self._answers += [answer] if answer is not None else []

    def _take_question(self, asked: Asked) -> None:
        executor = self._active(asked.id, asked.run)
        if executor is None:
            asked.fail("the call was given up")
        elif asked.question.text in executor.remembered:
            asked.answer(executor.remembered[asked.question.text])
        elif self._asker is None:
            asked.fail("nobody can be asked in this run")
        else:
            if executor.state is State.RUNNING:
                executor.step(Step.ASKS)
            self._questions.add(asked)

    def _drop_question(self, asked: Asked) -> None:
        if asked not in self._questions:
            return
        self._questions.remove(asked)
        executor = self._executors[asked.id]
        if executor.state is State.AWAITING_INPUT and self._questions.of(asked.id) is None:
            executor.step(Step.ANSWERED)

    # -- prompts -----------------------------------------------------------------------

    @property
    def prompt_due(self) -> bool:
        """Whether the person is to be asked something."""
        return self._next_to_ask() is not None

    def prompt(self, meanwhile: Callable[[], None]) -> None:
        """Open the prompt that is due, the first in request order. ``meanwhile`` goes on
        with the rest while the person thinks; what it raises ends the prompt unanswered.

        Where nobody answers any more, what can only be asked is settled without.
        """
        executor = self._next_to_ask()
        assert executor is not None and self._asker is not None
        state = executor.state
        asked = self._questions.of(executor.id)

        def attend() -> None:
            meanwhile()
            if executor.state is not state or (asked and asked not in self._questions):
                raise _Settled

        try:
            if state is State.AWAITING_PERMISSION:
                self._ask_permission(executor, self._asker, attend)
            elif state is State.AWAITING_DELIVERY:
                edit_first = self._permissions.result_mode(executor.tool) == EDIT
                delivery = self._asker.delivery(executor, edit_first, attend)
                self._answers.append(executor.deliver(delivery))
            else:
                assert asked is not None
                self._ask_question(executor, asked, self._asker, attend)
        except NobodyAnswers:
            self._go_on_alone()
        except _Settled:
            pass

    def _next_to_ask(self) -> Optional[ToolExecutor]:
        """The first call in request order that waits for the person."""
        return next(iter(self._in(*_WAITING)), None)

    def _ask_permission(
        self, executor: ToolExecutor, asker: Asker, attend: Callable[[], None]
    ) -> None:
        complaint = self._admission.complaint(executor.call.name)
        permit = asker.permission(executor, self._permissions, complaint, attend)
        if permit.action == ALLOW:
            self._begin(executor, permit.arguments, permit.edited)
        else:
            self._answers.append(executor.refuse(permit.told, is_error=False))
        self._judge_waiting_again(executor.call.name)

    def _judge_waiting_again(self, name: str) -> None:
        """What the person decided for a tool holds for its other calls that wait."""
        for executor in self._in(State.AWAITING_PERMISSION):
            if executor.call.name != name or not executor.decision.by_mode:
                continue
            decision = self._permissions.decide(executor.tool, executor.arguments)
            if decision.action == SKIP:
                self._answers.append(executor.refuse(texts.SKIPPED, is_error=False))
            elif decision.action == ALLOW:
                self._begin(executor, executor.arguments, edited=False)

    def _ask_question(
        self, executor: ToolExecutor, asked: Asked, asker: Asker, attend: Callable[[], None]
    ) -> None:
        answer = asker.question(executor, asked.question, attend)
        self._number += 1
        id = f"{executor.id}/{self._number}"
        self._drafts.append(Draft(InquiryRequest(id, asked.question.text)))
        if answer is not None:
            self._drafts.append(Draft(InquiryResponse(id, answer)))
            executor.remembered[asked.question.text] = answer
        self._drop_question(asked)
        asked.settle(answer)

    def _go_on_alone(self) -> None:
        """The terminal is gone: nothing that waits for the person can go on."""
        self._asker = None
        for asked in self._questions.all():
            self._drop_question(asked)
            asked.fail("nobody can be asked any more")
        unasked = self._in(State.AWAITING_PERMISSION)
        if unasked:
            self._deny(unasked, unasked[0])
        self._answers += [each.stop() for each in self._in(State.AWAITING_DELIVERY)]

    # -- running and ending ------------------------------------------------------------

    def cancel(self) -> None:
        """Give up every call: what does not run is answered now, what runs when it ends."""
        for executor in self._executors.values():
            if executor.state in ACTIVE:
                executor.token.cancel()
            elif not executor.ended:
                self._answers.append(executor.stop())

    def running(self) -> List[Tuple[str, str]]:
        """Id and title of the calls that run, in request order."""
        return [(each.id, each.title) for each in self._in(*ACTIVE)]

    def restart(self, ids: Sequence[str]) -> None:
        """Stop those of ``ids`` that run, and run them again as soon as they have ended."""
        for executor in self._in(*ACTIVE):
            if executor.id in ids:
                executor.token.cancel(RESTARTED)

    def close(self) -> None:
        """Stop everything; nothing more is answered."""
        self.cancel()
        self._launcher.close()

    def _active(self, id: str, run: int) -> Optional[ToolExecutor]:
        """The call whose run with this number is going on."""
        return next((each for each in self._in(*ACTIVE) if (each.id, each.run) == (id, run)), None)

    def _in(self, *states: State) -> List[ToolExecutor]:
        """The calls that are in one of ``states``, in request order."""
        return [each for each in self._executors.values() if each.state in states]

    def _begin(self, executor: ToolExecutor, arguments: Dict[str, Any], edited: bool) -> None:
        executor.begin(arguments, edited)
        self._show(ToolStarted(executor.id, executor.title))
        self._launch(executor)

    def _launch(self, executor: ToolExecutor) -> None:
        self._launcher.launch(
            executor.call, executor.tool, executor.arguments, executor.run, executor.token
        )


class _Settled(PromptLeft):
    """What was asked about needs no answer any more."""
