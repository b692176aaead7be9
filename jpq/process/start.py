"""Starts one child apart from jpq: its own session, no terminal, nothing to type."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
import tempfile
from typing import Any, Dict, Iterator, Mapping, Optional, Sequence

from jpq.named import NamedTuple


class Launch(NamedTuple):
    """What to start. ``environ`` is the whole environment; ``stdin`` is what it can read, None
    is /dev/null."""

    argv: Sequence[str]
    cwd: str
    environ: Mapping[str, str]
    stdin: Optional[bytes] = None


class CannotStart(Exception):
    """The child cannot be started; the text says why, as a sentence."""


def start(launch: Launch, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """The running child, leader of a session; what it writes comes through one pipe.

    Raises CannotStart.
    """
    with _input(launch.stdin) as stdin:
        return _started(launch, environ, stdin, subprocess.STDOUT)


def start_dialogue(launch: Launch) -> subprocess.Popen[bytes]:
    """The running child, leader of a session, with pipes to and from it; what it writes on
    stderr comes through one of its own. Raises CannotStart."""
    return _started(launch, launch.environ, subprocess.PIPE, subprocess.PIPE)


def _started(
    launch: Launch, environ: Mapping[str, str], stdin: Any, stderr: int
) -> subprocess.Popen[bytes]:
    apart: Dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
        apart = {"creationflags": flags}
    try:
        return subprocess.Popen(
            list(launch.argv),
            bufsize=0,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=launch.cwd,
            env=dict(environ),
            **apart,
        )
    except OSError as error:
        raise CannotStart(_why_not(error, launch)) from error
    except ValueError as error:
        raise CannotStart(f"An argument cannot be passed to a program: {error}.") from error


@contextlib.contextmanager
def _input(data: Optional[bytes]) -> Iterator[Any]:
    """What the child reads. A file and not a pipe, which somebody would have to write to."""
    if data is None:
        yield subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        yield file


def _why_not(error: OSError, launch: Launch) -> str:
    if not os.path.isdir(launch.cwd):
        return f"The folder {launch.cwd} does not exist."
    program = launch.argv[0]
    if error.errno == errno.ENOENT:
        return f"There is no program {program!r}."
    if error.errno == errno.EACCES:
        return f"{program!r} may not be run by this user, or is no program."
    if error.errno == errno.ENOEXEC:
        return f"{program!r} is not a program that this system can run."
    if error.errno == errno.E2BIG:
        return "The arguments are longer than this system can pass to a program."
    return f"{program!r} cannot be started: {error.strerror or error}."
