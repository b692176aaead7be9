"""One run of the command line, from arguments to exit code."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from typing import List, NamedTuple, Tuple

from jpq.cli.environment import Environment
from jpq.errors import ExitCode, JpqError, WriteError


class Command(NamedTuple):
    """Where a command lives: ``parser`` has build_parser(prog), ``body`` has run(args, env).

    Apart where the body is costly to import and --help should not pay for it.
    """

    parser: str
    body: str


# A first word that is one of these names is that command; everything else is a query.
COMMANDS = {
    "query": Command("jpq.cli.query_parser", "jpq.cli.query_cmd"),
    "conversation": Command("jpq.cli.conversation_cmd", "jpq.cli.conversation_cmd"),
    "models": Command("jpq.cli.models_cmd", "jpq.cli.models_cmd"),
    "keys": Command("jpq.cli.keys_cmd", "jpq.cli.keys_cmd"),
    "config": Command("jpq.cli.config_cmd", "jpq.cli.config_cmd"),
    "doctor": Command("jpq.cli.doctor_cmd", "jpq.cli.doctor_cmd"),
}
ALIASES = {"q": "query", "c": "conversation"}


def run(arguments: List[str]) -> int:
    """Run the command that ``arguments`` name and return its exit code.

    The one place where an error becomes stderr lines. A Ctrl+C outside a turn ends the
    process by that signal.
    """
    env = Environment.of_process()
    name, rest = split_command(arguments)
    debugging = "-vv" in rest
    try:
        command = COMMANDS[name]
        parser = importlib.import_module(command.parser).build_parser(
            "jpq" if name == "query" else f"jpq {name}"
        )
        # argparse ends the process itself, for usage errors (2) and for --help (0).
        args = parser.parse_args(rest)
        return int(importlib.import_module(command.body).run(args, env))
    except JpqError as error:
        tell_error(env, error)
        if debugging:
            _print_traceback()
        return int(error.exit_code)
    except KeyboardInterrupt:
        return _interrupted()
    except OSError as error:
        return _system_error(env, error)
    except Exception as error:
        tell_error(
            env,
            JpqError(
                f"jpq has a fault of its own: {type(error).__name__}: {error}",
                hint="Run it again with -vv to see where, and report it please.",
            ),
        )
        if debugging:
            _print_traceback()
        return int(ExitCode.FAILURE)


def split_command(arguments: List[str]) -> Tuple[str, List[str]]:
    """The command's name and its arguments; without one it is a query."""
    first = arguments[0] if arguments else ""
    name = ALIASES.get(first, first)
    return (name, arguments[1:]) if name in COMMANDS else ("query", arguments)


def tell_error(env: Environment, error: JpqError) -> None:
    """What happened, where, and what to do, on stderr."""
    lines = [f"jpq: {error.message}"]
    lines += [f"  where: {error.where}"] if error.where else []
    lines += [f"  {error.hint}"] if error.hint else []
    for line in lines:
        env.tell(line)


def _system_error(env: Environment, error: OSError) -> int:
    if error.errno == errno.EPIPE:
        # Whoever read stdout has gone; what is left in the buffer must not be tried again.
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, sys.stdout.fileno())
        return int(ExitCode.BROKEN_PIPE)
    where = str(error.filename or "")
    tell_error(env, WriteError(f"{error.strerror or error}.", where=where))
    return int(ExitCode.CUT)


def _interrupted() -> int:
    signals = importlib.import_module("jpq.interrupt.signals")
    signals.end_by_signal(signals.signal.SIGINT)
    return int(ExitCode.INTERRUPT)


def _print_traceback() -> None:
    importlib.import_module("traceback").print_exc()
