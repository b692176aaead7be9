"""The person's own editor, for texts longer than a line."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import tempfile
import threading
from typing import Callable, Iterator, List, Mapping, Optional, Sequence

from jpq.errors import BadInputError, UsageError

_CONTROLLING_TERMINAL = "/dev/tty"
_MEANWHILE_S = 0.05


def editor_command(environ: Mapping[str, str]) -> Optional[List[str]]:
    """``$VISUAL``, else ``$EDITOR``, as an argument list; None when neither is set."""
    for name in ("VISUAL", "EDITOR"):
        value = environ.get(name, "").strip()
        if not value:
            continue
        try:
            return shlex.split(value)
        except ValueError as error:
            raise UsageError(f"${name} cannot be read: {error}.", where=value) from error
    return None


def edit_text(
    text: str,
    suffix: str,
    command: Sequence[str],
    meanwhile: Callable[[], None] = lambda: None,
) -> str:
    """``text`` as it is after the person edited and saved it.

    ``suffix`` lets the editor know the language. Blocks until the editor ends; ``meanwhile``
    is called several times a second, and what it raises ends the editor. Raises
    BadInputError when it cannot be started or says that it failed.
    """
    handle, path = tempfile.mkstemp(prefix="jpq-", suffix=suffix)  # mode 0600
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        _run([*command, path], meanwhile)
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def _run(command: List[str], meanwhile: Callable[[], None]) -> None:
    try:
        with _controlling_terminal() as fd, _keys_are_the_editors():
            process = subprocess.Popen(command, stdin=fd, stdout=fd, stderr=fd)
            status = _status(process, meanwhile)
    except OSError as error:
        raise BadInputError(
            f"The editor could not be started: {error.strerror or error}.",
            where=command[0],
            hint="Set VISUAL or EDITOR to a program that exists.",
        ) from error
    if status:
        how = f"ended with status {status}" if status > 0 else f"was ended by signal {-status}"
        raise BadInputError(f"The editor {how}, so its text is not used.", where=command[0])


def _status(process: subprocess.Popen[bytes], meanwhile: Callable[[], None]) -> int:
    try:
        while True:
            try:
                return process.wait(_MEANWHILE_S)
            except subprocess.TimeoutExpired:
                meanwhile()
    except BaseException:
        process.terminate()
        process.wait()
        raise


@contextlib.contextmanager
def _keys_are_the_editors() -> Iterator[None]:
    """Ctrl+C is for the editor, although the terminal sends it to us too (as in system(3))."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # Not SIG_IGN, which the editor would inherit.
    previous = signal.signal(signal.SIGINT, lambda signum, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


@contextlib.contextmanager
def _controlling_terminal() -> Iterator[Optional[int]]:
    """Where the editor reads and draws, as our own files may be pipes; None to use those."""
    try:
        fd = os.open(_CONTROLLING_TERMINAL, os.O_RDWR)
    except OSError:
        yield None
        return
    try:
        yield fd
    finally:
        os.close(fd)
