"""``jpq conversation``: finds the action and the conversation that is meant."""

from __future__ import annotations

import argparse
import importlib
import os
from typing import Optional

from jpq.cli.environment import Environment
from jpq.config.load import Config, load_config
from jpq.errors import BadInputError, ConfigError
from jpq.store.library import Library
from jpq.store.workspace import workspace_of

# Each action is loaded when it is asked for: run(args, env, library) in its module.
_ACTIONS = {
    "ls": "jpq.cli.conversation_list:ls",
    "show": "jpq.cli.conversation_show:show",
    "path": "jpq.cli.conversation_show:path",
    "grep": "jpq.cli.conversation_grep:grep",
    "title": "jpq.cli.conversation_change:title",
    "fork": "jpq.cli.conversation_change:fork_one",
    "repair": "jpq.cli.conversation_repair:repair",
    "compact": "jpq.cli.conversation_compact:compact",
    "rm": "jpq.cli.conversation_change:rm",
    "prune": "jpq.cli.conversation_change:prune",
    "export": "jpq.cli.conversation_export:export",
    "import": "jpq.cli.conversation_import:load",
}


def run(args: argparse.Namespace, env: Environment) -> int:
    """Run the parsed command; returns the exit code. Raises JpqError."""
    library = Library(os.path.join(env.paths.data, "conversations"))
    module, _, name = _ACTIONS[args.action].partition(":")
    return int(getattr(importlib.import_module(module), name)(args, env, library))


def chosen(text: Optional[str], env: Environment, library: Library) -> str:
    """The id of the conversation that ``text`` names, or of the workspace's last one."""
    if text is not None:
        return library.resolve(text)
    workspace = workspace_of(env.cwd)
    last = library.last(workspace)
    if last is None:
        raise BadInputError(
            "This workspace has no saved conversation.",
            where=workspace,
            hint="See those of every workspace with: jpq conversation ls",
        )
    return last


def lock_wait_s(env: Environment) -> float:
    """How long to wait for a conversation that another process writes, in seconds; what no
    configuration says where that cannot be read, for a repair needs none."""
    try:
        config = load_config(env.paths, env.environ, env.cwd)
    except ConfigError:
        config = Config(())
    return float(config["conversation.lock_wait_s"])


def is_terminal(env: Environment) -> bool:
    """Whether stdout is one, which the model's text may then not drive."""
    return env.stdout is not None and env.stdout.isatty()
