"""Tools made of plain functions, and a coordinator that is driven by hand or by a phase."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from jpq.conversation.event import Draft, ToolCall
from jpq.events.turn import TurnEvent
from jpq.interrupt.cancel import CancelToken
from jpq.interrupt.prompt import Prompter
from jpq.tools.consent import TerminalAsker
from jpq.tools.coordinator import ToolCoordinator
from jpq.tools.definition import (
    Invocation,
    Progress,
    Tool,
    ToolAnswered,
    ToolOutput,
    ToolSpec,
)
from jpq.tools.launcher import Launcher
from jpq.tools.permission import Permissions
from jpq.tools.policy import Policy, parse_rule
from jpq.turn.inbox import Inbox
from jpq.turn.tool_phase import ToolPhase

Body = Callable[[Invocation, CancelToken, Progress], Any]


class FunctionTool(Tool):
    """A tool whose run is ``body``; what is not a ToolOutput becomes its text."""

    def __init__(self, spec: ToolSpec, body: Body) -> None:
        super().__init__(spec, ".")
        self._body = body

    def run(self, invocation: Invocation, cancel: CancelToken, progress: Progress) -> ToolOutput:
        given = self._body(invocation, cancel, progress)
        return given if isinstance(given, ToolOutput) else ToolOutput(str(given))

    def command_line(self, arguments: Mapping[str, Any]) -> Any:
        return arguments.get("line") if self.spec.name == "shell" else None


def tool(name: str, body: Body, run: str = "unattended", **spec: Any) -> FunctionTool:
    """A tool called ``name``."""
    return FunctionTool(ToolSpec(name=name, source="test", run=run, **spec), body)


class Calls:
    """Runs calls as a turn does. Use as a context manager."""

    def __init__(
        self,
        *tools: Tool,
        prompter: Optional[Prompter] = None,
        rules: Optional[Mapping[str, Sequence[str]]] = None,
        yes: bool = False,
        workers: int = 8,
        output_folder: Optional[str] = None,
        environ: Optional[Mapping[str, str]] = None,
        deadline: Optional[float] = None,
        inbox: Optional[Inbox] = None,
    ) -> None:
        self.inbox = inbox or Inbox()
        self.shown: List[TurnEvent] = []
        self.answers: List[ToolAnswered] = []
        self.drafts: List[Draft] = []
        parsed = [parse_rule(effect, each) for effect in rules or {} for each in rules[effect]]
        self.coordinator = ToolCoordinator(
            {each.spec.name: each for each in tools},
            Permissions(Policy(parsed), yes=yes),
            None if prompter is None else TerminalAsker(prompter),
            Launcher(
                self.inbox.post,
                self.shown.append,
                environ=environ or {},
                cwd=".",
                output_folder=output_folder,
                workers=workers,
            ),
            self.shown.append,
        )
        self.phase = ToolPhase(
            self.coordinator, self.inbox, self._settle, self.shown.append, deadline
        )

    def __enter__(self) -> Calls:
        return self

    def __exit__(self, *exc: object) -> None:
        self.coordinator.close()

    def start(self, *calls: ToolCall, earlier: Sequence[ToolCall] = ()) -> None:
        """Begin, and return at once."""
        self.phase.start(calls, earlier)

    def finish(self) -> Dict[str, ToolAnswered]:
        """Wait for all answers; nothing else may happen."""
        while not self.coordinator.idle:
            assert self.phase.attend() is None
        return {answer.id: answer for answer in self.answers}

    def run(self, *calls: ToolCall, earlier: Sequence[ToolCall] = ()) -> Dict[str, ToolAnswered]:
        """Begin and finish."""
        self.start(*calls, earlier=earlier)
        return self.finish()

    def _settle(self, answers: List[ToolAnswered], drafts: List[Draft]) -> None:
        self.answers += answers
        self.drafts += drafts


def call(name: str, id: Optional[str] = None, **arguments: Any) -> ToolCall:
    """A call; its id is its tool's name unless one is given."""
    return ToolCall(id or name, name, arguments)
