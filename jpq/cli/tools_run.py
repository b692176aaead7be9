"""Runs one call of a tool outside a turn, along the same path as a model's call."""

from __future__ import annotations

import contextlib
from typing import Any, Dict, List, Optional

from jpq.cli.environment import Environment
from jpq.config.load import Config
from jpq.conversation.event import Draft, ToolCall
from jpq.errors import ExitCode, JpqError, WriteError
from jpq.events.turn import ToolResult, TurnEvent
from jpq.interrupt.signals import Interrupt, SignalRouter, end_by_signal
from jpq.render.aside import ViewOptions
from jpq.render.views import make_view
from jpq.render.worker import Renderer
from jpq.terminal.caps import caps_of
from jpq.terminal.tty import interactive
from jpq.tools.definition import Tool, ToolAnswered
from jpq.tools.toolset import Toolset
from jpq.turn.calls import Surroundings
from jpq.turn.inbox import Inbox
from jpq.turn.tool_opening import open_tool_phase

_FLUSH_S = 2.0


def run_call(
    tool: Tool,
    arguments: Dict[str, Any],
    config: Config,
    env: Environment,
    *,
    yes: bool,
    quiet: bool,
) -> int:
    """Run it and print what the model would be told; 0, or 1 for an error result.

    ``quiet`` asks nobody. Raises DeniedError where the person would have to be asked. Ends
    the process by the signal that cancelled the call.
    """
    answers: List[ToolAnswered] = []

    def settle(given: List[ToolAnswered], drafts: List[Draft]) -> None:
        answers.extend(given)

    inbox = Inbox()
    with _AsideRenderer(_view(env, config), inbox.post) as renderer:
        asks = interactive(env.environ, quiet)
        where = Surroundings(env.environ, env.cwd, None, asks, yes)
        phase = open_tool_phase(
            config, Toolset({tool.spec.name: tool}), where, inbox, renderer, settle
        )
        signum = None
        try:
            with SignalRouter(inbox.post):
                phase.start([ToolCall("call", tool.spec.name, arguments)], ())
                while not answers:
                    item = phase.attend()
                    if isinstance(item, Interrupt):
                        signum = item.signum
                        phase.cancel()
        finally:
            phase.close()
        renderer.flush(_FLUSH_S)
    if signum is None:
        signum = _late_signal(inbox)
    denied: Any = phase.denied
    if isinstance(denied, JpqError) and signum is None:
        raise denied
    (answer,) = answers
    told = answer.content + ("" if answer.content.endswith("\n") else "\n")
    if signum is not None:
        with contextlib.suppress(BrokenPipeError, WriteError):  # the terminal may be gone
            env.out(told)
        end_by_signal(signum)
    env.out(told)
    return int(ExitCode.FAILURE if answer.is_error else ExitCode.OK)


def _late_signal(inbox: Inbox) -> Optional[int]:
    """The signal that came when the call was answered already, if one did."""
    item = inbox.take_ready()
    while item is not None and not isinstance(item, Interrupt):
        item = inbox.take_ready()
    return None if item is None else int(item.signum)


class _AsideRenderer(Renderer):
    """Shows how the call goes, but not its result, which is what is printed."""

    def show(self, event: TurnEvent) -> None:
        """Queue ``event``."""
        if not isinstance(event, ToolResult):
            super().show(event)


def _view(env: Environment, config: Config) -> Any:
    caps = caps_of(env.environ, env.stdout, env.stderr, "text", config["style.color"])
    return make_view("text", env.stdout, env.stderr, caps, ViewOptions())
