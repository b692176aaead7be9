"""Opens what runs a turn's calls, when there are any."""

from __future__ import annotations

import os
from typing import Optional, Set

from jpq.config.load import Config
from jpq.interrupt.prompt import Prompter
from jpq.provider.rows import ROWS
from jpq.render.display import Display
from jpq.render.sanitize import sanitize
from jpq.tools.consent import Asker, TerminalAsker
from jpq.tools.coordinator import ToolCoordinator
from jpq.tools.launcher import Launcher, child_environ
from jpq.tools.permission import Permissions
from jpq.tools.policy import Policy
from jpq.tools.toolset import Toolset
from jpq.turn.calls import Settle, Surroundings
from jpq.turn.inbox import Inbox
from jpq.turn.tool_phase import ToolPhase

OUTPUT_FOLDER = "tool-output"


def open_tool_phase(
    config: Config,
    toolset: Toolset,
    surroundings: Surroundings,
    inbox: Inbox,
    renderer: Display,
    settle: Settle,
    deadline: Optional[float] = None,
) -> ToolPhase:
    """What runs calls of ``toolset``, until the ``deadline`` on the inbox's clock.

    Main thread. Raises ConfigError for a wrong rule.
    """
    where = surroundings
    asker: Optional[Asker] = where.asker
    if asker is None and where.interactive:
        asker = TerminalAsker(Prompter(renderer.lease, sanitize, where.environ))
    launcher = Launcher(
        inbox.post,
        renderer.show,
        environ=child_environ(where.environ, key_variables(config)),
        cwd=where.cwd,
        output_folder=None if where.folder is None else os.path.join(where.folder, OUTPUT_FOLDER),
        workers=config["tools.workers"],
    )
    permissions = Permissions(Policy.of_config(config), yes=where.yes)
    tools = ToolCoordinator(toolset.tools, permissions, asker, launcher, renderer.show)
    return ToolPhase(tools, inbox, settle, renderer.show, deadline, where.in_order)


def key_variables(config: Config) -> Set[str]:
    """The variables that hold API keys, used or not."""
    names: Set[str] = set()
    for row in ROWS:
        names.update(name for name in (row.key_env, *row.other_key_envs) if name)
    for overrides in config.table("providers").values():
        if isinstance(overrides, dict) and overrides.get("api_key_env"):
            names.add(overrides["api_key_env"])
    return names
