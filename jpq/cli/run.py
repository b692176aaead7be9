"""One run of the command line, from arguments to exit code."""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import signal
import sys
import traceback
from typing import List, Tuple

from jpq.cli.environment import Environment
from jpq.errors import ExitCode, JpqError, WriteError
from jpq.interrupt.signals import end_by_signal

# A first word that is one of these names is that command; everything else is a query.
# Each module has build_parser(prog) and run(args, env) -> exit code.
COMMANDS = {
    "query": "jpq.cli.query_cmd",
    "q": "jpq.cli.query_cmd",
    "conversation": "jpq.cli.conversation_cmd",
    "c": "jpq.cli.conversation_cmd",
    "models": "jpq.cli.models_cmd",
    "keys": "jpq.cli.keys_cmd",
    "config": "jpq.cli.config_cmd",
    "doctor": "jpq.cli.doctor_cmd",
}


def run(arguments: List[str]) -> int:
    """Run the command that ``arguments`` name and return its exit code.

    The one place where an error becomes stderr lines. A Ctrl+C outside a turn ends the
    process by that signal.
    """
    env = Environment.of_process()
    name, rest = split_command(arguments)
    debugging = "-vv" in rest
    try:
        module = importlib.import_module(COMMANDS[name])
        parser = module.build_parser("jpq" if name == "query" else f"jpq {name}")
        return int(module.run(_parse(parser, rest), env))
    except JpqError as error:
        tell_error(env, error)
        if debugging:
            traceback.print_exc()
        return int(error.exit_code)
    except KeyboardInterrupt:
        end_by_signal(signal.SIGINT)
        return int(ExitCode.INTERRUPT)
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
            traceback.print_exc()
        return int(ExitCode.FAILURE)


def split_command(arguments: List[str]) -> Tuple[str, List[str]]:
    """The command's name and its arguments; without one it is a query."""
    if arguments and arguments[0] in COMMANDS:
        name = {"q": "query", "c": "conversation"}.get(arguments[0], arguments[0])
        return name, arguments[1:]
    return "query", arguments


def tell_error(env: Environment, error: JpqError) -> None:
    """What happened, where, and what to do, on stderr."""
    lines = [f"jpq: {error.message}"]
    lines += [f"  where: {error.where}"] if error.where else []
    lines += [f"  {error.hint}"] if error.hint else []
    for line in lines:
        env.tell(line)


def _parse(parser: argparse.ArgumentParser, arguments: List[str]) -> argparse.Namespace:
    # argparse ends the process itself, for usage errors (2) and for --help (0).
    return parser.parse_args(arguments)


def _system_error(env: Environment, error: OSError) -> int:
    if error.errno == errno.EPIPE:
        # Whoever read stdout has gone; what is left in the buffer must not be tried again.
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, sys.stdout.fileno())
        return int(ExitCode.BROKEN_PIPE)
    where = str(error.filename or "")
    tell_error(env, WriteError(f"{error.strerror or error}.", where=where))
    return int(ExitCode.CUT)
