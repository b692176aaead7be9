"""``jpq --batch FILE``: many questions in one run, one a line (docs/batch.md)."""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import time
from typing import Any, BinaryIO, Callable, Iterator, Mapping, Optional, Tuple

from jpq.cli.batch.answering import LineAnswerer
from jpq.cli.batch.lines import Line, count_lines, read_lines
from jpq.cli.batch.run import BatchRun, Plan
from jpq.cli.batch.sink import Sink, open_sink, stream_sink
from jpq.cli.batch.watching import Watching
from jpq.cli.early_end import EarlyEnd
from jpq.cli.environment import Environment
from jpq.cli.failure import tell_error
from jpq.cli.log import RunLog, run_log
from jpq.cli.output_file import is_stdout
from jpq.cli.progress import StderrProgress
from jpq.cli.query_options import chosen_settings
from jpq.cli.query_setup import begin_servers, load_settings, teller
from jpq.cli.query_tools import offered_toolset
from jpq.errors import BadInputError, ExitCode, UsageError, WriteError
from jpq.events.turn import Result
from jpq.interrupt.signals import end_by_signal
from jpq.provider.registry import parse_model
from jpq.terminal.tty import interactive
from jpq.turn.inbox import Inbox

_JOBS = 4


def run(args: argparse.Namespace, env: Environment) -> int:
    """Answer the lines; the exit code. Ends the process by the signal that ended the run.

    Raises JpqError for what is wrong before the first line.
    """
    gc.enable()  # unlike a question, a batch lives for long
    started = time.monotonic()
    with run_log(args, env) as log, EarlyEnd(started) as early:
        code, signum = _Batch(args, env, log, early).run()
    if signum is not None:
        end_by_signal(signum)
    return code


class _Batch:
    """What a batch needs, opened and closed. Main thread."""

    def __init__(
        self, args: argparse.Namespace, env: Environment, log: RunLog, early: EarlyEnd
    ) -> None:
        self._args = args
        self._env = env
        self._log = log
        self._early = early
        self._chosen: Mapping[str, Any] = chosen_settings(args, env)
        asks = interactive(env.environ, args.non_interactive)
        self._config = load_settings(args, env, self._chosen, asks, {})
        for warning in self._config.warnings:
            teller(args, env)(warning)
        self._patient = asks

    def run(self) -> Tuple[int, Optional[int]]:
        """The exit code, and the signal that ended the run."""
        args, env, config = self._args, self._env, self._config
        self._early.limit(config["request.total_timeout_s"])
        progress = StderrProgress(env, quiet=args.quiet)
        servers = begin_servers(args, env, config, asks=False)
        answering: Optional[LineAnswerer] = None
        try:
            toolset = offered_toolset(args, config, env.cwd, known=servers is None)
            answering = LineAnswerer(
                args, env, self._chosen, config, toolset, progress, self._log.secrets.add
            )
            if config["model"] is not None:  # what is wrong with it is wrong with every line
                model = parse_model(config["model"], config.table("aliases"))
                provider = answering.provider(model, config)
                provider.prepare(model.model, progress)
                if servers is not None:
                    tools = servers.tools(provider, model)
                    answering.offer(offered_toolset(args, config, env.cwd, tools))
            progress.end()
            with _opened_input(args.batch, env) as file:
                return self._answer(file, answering)
        finally:
            progress.end()
            if answering is not None:
                answering.close()
            if servers is not None:
                servers.close()

    def _answer(self, file: BinaryIO, answering: LineAnswerer) -> Tuple[int, Optional[int]]:
        args, env = self._args, self._env
        on_terminal = args.output in (None, "-") and env.stdout is not None and env.stdout.isatty()
        watching = Watching(env, self._count(), args.quiet, moves=not on_terminal)
        sink = self._sink(watching.tell)
        answering.deadline = self._early.deadline
        plan = Plan(
            jobs=args.jobs or _JOBS,
            ordered=not args.unordered,
            deadline=self._early.deadline,
            max_cost=self._config["request.max_cost_usd"],
            patient=self._patient,
            shutdown_s=self._config["interrupt.shutdown_s"],
        )

        def answer(line: Line, inbox: Inbox) -> Result:
            result = answering.answer(line, inbox)
            code, usage = result.exit_code, result.usage.to_json()
            self._log.debug("line %d: %s, %d, %s", line.number, result.status, code, usage)
            return result

        batch = BatchRun(plan, sink, answer, watching.show, watching.tell)
        self._early.turn_begins(batch.inbox.post)
        try:
            with contextlib.closing(sink):
                code = batch.run(_lines(file, args.shard))
        except BrokenPipeError:
            return int(ExitCode.BROKEN_PIPE), None
        except OSError as error:
            raise _write_error(sink, error) from error
        finally:
            watching.clear()
            self._early.turn_is_over()
        watching.sum_up(batch.totals)
        if batch.stopped_by is not None:
            tell_error(env, batch.stopped_by)
        self._log.info("the batch ended: %d answered, %d failed, exit code %d",
                       batch.totals.answered, batch.totals.failed, code)  # fmt: skip
        return code, batch.signum

    def _sink(self, tell: Callable[[str], None]) -> Sink:
        args, env = self._args, self._env
        if args.output in (None, "-") or is_stdout(_path(args.output, env)):
            descriptor = os.open(os.devnull, os.O_WRONLY) if env.stdout is None else 1
            return stream_sink(descriptor)
        path = _path(args.output, env)
        asked = _path(args.batch, env)
        if os.path.exists(path) and os.path.exists(asked) and os.path.samefile(path, asked):
            raise UsageError("--output names the file of questions; name another one.", where=path)
        return open_sink(path, args.retry, tell)

    def _count(self) -> Optional[int]:
        """How many lines there are, where that can be found out."""
        if self._args.quiet or self._args.batch == "-":
            return None
        path = _path(self._args.batch, self._env)
        return count_lines(path, self._args.shard) if os.path.isfile(path) else None


def _lines(file: BinaryIO, shard: Optional[Tuple[int, int]]) -> Iterator[Line]:
    try:
        yield from read_lines(file, shard)
    except OSError as error:
        raise BadInputError(f"The batch cannot be read: {error.strerror}.") from error


def _opened_input(name: str, env: Environment) -> BinaryIO:
    """The file of lines, as a context manager. Raises BadInputError."""
    if name == "-":
        if env.stdin is None:
            raise BadInputError("stdin is closed, and --batch - reads it.")
        return open(env.stdin.fileno(), "rb", closefd=False)
    path = _path(name, env)
    try:
        return open(path, "rb")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadInputError(f"The batch cannot be read: {reason}.", where=path) from error


def _path(name: str, env: Environment) -> str:
    return os.path.join(env.cwd, os.path.expanduser(name))


def _write_error(sink: Sink, error: OSError) -> WriteError:
    hint = "Make room, and run the same command: it goes on." if sink.path != "stdout" else ""
    return WriteError(f"Cannot write: {error.strerror or error}.", where=sink.path, hint=hint)
