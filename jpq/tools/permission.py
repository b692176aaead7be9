"""Whether a call may run, and whether its result is delivered: rules, modes and ``--yes``."""

from __future__ import annotations

from typing import Any, Dict, Mapping

from jpq.config.nested import join_name
from jpq.named import NamedTuple
from jpq.tools import policy
from jpq.tools.definition import ASK, EDIT, SKIP, UNATTENDED, Tool

ALLOW = "allow"
DENY = "deny"


class Decision(NamedTuple):
    """``action`` is ALLOW, ASK, EDIT, SKIP or DENY; ``by`` says what decided, and ``by_mode``
    that it was the run mode."""

    action: str
    by: str
    by_mode: bool = False


class Permissions:
    """What the settings and the person have decided about tools. Main thread.

    ``yes`` is ``--yes``.
    """

    def __init__(self, rules: policy.Policy, *, yes: bool) -> None:
        self._rules = rules
        self._yes = yes
        self._changes: Dict[str, str] = {}
        self._run: Dict[str, str] = {}
        self._result: Dict[str, str] = {}

    def decide(self, tool: Tool, arguments: Mapping[str, Any]) -> Decision:
        """What is to be done with a call.

        A rule that denies comes first, then ``run = "skip"``, then the other rules, then
        the run mode. ``--yes`` answers the run mode's question and no rule's.
        """
        name = tool.spec.name
        verdict = self._rules.judge(name, arguments, tool.command_line(arguments))
        mode = self.run_mode(tool)
        by_mode = f'the run mode of {name} is "{mode}"'
        if verdict.effect == policy.DENY:
            return Decision(DENY, verdict.by)
        if mode == SKIP:
            return Decision(SKIP, by_mode, True)
        if verdict.effect == policy.ASK:
            return Decision(EDIT if mode == EDIT else ASK, verdict.by)
        if verdict.effect == policy.ALLOW:
            return Decision(ALLOW, verdict.by)
        if mode == UNATTENDED:
            return Decision(ALLOW, by_mode, True)
        if mode == ASK and self._yes:
            return Decision(ALLOW, "--yes", True)
        return Decision(mode, by_mode, True)

    def run_mode(self, tool: Tool) -> str:
        """The tool's run mode in this conversation."""
        return self._run.get(tool.spec.name, tool.spec.run)

    def result_mode(self, tool: Tool) -> str:
        """The tool's result mode in this conversation."""
        return self._result.get(tool.spec.name, tool.spec.result)

    def set_run_mode(self, tool: Tool, mode: str) -> None:
        """Decide for this tool in this conversation."""
        self._run[tool.spec.name] = mode
        self._changes[join_name(("tools", tool.spec.name, "run"))] = mode

    def set_result_mode(self, tool: Tool, mode: str) -> None:
        """Decide for this tool in this conversation."""
        self._result[tool.spec.name] = mode
        self._changes[join_name(("tools", tool.spec.name, "result"))] = mode

    def take_changes(self) -> Dict[str, str]:
        """What was decided since the last time, as the conversation's own configuration:
        dotted key to value."""
        changes, self._changes = self._changes, {}
        return changes
