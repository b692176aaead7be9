"""Private files: folders 0700 and files 0600 whatever the umask, whole writes, typed errors."""

from __future__ import annotations

import errno
import os
import stat
from typing import List

from jpq.errors import BadInputError, WriteError

_BINARY = getattr(os, "O_BINARY", 0)  # Windows
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
_PIECE = 1 << 20


def write_error(doing: str, error: OSError, path: str) -> WriteError:
    """``error`` as the person is told of it, with the system's reason."""
    return WriteError(
        f"Cannot {doing}: {error.strerror or error}.",
        where=path,
        hint="Free some space or check the folder's permissions; --ephemeral saves nothing.",
    )


def make_private_folder(path: str) -> None:
    """Create ``path`` for this user only, and say so to its umask. Raises OSError if it exists."""
    os.mkdir(path, 0o700)
    os.chmod(path, 0o700)


def open_private(path: str, flags: int) -> int:
    """A descriptor of ``path``, which no child inherits; a new file gets mode 0600."""
    flags |= _BINARY
    if not flags & os.O_CREAT:
        return os.open(path, flags)
    try:
        descriptor = os.open(path, flags | os.O_EXCL, 0o600)
    except FileExistsError:
        return os.open(path, flags & ~os.O_EXCL, 0o600)
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, 0o600)
    return descriptor


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte of ``data``; one system call unless the system takes less."""
    written = os.write(descriptor, data)
    while written < len(data):
        written += os.write(descriptor, data[written : written + _PIECE])


def names_in(folder: str) -> List[str]:
    """What is in ``folder``, and nothing where there is none. Raises BadInputError."""
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise BadInputError(
            f"The folder cannot be read: {error.strerror or error}.",
            where=folder,
            hint="Check its permissions, or set JPQ_HOME to another one.",
        ) from error


def is_file(path: str) -> bool:
    """Whether there is a regular file. Raises PermissionError where nobody may look."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except PermissionError:
        raise
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return False


def read_file(path: str) -> bytes:
    """The whole of ``path``; nothing when it does not exist. Raises OSError.

    Anything but a regular file is an error: a named pipe would be waited for without end.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | _BINARY | _NO_WAIT)
    except FileNotFoundError:
        return b""
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise OSError(errno.EINVAL, "It is not a regular file", path)
        data = os.read(descriptor, state.st_size + 1)  # a file object would cost as much again
        while True:
            more = os.read(descriptor, _PIECE)
            if not more:
                return data
            data += more
    finally:
        os.close(descriptor)


def keep_damaged(path: str) -> str:
    """Copy ``path`` beside itself as ``<name>.damaged``, or ``<name>.2.damaged`` and so on;
    the copy's path. Raises OSError."""
    data = read_file(path)
    number = 1
    while True:
        copy = f"{path}.damaged" if number == 1 else f"{path}.{number}.damaged"
        number += 1
        try:
            descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        return copy


def replace_file(path: str, data: bytes, durable: bool = True) -> None:
    """Make ``data`` the content of ``path``, or leave it as it was. Raises OSError.

    What is not ``durable`` may be lost when the power fails.
    """
    temporary = f"{path}.{os.getpid()}.tmp"
    descriptor = open_private(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        try:
            write_all(descriptor, data)
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise


def write_named(path: str, data: bytes) -> None:
    """Make ``data`` the content of a file that a person named. Raises WriteError.

    A link stays a link, and what is no regular file, such as a device or a pipe, is written
    to as it is: it must not be replaced.
    """
    try:
        _write_named(path, data)
    except OSError as error:
        failed = write_error("write the file", error, path)
        failed.hint = "Name another file or folder, or make room there; what is saved is safe."
        raise failed from error


def _write_named(path: str, data: bytes) -> None:
    try:
        regular = stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        regular = True  # it will be
    if regular:
        replace_file(os.path.realpath(path), data)
        return
    descriptor = os.open(path, os.O_WRONLY | _BINARY)
    try:
        write_all(descriptor, data)
    finally:
        os.close(descriptor)


def remove_tree(path: str) -> None:
    """Remove the folder ``path`` and all that is in it; links are removed, not followed."""
    for folder, folders, files in os.walk(path, topdown=False):
        for name in files:
            os.unlink(os.path.join(folder, name))
        for name in folders:
            inner = os.path.join(folder, name)
            if os.path.islink(inner):
                os.unlink(inner)
            else:
                os.rmdir(inner)
    os.rmdir(path)
