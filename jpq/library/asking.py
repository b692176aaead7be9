"""How a turn asks the program: whether calls may run, and what running tools want to know."""

from __future__ import annotations

import queue
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from jpq.interrupt.prompt import NobodyAnswers, PromptLeft
from jpq.named import NamedTuple
from jpq.tools.consent import Permit
from jpq.tools.definition import Question
from jpq.tools.executor import Delivery, ToolExecutor
from jpq.tools.permission import ALLOW, DENY, Permissions

RUN = "run"
DELIVER = "deliver"

# How long what else happens in the turn may wait while the program thinks.
_POLL_S = 0.05


class PermissionRequest(NamedTuple):
    """A call that needs permission.

    ``kind`` is ``run`` (may it run?) or ``deliver`` (may the model have its result, which is
    ``text``?). For a run ``text`` is what it would do, where the tool can tell: a command, a
    diff. ``why`` says which setting asks. Nothing in it is sanitised for a terminal.
    """

    id: str
    name: str
    title: str
    arguments: Mapping[str, Any]
    kind: str = RUN
    text: str = ""
    why: str = ""


class QuestionRequest(NamedTuple):
    """A running call asks something; ``kind`` is ``text``, ``yes_no`` (the answer is ``yes``
    or ``no``) or ``choice`` (one of ``choices``)."""

    id: str
    name: str
    title: str
    question: str
    kind: str = "text"
    choices: Sequence[str] = ()


# True: yes. False: no. A text: no, and the model is told why.
Approve = Callable[[PermissionRequest], Union[bool, str]]
# The answer, or None for none.
Answer = Callable[[QuestionRequest], Optional[str]]


def hint_in_python(hint: str) -> str:
    """``hint``, where it names an option that a program has no use for."""
    return hint.replace("Allow every tool with --yes", "Give the session an approve function")


class Asking:
    """A request on its way to the program and back. ``decide`` is called on the program's
    thread, ``wait`` on the turn's."""

    def __init__(self, request: Union[PermissionRequest, QuestionRequest]) -> None:
        self.request = request
        self.over = False  # the turn does not wait any more
        self._reply: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def decide(self, reply: Any) -> None:
        """This is the answer."""
        self._reply.put(reply)

    def wait(self, meanwhile: Callable[[], None]) -> Any:
        """The answer; ``meanwhile`` may raise PromptLeft to give up."""
        while True:
            try:
                return self._reply.get(timeout=_POLL_S)
            except queue.Empty:
                pass
            try:
                meanwhile()
            except PromptLeft:
                self.over = True
                raise


class ProgramAsker:
    """An Asker (``jpq.tools.consent``) whose answers come from the program.

    ``post`` takes each Asking. ``approves`` False means that the program gives no
    permission: nobody can be asked.
    """

    def __init__(self, post: Callable[[Asking], None], approves: bool) -> None:
        self._post = post
        self._approves = approves

    def permission(
        self,
        executor: ToolExecutor,
        permissions: Permissions,
        complaint: Callable[[Any], Optional[str]],
        meanwhile: Callable[[], None],
    ) -> Permit:
        """Whether the call may run."""
        preview = executor.tool.preview(executor.arguments)
        allowed, reason = self._approval(executor, RUN, preview, meanwhile)
        return Permit(ALLOW if allowed else DENY, executor.arguments, reason=reason)

    def delivery(
        self, executor: ToolExecutor, edit_first: bool, meanwhile: Callable[[], None]
    ) -> Delivery:
        """Whether the model gets the result."""
        allowed, reason = self._approval(executor, DELIVER, executor.result, meanwhile)
        return Delivery(executor.result if allowed else None, reason=reason)

    def question(
        self, executor: ToolExecutor, question: Question, meanwhile: Callable[[], None]
    ) -> Optional[str]:
        """The program's answer, or None."""
        asking = Asking(
            QuestionRequest(
                executor.id,
                executor.call.name,
                executor.title,
                question.text,
                question.kind,
                question.choices,
            )
        )
        self._post(asking)
        answer = asking.wait(meanwhile)
        return None if answer is None else str(answer)

    def _approval(
        self, executor: ToolExecutor, kind: str, text: str, meanwhile: Callable[[], None]
    ) -> Any:
        if not self._approves:
            raise NobodyAnswers("the program gives no permission")
        asking = Asking(
            PermissionRequest(
                executor.id,
                executor.call.name,
                executor.title,
                executor.arguments,
                kind,
                text,
                executor.decision.by,
            )
        )
        self._post(asking)
        reply = asking.wait(meanwhile)
        return reply is True, reply if isinstance(reply, str) else ""
