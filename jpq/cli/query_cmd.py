"""``jpq query``, the default command: one turn."""

from __future__ import annotations

import argparse
import importlib
import time
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Tuple

from jpq import __version__
from jpq.cli.early_end import EarlyEnd, with_late_signal
from jpq.cli.environment import Environment
from jpq.cli.log import LoggedProvider, LoggedRenderer, RunLog, run_log
from jpq.cli.query_setup import NoModelError, Query, prepare, show_ways_on
from jpq.config.load import Config
from jpq.errors import ErrorKind, JpqError
from jpq.events.turn import Error, Notice, Result
from jpq.events.usage import Usage
from jpq.interrupt.signals import end_by_signal
from jpq.provider.base import Provider
from jpq.render.aside import ViewOptions
from jpq.render.views import make_view
from jpq.render.worker import Renderer, View
from jpq.session import TurnSetup, run_turn
from jpq.terminal.caps import caps_of
from jpq.turn.calls import Surroundings
from jpq.turn.ending import TurnOutcome, of_error

if TYPE_CHECKING:
    from jpq.render.display import Display
    from jpq.render.whole import Shown

# By now everything is written, unless a signal said not to wait for that.
_CLOSE_WAIT_S = 0.2
_FLUSH_WAIT_S = 5.0


def run(args: argparse.Namespace, env: Environment) -> int:
    """Run one turn; its exit code. Ends the process by the signal that ended the turn.

    Raises what comes before the turn: JpqError, or a BaseException for a signal.
    """
    if args.replay and _replay(args, env):
        return 0
    if args.batch is not None:
        # Many questions are a program of their own.
        return int(importlib.import_module("jpq.cli.batch.command").run(args, env))
    if args.output is None:
        code, signum = _run(args, env)
    else:
        module = importlib.import_module("jpq.cli.output_file")  # few answers go into one
        code, signum = module.into_file(args.output, env, lambda: _run(args, env))
    if signum is not None:
        end_by_signal(signum)
    return code


def _run(args: argparse.Namespace, env: Environment) -> Tuple[int, Optional[int]]:
    """The exit code, and the signal to end by if that is what ended the turn."""
    started = time.monotonic()
    query: Optional[Query] = None
    with run_log(args, env) as log:
        try:
            with EarlyEnd(started) as early:
                query = prepare(args, env, log.secrets, early)
                if args.dry_run:
                    module = importlib.import_module("jpq.cli.dry_run")  # most runs send something
                    setup = _setup(query, args, env, query.provider, None)
                    return int(module.show_request(setup, query.requests, env)), None
                early.turn_begins()
                log.info("jpq %s asks %s, conversation %s",
                         __version__, query.model, query.journal.id)  # fmt: skip
                outcome = _answer(query, args, env, log, early)
            _log_ending(log, outcome, time.monotonic() - started)
            _offer_compaction(query, outcome, args, env, log)
            _make_title(query, outcome, env, log, early)
        except NoModelError:
            if args.format in ("json", "jsonl"):
                raise
            return show_ways_on(env), None
        finally:
            if query is not None:
                query.provider.close()
    return outcome.ending.exit_code, outcome.signum


def _setup(
    query: Query,
    args: argparse.Namespace,
    env: Environment,
    provider: Provider,
    deadline: Optional[float],
) -> TurnSetup:
    return TurnSetup(
        config=query.config,
        model=query.model,
        provider=provider,
        journal=query.journal,
        stream=not args.no_stream,
        deadline=deadline,
        toolset=query.toolset,
        tool_choice=args.tool_choice,
        surroundings=Surroundings(
            environ=env.environ,
            cwd=env.cwd,
            folder=query.journal.folder,
            interactive=query.interactive,
            yes=args.yes,
            in_order=args.format != "jsonl",
        ),
        menus=query.interactive and not args.no_menu,
        demand=None if query.wanted is None else query.wanted.demand,
    )


def _answer(
    query: Query,
    args: argparse.Namespace,
    env: Environment,
    log: RunLog,
    early: EarlyEnd,
) -> TurnOutcome:
    inbox = early.inbox
    shown = None if query.wanted is None else query.wanted.shown
    view = open_view(args, env, query.config, query.toolset.title, shown=shown)
    renderer = LoggedRenderer(log, view, inbox.post)
    provider = LoggedProvider(query.provider, log)
    setup = _setup(query, args, env, provider, early.deadline)
    fault: Optional[Exception] = None
    try:
        if args.verbose:
            renderer.show(Notice(_where_saved(query)))
        outcome = run_turn(
            setup, query.requests, inbox, _display(args, setup, renderer), early.router
        )
    except Exception as error:
        fault = error
        outcome = _broken_off(error, renderer)
    finally:
        early.turn_is_over()
        query.journal.close()
        renderer.close(_CLOSE_WAIT_S)
        if query.servers is not None:
            query.servers.close()
    if fault is not None:
        log.failure(fault)
        if args.verbose > 1:
            _failure().tell_traceback(env, fault)
    return with_late_signal(outcome, inbox)


def _display(args: argparse.Namespace, setup: TurnSetup, renderer: Renderer) -> Display:
    """What the turn is shown on: for a program with more than a person needs."""
    if args.format != "jsonl":
        return renderer
    detailed: Display = importlib.import_module("jpq.turn.for_programs").Detailed(
        renderer,
        setup.journal,
        setup.toolset,
        setup.model,
        setup.config,
        setup.surroundings.environ,
    )
    return detailed


def _replay(args: argparse.Namespace, env: Environment) -> bool:
    # What draws a whole conversation is needed by this option only.
    done: bool = importlib.import_module("jpq.cli.conversation_replay").replay_chosen(args, env)
    return done


def _offer_compaction(
    query: Query, outcome: TurnOutcome, args: argparse.Namespace, env: Environment, log: RunLog
) -> None:
    too_long = getattr(outcome.ending.error, "kind", None) is ErrorKind.CONTEXT_LENGTH
    limit = query.config["conversation.compact_at"]
    if args.quiet or not (too_long or limit):
        return
    # Both are of no use to most turns.
    offer = importlib.import_module("jpq.cli.conversation_offer").compaction_offer
    known = importlib.import_module("jpq.provider.window").context_window
    where = (env.paths.cache, env.environ)
    line = offer(query.journal, too_long, limit, lambda: known(query.model, query.config, *where))
    if line:
        env.notice(line)
        if query.interactive and outcome.signum is None and env.stdout and env.stdout.isatty():
            asker = importlib.import_module("jpq.cli.conversation_ask").Asker
            importlib.import_module("jpq.cli.compaction_prompt").ask_to_compact(
                query.journal,
                too_long,
                env,
                lambda: asker(query.config, env, base_url=args.base_url or "", log=log),
            )


def _make_title(
    query: Query,
    outcome: TurnOutcome,
    env: Environment,
    log: RunLog,
    early: EarlyEnd,
) -> None:
    """Have a model name a new conversation; a script is not kept waiting for that."""
    if query.config["conversation.title"] != "model" or outcome.ending.exit_code:
        return
    if outcome.signum is None and env.stdout is not None and env.stdout.isatty():
        module = importlib.import_module("jpq.cli.title_model")  # a setting that few have
        module.give_title(query, outcome.text, env, log, early)


def _broken_off(error: Exception, renderer: Renderer) -> TurnOutcome:
    """The outcome of a turn that a fault ended, told on every channel like any other."""
    told: JpqError = _failure().as_error(error)
    ending = of_error(told)
    event = Error(told.word, told.message, told.where, told.hint)
    renderer.show(event)
    renderer.show(Result(ending.status, "", None, Usage(), None, ending.exit_code, event))
    renderer.flush(_FLUSH_WAIT_S)
    return TurnOutcome(ending, None, "", Usage(), None)


def _failure() -> Any:
    # Needed by a run that broke only.
    return importlib.import_module("jpq.cli.failure")


def _where_saved(query: Query) -> str:
    folder = query.journal.folder
    return "nothing is saved" if folder is None else f"saved in {folder}"


def _log_ending(log: RunLog, outcome: TurnOutcome, seconds: float) -> None:
    log.info(
        "ended after %.1f s: %s, finish reason %s, exit code %d, served by %s, %s",
        seconds,
        outcome.ending.status,
        outcome.finish_reason,
        outcome.ending.exit_code,
        outcome.model,
        outcome.usage.to_json() or "no usage reported",
    )


def open_view(
    args: argparse.Namespace,
    env: Environment,
    config: Config,
    tool_title: Callable[[str, Mapping[str, Any]], str],
    chat: bool = False,
    shown: Optional[Shown] = None,
) -> View:
    """What shows the answers on stdout, and all else on stderr; of a query or of a ``chat``."""
    caps = caps_of(env.environ, env.stdout, env.stderr, args.format, config["style.color"])
    options = ViewOptions(
        reasoning=config["style.reasoning"],
        tool_result=config["style.tool.result"],
        tool_arguments=config["style.tool.arguments"],
        tool_link=config["style.tool.link"],
        tool_title=tool_title,
        sanitize=config["style.sanitize"],
        usage=args.usage,
        quiet=args.quiet,
        verbose=args.verbose > 0,
        wrap=config["style.wrap"],
        background=config["style.background"],
        link=config["style.link"],
        typewriter_ms=config["style.typewriter_ms"],
        environ=env.environ,
        chat=chat,
    )
    return make_view(args.format, env.stdout, env.stderr, caps, options, shown)
