"""Admission: which calls may run, which are asked about, and which are answered at once."""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Union

from jpq.config.nested import join_name
from jpq.conversation.event import ToolCall
from jpq.errors import DeniedError
from jpq.named import NamedTuple
from jpq.tools import texts
from jpq.tools.arguments import ArgumentCheck
from jpq.tools.definition import ASK, EDIT, SKIP, Tool
from jpq.tools.limits import IDENTICAL_CALLS, identical_before
from jpq.tools.permission import ALLOW, DENY, Decision, Permissions


class Refusal(NamedTuple):
    """The call is not run, and this is what the model is told."""

    content: str
    is_error: bool


class Admission:
    """Judges calls. Main thread; it runs nothing and asks nobody."""

    def __init__(self, tools: Mapping[str, Tool], permissions: Permissions) -> None:
        self._tools = tools
        self._permissions = permissions
        self._checks: Dict[Tool, ArgumentCheck] = {}

    def judge(
        self, call: ToolCall, earlier: Sequence[ToolCall], can_ask: bool
    ) -> Union[Refusal, Decision]:
        """A Decision to run it or to ask, or a Refusal. ``earlier`` calls are of the same
        turn; one that was made too often is asked about, or refused where that is not
        possible."""
        wrong = self._wrong_with(call)
        if wrong is not None:
            return Refusal(wrong, is_error=True)
        decision = self._permissions.decide(self._tools[call.name], call.arguments)
        if decision.action == DENY:
            return Refusal(texts.DENIED_BY_RULE.format(rule=decision.by), is_error=False)
        if decision.action == SKIP:
            return Refusal(texts.SKIPPED, is_error=False)
        count = identical_before(call, earlier)
        if count < IDENTICAL_CALLS or decision.action != ALLOW:
            return decision
        if not can_ask:
            return Refusal(texts.REPEATED.format(count=count), is_error=True)
        return Decision(ASK, f"it made this same call {count} times in this turn")

    def complaint(self, name: str) -> Callable[[Any], Optional[str]]:
        """What checks arguments of the tool ``name``."""
        return self._check(name).complaint

    def _check(self, name: str) -> ArgumentCheck:
        tool = self._tools[name]
        if tool not in self._checks:
            self._checks[tool] = ArgumentCheck(name, tool.spec.parameters)
        return self._checks[tool]

    def asks_before_delivery(self, tool: Tool) -> bool:
        """Whether the person is shown a result before the model is."""
        return self._permissions.result_mode(tool) in (ASK, EDIT)

    def denied(self, tool: Tool, decision: Decision) -> DeniedError:
        """The error that ends a run in which nobody can be asked."""
        name = tool.spec.name
        unattended = f'set {join_name(("tools", name, "run"))} = "unattended"'
        if decision.action == ALLOW:
            hint = f'Set {join_name(("tools", name, "result"))} = "unattended".'
        elif not decision.by_mode:
            hint = (
                f"It is asked about even with --yes: {decision.by}. "
                "Run jpq on a terminal, or change the rules under policy."
            )
        elif decision.action == ASK:
            hint = f"Allow every tool with --yes, or {unattended}."
        else:
            hint = f"Allow it with a rule under policy.allow, or {unattended}."
        return DeniedError(
            f"The model wants to run {name}, which needs your permission, "
            "and this run cannot ask for it.",
            hint=hint,
        )

    def _wrong_with(self, call: ToolCall) -> Optional[str]:
        """Why the call cannot be run as it is, in words that let the model mend it."""
        if call.raw is not None:
            return texts.BAD_JSON.format(raw=call.raw)
        if call.name not in self._tools:
            known = ", ".join(self._tools) or "none"
            return texts.NO_SUCH_TOOL.format(name=call.name, known=known)
        complaint = self._check(call.name).complaint(call.arguments)
        return None if complaint is None else texts.BAD_ARGUMENTS.format(complaint=complaint)
