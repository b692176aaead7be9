"""Private files that are written whole or not at all, and the kernel's locks on files."""

from __future__ import annotations

import errno
import os
import stat
import sys
from typing import Optional

from jpq.config.paths import make_folder
from jpq.errors import ConfigError, WriteError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


_LONGEST_BYTES = 64 << 20  # settings and the like are never as long; /dev/zero has no end


def read_text(path: str) -> Optional[str]:
    """The UTF-8 text of a file, or None where there is none. Raises ConfigError."""
    try:
        with open(path, "rb", opener=_open_without_waiting) as file:
            if stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
                raise OSError(errno.EINVAL, "It is a pipe")
            data = file.read(_LONGEST_BYTES + 1)
            if len(data) > _LONGEST_BYTES:
                raise OSError(errno.EFBIG, f"It is larger than {_LONGEST_BYTES >> 20} MiB")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(
            f"Cannot read the file: {error.strerror}.",
            where=path,
            hint="Make it a file that you may read, or remove it.",
        ) from None
    return decoded(data, path)


def decoded(data: bytes, path: str) -> str:
    """``data`` as UTF-8 text, without a byte order mark. Raises ConfigError with the line."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            "The file is not UTF-8 text.",
            where=f"{path}:{line}",
            hint="Save it as UTF-8.",
        ) from None


def write_private(path: str, text: str) -> None:
    """Replace the file by ``text``; its mode is 0600, new folders are 0700. Raises WriteError.

    A link stays a link: the file that it points to is replaced. A reader or a power cut
    sees the old text or the new, never a part.
    """
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    make_folder(folder)
    temporary = os.path.join(folder, f".{os.path.basename(target)}.{os.getpid()}.tmp")
    try:
        if os.path.exists(target) and not os.path.isfile(target):
            # /dev/null may stand for no file, and root could replace that.
            raise OSError(errno.EINVAL, "It is not a regular file")
        _write_synced(temporary, text.encode("utf-8"))
        os.replace(temporary, target)
        sync_folder(folder)
    except OSError as error:
        _remove(temporary)
        raise WriteError(
            f"Cannot write the file: {error.strerror}.",
            where=path,
            hint="Make room or allow writing there, or set JPQ_HOME to another folder.",
        ) from None


def sync_folder(folder: str) -> None:
    """Make a rename in ``folder`` last through a power cut, where folders can be synced.

    Raises OSError.
    """
    if os.name != "posix":
        return  # Windows cannot open a folder
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def lock_now(descriptor: int) -> None:
    """Lock an open file without waiting, until it is closed in every process that holds this
    descriptor. Raises OSError when somebody has the lock, and where there are no locks."""
    if sys.platform == "win32":
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def unlock(descriptor: int) -> None:
    """Give the lock back at once. Closing alone is not enough: a child that is being started
    holds a copy of the descriptor until its exec is through, and the lock with it."""
    if sys.platform == "win32":
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # for a pipe's other end


def _write_synced(path: str, data: bytes) -> None:
    _remove(path)  # what a killed process with the same number left
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o600)
    with open(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


_BINARY = getattr(os, "O_BINARY", 0)  # Windows only


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
