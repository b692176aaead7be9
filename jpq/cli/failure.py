"""An error that ends a run outside a turn, told to the person or to the program that asked."""

from __future__ import annotations

import errno
import traceback
from typing import Optional

from jpq.cli.environment import Environment
from jpq.errors import ExitCode, JpqError, WriteError
from jpq.events.turn import Error, Result
from jpq.events.usage import Usage
from jpq.render.aside import ViewOptions
from jpq.render.lines import error_lines
from jpq.render.views import make_view
from jpq.terminal.caps import Caps
from jpq.turn import ending

FOR_PROGRAMS = ("json", "jsonl")


def as_error(error: Exception) -> JpqError:
    """``error`` with a message and an exit code, whatever it is."""
    if isinstance(error, JpqError):
        return error
    if isinstance(error, OSError) and error.errno is not None:
        where = str(error.filename or "stdout")  # anything else that is written has a name
        return WriteError(f"{error.strerror or error}.", where=where)
    if isinstance(error, MemoryError):
        return JpqError("There is not enough memory.", hint="Ask with less, or allow jpq more.")
    return JpqError(
        f"jpq has a fault of its own: {type(error).__name__}: {error}",
        hint="Run it again with -vv to see where, and report it please.",
    )


def report(env: Environment, error: Exception, format: Optional[str], verbose: int) -> int:
    """Tell how the run failed, in ``format`` (None where the command has none); its exit code.

    A reader of stdout that went away is told nothing.
    """
    if isinstance(error, OSError) and error.errno == errno.EPIPE:
        return int(ExitCode.BROKEN_PIPE)
    told = as_error(error)
    code = int(told.exit_code)
    if format in FOR_PROGRAMS:
        event = Error(told.word, told.message, told.where, told.hint)
        _show_for_programs(env, str(format), ending.of_error(told).status, code, event)
    else:
        tell_error(env, told)
    if verbose > 1:
        tell_traceback(env, error)
    return code


def report_signal(env: Environment, signum: int, format: Optional[str]) -> None:
    """Give a program its result, although a signal came before the turn."""
    if format in FOR_PROGRAMS:
        ended = ending.of_signal(signum)
        _show_for_programs(env, str(format), ended.status, ended.exit_code, None)


def tell_error(env: Environment, error: JpqError) -> None:
    """What happened, where, and what to do, on stderr."""
    for line in error_lines(error.message, error.where, error.hint):
        env.tell(line)


def tell_traceback(env: Environment, error: Exception) -> None:
    """Where in jpq it happened, for whoever mends it."""
    env.tell_raw("".join(traceback.format_exception(type(error), error, error.__traceback__)))


def _show_for_programs(
    env: Environment, format: str, status: str, code: int, error: Optional[Error]
) -> None:
    """The events of a turn that did not begin: a program always finds a result."""
    view = make_view(format, env.stdout, env.stderr, Caps(), ViewOptions())
    if error is not None:
        view.show(error)
    view.show(Result(status, "", None, Usage(), None, code, error))
    view.close()
    view.flush()  # a stdout that takes nothing cannot be told so
