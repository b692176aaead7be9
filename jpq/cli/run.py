"""One run of the command line, from arguments to exit code."""

from __future__ import annotations

import importlib
from typing import Any, List, Optional, Tuple

from jpq.cli.environment import Environment
from jpq.errors import ExitCode
from jpq.named import NamedTuple


class Command(NamedTuple):
    """Where a command lives: ``parser`` has build_parser(prog), ``body`` has run(args, env).

    Apart where the body is costly to import and --help should not pay for it.
    """

    parser: str
    body: str


# A first word that is one of these names is that command; everything else is a query.
COMMANDS = {
    "query": Command("jpq.cli.query_parser", "jpq.cli.query_cmd"),
    "chat": Command("jpq.cli.chat.parser", "jpq.cli.chat.command"),
    "conversation": Command("jpq.cli.conversation_parser", "jpq.cli.conversation_cmd"),
    "models": Command("jpq.cli.models_cmd", "jpq.cli.models_cmd"),
    "keys": Command("jpq.cli.keys_cmd", "jpq.cli.keys_cmd"),
    "tools": Command("jpq.cli.tools_parser", "jpq.cli.tools_cmd"),
    "ask": Command("jpq.cli.ask_cmd", "jpq.cli.ask_cmd"),
    "config": Command("jpq.cli.config_cmd", "jpq.cli.config_cmd"),
    "render": Command("jpq.cli.render_cmd", "jpq.cli.render_cmd"),
    "mcp": Command("jpq.cli.mcp_parser", "jpq.cli.mcp_cmd"),
    "templates": Command("jpq.cli.templates_cmd", "jpq.cli.templates_cmd"),
    "completion": Command("jpq.cli.completion_cmd", "jpq.cli.completion_cmd"),
    "doctor": Command("jpq.cli.doctor_cmd", "jpq.cli.doctor_cmd"),
}
ALIASES = {"q": "query", "c": "conversation"}

_FORMAT = "--format"


def run(arguments: List[str]) -> int:
    """Run the command that ``arguments`` name and return its exit code.

    The one place where an error outside a turn becomes stderr lines, or the result that a
    program is promised. A signal ends the process the way its parent expects.
    """
    env = Environment.of_process()
    name, rest = split_command(arguments)
    format = asked_format(rest) if name == "query" else None
    verbose = 0
    try:
        command = COMMANDS[name]
        parser = importlib.import_module(command.parser).build_parser(
            "jpq" if name == "query" else f"jpq {name}"
        )
        args = parser.parse_args(rest)
        verbose = getattr(args, "verbose", 0)
        # From here on, not only Ctrl+C is an exception, so that every command cleans up.
        importlib.import_module("jpq.interrupt.signals").SignalRouter().__enter__()
        return int(importlib.import_module(command.body).run(args, env))
    except SystemExit as end:  # argparse's own, for --help and for the usage of other commands
        return end.code if isinstance(end.code, int) else int(ExitCode.FAILURE)
    except Exception as error:
        return int(_failure().report(env, error, format, verbose))
    except BaseException as end:
        return _ended_by_signal(env, end, format)


def split_command(arguments: List[str]) -> Tuple[str, List[str]]:
    """The command's name and its arguments; without one it is a query."""
    first = arguments[0] if arguments else ""
    name = ALIASES.get(first, first)
    return (name, arguments[1:]) if name in COMMANDS else ("query", arguments)


def asked_format(arguments: List[str]) -> Optional[str]:
    """The ``--format`` in a query's arguments, known even where the rest of them is wrong."""
    found = None
    for position, argument in enumerate(arguments):
        if argument == "--":
            break
        if argument == "--json":
            found = "json"
        elif argument == _FORMAT:
            found = "".join(arguments[position + 1 : position + 2])
        elif argument.startswith(_FORMAT + "="):
            found = argument[len(_FORMAT) + 1 :]
    return found


def _ended_by_signal(env: Environment, end: BaseException, format: Optional[str]) -> int:
    signals = importlib.import_module("jpq.interrupt.signals")
    signum: int = signals.signal_behind(end)
    if format is not None:
        _failure().report_signal(env, signum, format)
    signals.end_by_signal(signum)
    return 128 + signum


def _failure() -> Any:
    # What tells errors draws with the renderer, which --help should not pay for.
    return importlib.import_module("jpq.cli.failure")
