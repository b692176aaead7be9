"""``jpq query``, the default command: one turn."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Optional

from jpq.cli.environment import Environment
from jpq.cli.query_setup import NoModelError, Query, prepare
from jpq.config.load import Config
from jpq.errors import ExitCode, JpqError
from jpq.events.turn import Error, Notice, Result
from jpq.events.usage import Usage
from jpq.interrupt.signals import end_by_signal
from jpq.provider.discover import ways_on
from jpq.render.aside import ViewOptions
from jpq.render.views import make_view
from jpq.render.worker import Renderer, View
from jpq.session import TurnSetup, run_turn
from jpq.terminal.caps import find_caps, observe
from jpq.turn.inbox import Inbox

# By now everything is written, unless a signal said not to wait for that.
_CLOSE_WAIT_S = 0.2


def run(args: argparse.Namespace, env: Environment) -> int:
    """Run one turn; its exit code. Ends the process by the signal that ended the turn."""
    deadline = None if args.timeout is None else time.monotonic() + args.timeout
    try:
        query = prepare(args, env)
    except NoModelError as error:
        return _show_ways_on(args, env, error)
    except JpqError as error:
        if args.format not in ("json", "jsonl"):
            raise
        return _fail_for_programs(args, env, error)
    return _answer(query, args, env, deadline)


def _answer(
    query: Query, args: argparse.Namespace, env: Environment, deadline: Optional[float]
) -> int:
    inbox = Inbox()
    renderer = Renderer(_view(args, env, query.config), inbox.post)
    try:
        if query.unsaved is not None:
            message = query.unsaved.message
            renderer.show(Notice(f"{message} The answer is shown, but not saved."))
        setup = TurnSetup(
            config=query.config,
            model=query.model,
            provider=query.provider,
            journal=query.journal,
            stream=not args.no_stream,
            deadline=deadline,
        )
        outcome = run_turn(setup, query.requests, inbox, renderer)
    finally:
        query.journal.close()
        renderer.close(_CLOSE_WAIT_S)
    if outcome.signum is not None:
        end_by_signal(outcome.signum)
    if query.unsaved is not None and outcome.ending.exit_code == ExitCode.OK:
        return int(query.unsaved.exit_code)
    return outcome.ending.exit_code


def _view(args: argparse.Namespace, env: Environment, config: Optional[Config]) -> View:
    caps = find_caps(
        env.environ,
        observe(env.stdout, getattr(sys.stdout, "encoding", None)),
        observe(env.stderr, getattr(sys.stderr, "encoding", None)),
        args.format,
        args.color,
    )
    options = ViewOptions(quiet=args.quiet, verbose=args.verbose > 0)
    if config is not None:
        options = options._replace(
            reasoning=config["style.reasoning"],
            tool_result=config["style.tool.result"],
            sanitize=config["style.sanitize"],
        )
    return make_view(args.format, env.stdout, env.stderr, caps, options)


def _fail_for_programs(args: argparse.Namespace, env: Environment, error: JpqError) -> int:
    """A failure before the turn, in the format that was asked for: a program that reads it
    always finds a result."""
    code = int(error.exit_code)
    renderer = Renderer(_view(args, env, None), Inbox().post)
    renderer.show(Error(error.word, error.message, error.where, error.hint))
    renderer.show(Result("error", "", None, Usage(), None, code))
    renderer.close()
    return code


def _show_ways_on(args: argparse.Namespace, env: Environment, error: JpqError) -> int:
    if args.format in ("json", "jsonl"):
        return _fail_for_programs(args, env, error)
    for line in ways_on(env.environ):
        env.tell(line)
    return int(error.exit_code)
