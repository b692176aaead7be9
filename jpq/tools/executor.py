"""ToolExecutor: one call from its request to its one answer. Its whole life is in LIFECYCLE."""

from __future__ import annotations

from enum import Enum
from typing import Any, Dict, Optional, Tuple

from jpq.conversation.attachment import Attachment
from jpq.conversation.event import ToolCall
from jpq.interrupt.cancel import CancelToken
from jpq.named import NamedTuple
from jpq.tools import texts
from jpq.tools.definition import ASK, EDIT, SKIP, STOPPED, Tool, ToolAnswered, ToolOutput
from jpq.tools.permission import ALLOW, Decision
from jpq.tools.schema import json_text, shortened

RESTARTED = "restarted"

_CRASH_SHOWN = 2000


class State(Enum):
    """Where a call is."""

    PENDING = "pending"
    AWAITING_PERMISSION = "awaiting permission"
    RUNNING = "running"
    AWAITING_INPUT = "awaiting input"
    AWAITING_DELIVERY = "awaiting delivery"
    COMPLETED = "completed"
    CANCELLED = "cancelled"


class Step(Enum):
    """What can happen to a call."""

    ASK = "the person is to be asked"
    RUN = "it may run"
    REFUSE = "it is not run"
    ASKS = "it asks something"
    ANSWERED = "its question is answered"
    FINISHED = "it is done"
    FINISHED_ASK = "it is done, and its result is to be shown first"
    DELIVER = "its result is settled"
    STOP = "it was cancelled"
    RESTART = "it is to run again"


_S, _T = State, Step

LIFECYCLE: Dict[Tuple[State, Step], State] = {
    (_S.PENDING, _T.REFUSE): _S.COMPLETED,
    (_S.PENDING, _T.ASK): _S.AWAITING_PERMISSION,
    (_S.PENDING, _T.RUN): _S.RUNNING,
    (_S.PENDING, _T.STOP): _S.CANCELLED,
    (_S.AWAITING_PERMISSION, _T.RUN): _S.RUNNING,
    (_S.AWAITING_PERMISSION, _T.REFUSE): _S.COMPLETED,
    (_S.AWAITING_PERMISSION, _T.STOP): _S.CANCELLED,
    (_S.RUNNING, _T.ASKS): _S.AWAITING_INPUT,
    (_S.RUNNING, _T.FINISHED): _S.COMPLETED,
    (_S.RUNNING, _T.FINISHED_ASK): _S.AWAITING_DELIVERY,
    (_S.RUNNING, _T.STOP): _S.CANCELLED,
    (_S.RUNNING, _T.RESTART): _S.RUNNING,
    (_S.AWAITING_INPUT, _T.ANSWERED): _S.RUNNING,
    (_S.AWAITING_INPUT, _T.FINISHED): _S.COMPLETED,
    (_S.AWAITING_INPUT, _T.FINISHED_ASK): _S.AWAITING_DELIVERY,
    (_S.AWAITING_INPUT, _T.STOP): _S.CANCELLED,
    (_S.AWAITING_INPUT, _T.RESTART): _S.RUNNING,
    (_S.AWAITING_DELIVERY, _T.DELIVER): _S.COMPLETED,
    (_S.AWAITING_DELIVERY, _T.STOP): _S.CANCELLED,
}

ENDED = (State.COMPLETED, State.CANCELLED)
ACTIVE = (State.RUNNING, State.AWAITING_INPUT)


class Delivery(NamedTuple):
    """What to do with a result: ``content`` is delivered; None withholds it."""

    content: Optional[str]
    edited: bool = False
    reason: str = ""


class ToolFinished(NamedTuple):
    """A run ended. ``output`` is None where it crashed (``crash`` says how), did not stop,
    or was cancelled before there was a worker for it (``started`` is False). ``so_far`` is
    what it had written, and ``run`` numbers the runs of one call."""

    id: str
    run: int
    seconds: float
    output: Optional[ToolOutput]
    crash: str = ""
    so_far: str = ""
    started: bool = True


class ToolExecutor:
    """The life of one call. Main thread; it starts nothing itself.

    ``tool`` is None for a call of something that does not exist.
    """

    def __init__(self, call: ToolCall, tool: Optional[Tool]) -> None:
        self.call = call
        self._tool = tool
        self.state = State.PENDING
        self.arguments: Dict[str, Any] = call.arguments
        self.token = CancelToken()
        self.run = 0
        self.decision = Decision(ALLOW, "")  # until it is judged
        self.remembered: Dict[str, str] = {}  # answers it was given, by question
        self._edited = False
        self._restarted_after: Optional[float] = None
        self._output: Optional[ToolAnswered] = None

    @property
    def id(self) -> str:
        """The call's id."""
        return self.call.id

    @property
    def tool(self) -> Tool:
        """What is called. AssertionError where it does not exist: such a call is refused."""
        assert self._tool is not None
        return self._tool

    @property
    def title(self) -> str:
        """Its header for the person."""
        return self.tool.spec.title_of(self.arguments)

    @property
    def ended(self) -> bool:
        """Whether it has its answer."""
        return self.state in ENDED

    @property
    def result(self) -> str:
        """The text that waits to be delivered."""
        assert self._output is not None
        return self._output.content

    def step(self, step: Step) -> None:
        """Move; a step that the table does not list is a bug and raises AssertionError."""
        assert (self.state, step) in LIFECYCLE, f"{step} cannot happen while {self.state}"
        self.state = LIFECYCLE[self.state, step]

    def refuse(self, content: str, is_error: bool) -> ToolAnswered:
        """It is not run, and this is what the model is told."""
        self.step(Step.REFUSE)
        return ToolAnswered(self.id, content, is_error)

    def begin(self, arguments: Dict[str, Any], edited: bool) -> None:
        """It runs now, with ``arguments``."""
        self.step(Step.RUN)
        self.arguments, self._edited = arguments, edited
        self.run += 1

    def begin_again(self, seconds: float) -> None:
        """Its last run was stopped after ``seconds`` to run it once more."""
        self.step(Step.RESTART)
        self.token = CancelToken()
        self._restarted_after = seconds
        self.run += 1

    def finish(self, finished: ToolFinished, mode: str, can_ask: bool) -> Optional[ToolAnswered]:
        """Take what a run gave: the answer, or None where the result ``mode`` has it shown
        to the person first."""
        answer = self._answer_of(finished)
        stopped = finished.output is None or finished.output.ended == STOPPED
        if stopped and self.token.cancelled:
            self.step(Step.STOP)
            return answer
        asks = mode in (ASK, EDIT)
        if asks and can_ask:
            self.step(Step.FINISHED_ASK)
            self._output = answer
            return None
        self.step(Step.FINISHED)
        if asks:
            return ToolAnswered(self.id, texts.NOT_SHOWN, is_error=True)
        if mode == SKIP and not answer.is_error:
            return ToolAnswered(self.id, texts.RESULT_SKIPPED, is_error=False)
        return answer

    def deliver(self, delivery: Delivery) -> ToolAnswered:
        """The person decided about the result."""
        assert self._output is not None
        self.step(Step.DELIVER)
        if delivery.content is None:
            told = texts.with_reason(texts.RESULT_WITHHELD, delivery.reason)
            return ToolAnswered(self.id, told, is_error=False)
        if delivery.edited:
            content = delivery.content
            kept = tuple(each for each in self._output.attachments if each.name in content)
            told = texts.RESULT_EDITED.format(output=content)
            return self._output._replace(content=told, attachments=kept)
        return self._output

    def stop(self) -> ToolAnswered:
        """It is given up where nothing runs: not started yet, or done but not delivered."""
        waiting = self.state is State.AWAITING_DELIVERY
        self.step(Step.STOP)
        told = texts.NOT_DELIVERED if waiting else texts.NOT_STARTED
        return ToolAnswered(self.id, told, is_error=True)

    def _answer_of(self, finished: ToolFinished) -> ToolAnswered:
        output = finished.output
        path = None if output is None else output.full_output
        attachments: Tuple[Attachment, ...] = ()
        if output is not None and output.ended != STOPPED:
            content, is_error = output.content, output.is_error
            attachments = output.attachments
        elif not finished.started:
            content, is_error = texts.NOT_STARTED, True
        elif finished.crash and not self.token.cancelled:
            content, is_error = (
                texts.CRASHED.format(error=shortened(finished.crash, _CRASH_SHOWN)),
                True,
            )
        else:
            content, is_error = self._stopped(finished), True
        return ToolAnswered(self.id, self._with_history(content), is_error, path, attachments)

    def _stopped(self, finished: ToolFinished) -> str:
        output = finished.output
        return texts.stopped(
            self.token.reason or "",
            finished.seconds,
            finished.so_far if output is None else output.content,
            still_running=output is None and not finished.crash,
        )

    def _with_history(self, content: str) -> str:
        if self._restarted_after is not None:
            content = texts.RESTARTED.format(seconds=self._restarted_after, output=content)
        if self._edited:
            arguments = json_text(self.arguments)
            content = texts.EDITED.format(arguments=arguments, output=content)
        return content
