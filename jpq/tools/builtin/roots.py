"""Where file tools may work: below their roots, and through no link out of them."""

from __future__ import annotations

import os
import secrets
import stat
from typing import Any, Mapping

MAX_TEXT_BYTES = 10 * 1024 * 1024
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # a named pipe would be waited for
_BINARY = getattr(os, "O_BINARY", 0)  # Windows


class Refused(Exception):
    """A file cannot or must not be used; the text says which and why, as a sentence."""


class Roots:
    """The folders of one tool. Relative paths start from the first folder, ``base``."""

    def __init__(self, settings: Mapping[str, Any], cwd: str) -> None:
        self.base = os.path.normpath(
            os.path.join(cwd, os.path.expanduser(settings.get("cwd", ".")))
        )
        given = settings.get("roots") or ["."]
        folders = [os.path.join(self.base, os.path.expanduser(root)) for root in given]
        self._roots = [os.path.realpath(folder) for folder in folders]

    def resolve(self, path: str) -> str:
        """The real path of ``path``, with every link on the way followed. Raises Refused."""
        if "\0" in path:
            raise Refused("A path cannot hold a zero byte.")
        named = os.path.join(self.base, os.path.expanduser(path))
        try:
            real = os.path.realpath(named)
        except (OSError, ValueError) as error:
            raise Refused(f"{path} cannot be used: {error}.") from error
        if any(_within(real, root) for root in self._roots):
            return real
        allowed = ", ".join(self._roots)
        how = "leads through a link to" if _within_any(named, self._roots) else "is"
        raise Refused(
            f"{path} {how} a place outside of {allowed}, and this tool may work only there."
        )

    def shown(self, real: str) -> str:
        """A real path as people would write it: relative where it is below ``base``."""
        base = os.path.realpath(self.base)
        return os.path.relpath(real, base) if _within(real, base) else real


def _within(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def _within_any(named: str, roots: Any) -> bool:
    return any(_within(os.path.normpath(named), root) for root in roots)


def open_regular(real: str, shown: str) -> int:
    """A descriptor to read a file with. Raises Refused for anything else."""
    try:
        descriptor = os.open(real, os.O_RDONLY | _NO_FOLLOW | _NO_WAIT | _BINARY)
    except OSError as error:
        if os.path.isdir(real):
            raise Refused(f"{shown} is a folder.") from error
        raise Refused(f"{shown} cannot be read: {error.strerror}.") from error
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
        raise Refused(f"{shown} is {kind}.")
    return descriptor


def read_text(real: str, shown: str) -> str:
    """The whole of a text file, its line ends as they are. Raises Refused."""
    with os.fdopen(open_regular(real, shown), "rb") as file:
        data = file.read(MAX_TEXT_BYTES + 1)
    if len(data) > MAX_TEXT_BYTES:
        raise Refused(f"{shown} is larger than {MAX_TEXT_BYTES // (1024 * 1024)} MiB.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(f"{shown} is not UTF-8 text (at byte {error.start}).") from error


def write_text(real: str, shown: str, text: str) -> int:
    """Make ``text`` the whole of a file, or leave it as it was; the bytes written.

    Its mode stays. Folders on the way are made. Raises Refused.
    """
    data = text.encode("utf-8", "replace")
    folder = os.path.dirname(real)
    temporary = os.path.join(folder, f".{os.path.basename(real)[:100]}.{secrets.token_hex(4)}.tmp")
    try:
        os.makedirs(folder, exist_ok=True)
        mode = _mode_of(real, shown)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY
        descriptor = os.open(temporary, flags, 0o666)  # less what the umask takes
        try:
            with os.fdopen(descriptor, "wb") as file:
                if mode is not None:
                    os.chmod(temporary, mode)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, real)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise Refused(f"{shown} cannot be written: {error.strerror}.") from error
    return len(data)


def _mode_of(real: str, shown: str) -> Any:
    """The mode of the file that is there, or None. Raises Refused if it is no file."""
    try:
        mode = os.lstat(real).st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise Refused(f"{shown} is not a regular file.")
    if not mode & 0o222 or not os.access(real, os.W_OK):  # root may write everything
        raise Refused(f"{shown} is read-only.")
    return stat.S_IMODE(mode)
