"""The person's own editor, for texts longer than a line."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import tempfile
from typing import Iterator, List, Mapping, Optional, Sequence

from jpq.errors import BadInputError, UsageError

_CONTROLLING_TERMINAL = "/dev/tty"


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


def edit_text(text: str, suffix: str, command: Sequence[str]) -> str:
    """``text`` as it is after the person edited and saved it.

    ``suffix`` lets the editor know the language. Blocks until the editor ends. Raises
    BadInputError when it cannot be started or says that it failed.
    """
    handle, path = tempfile.mkstemp(prefix="jpq-", suffix=suffix)  # mode 0600
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        _run([*command, path])
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def _run(command: List[str]) -> None:
    try:
        with _controlling_terminal() as fd:
            status = subprocess.call(command, stdin=fd, stdout=fd, stderr=fd)
    except OSError as error:
        raise BadInputError(
            f"The editor could not be started: {error.strerror or error}.",
            where=command[0],
            hint="Set VISUAL or EDITOR to a program that exists.",
        ) from error
    if status:
        raise BadInputError(
            f"The editor ended with status {status}, so its text is not used.", where=command[0]
        )


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
