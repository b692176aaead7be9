"""``--output FILE``: the answer in a file that is replaced once it is whole."""

from __future__ import annotations

import os
import stat
from typing import Callable, Optional, Tuple

from jpq.cli.environment import Environment
from jpq.config.files import sync_folder
from jpq.errors import ExitCode, WriteError

# Not through a link that somebody has put there, as anybody can in /tmp.
_BESIDE = os.O_RDWR | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
_OWNERS = 0o600
_NEW_MODE = 0o666  # of which the umask leaves what it likes, as for any new file


class OutputFile:
    """Takes the place of stdout. What is written is in a file beside ``path`` until ``keep``.

    A link stays a link: the file it points to is replaced. What is no regular file (a device,
    a named pipe) is written to as it is. Renderer thread, then main thread.
    """

    encoding = "utf-8"

    def __init__(self, path: str) -> None:
        """Raises WriteError."""
        self._path = path
        target = os.path.realpath(path)
        try:
            self._mode = _mode_of(path)
            self._temporary = ""
            if _goes_to(2, path):
                self._descriptor, self._target = os.dup(2), target
                return
            if self._mode is None or stat.S_ISREG(self._mode):
                folder, name = os.path.split(target)
                self._temporary = os.path.join(folder, f".{name}.{os.getpid()}.tmp")
            written = self._temporary or path
            flags = _BESIDE if self._temporary else os.O_WRONLY
            # Others must not read meanwhile what they may not read afterwards.
            mode = _NEW_MODE if self._mode is None else stat.S_IMODE(self._mode) | _OWNERS
            self._descriptor = os.open(written, flags, mode)
        except (OSError, ValueError) as error:
            raise self._failed(error) from error
        self._target = target

    def fileno(self) -> int:
        """The descriptor."""
        return self._descriptor

    def isatty(self) -> bool:
        """Never: a terminal that is named as a file gets what a file gets."""
        return False

    def write(self, data: bytes) -> int:
        """Write some of ``data``; how much. Raises OSError, which names the file."""
        try:
            return os.write(self._descriptor, data)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._path) from error

    def flush(self) -> None:
        """Nothing waits here."""

    def keep(self) -> None:
        """Put what was written in the place of the file. Raises WriteError; it can be discarded
        then."""
        if not self._temporary:
            return
        try:
            if self._mode is not None:
                os.chmod(self._temporary, stat.S_IMODE(self._mode))
            os.fsync(self._descriptor)
            self.close()  # where files that are open cannot be renamed
            os.replace(self._temporary, self._target)
            sync_folder(os.path.dirname(self._target))
        except OSError as error:
            raise self._failed(error) from error

    def discard(self) -> bytes:
        """Leave the file as it was; what was written, unless it has gone its way already."""
        self.close()
        try:
            with open(self._temporary, "rb") as file:
                written = file.read()
            os.remove(self._temporary)
        except OSError:  # there is none
            return b""
        return written

    def close(self) -> None:
        """Write no more."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _failed(self, error: Exception) -> WriteError:
        reason = getattr(error, "strerror", None) or error
        return WriteError(f"The --output file cannot be written: {reason}.", where=self._path)


def into_file(
    path: str, env: Environment, body: Callable[[], Tuple[int, Optional[int]]]
) -> Tuple[int, Optional[int]]:
    """Run ``body`` with the file at ``path`` for its stdout, and return what it does: an exit
    code and a signal.

    Unless the code is 0 the file stays as it was, and what was written goes to stdout.
    """
    whole = os.path.join(env.cwd, os.path.expanduser(path))
    if path == "-" or is_stdout(whole):
        return body()
    file = OutputFile(whole)
    stdout, env.stdout = env.stdout, file  # type: ignore[assignment]
    kept = False
    try:
        code, signum = body()
        if code == ExitCode.OK:
            file.keep()
            kept = True
        return code, signum
    finally:
        env.stdout = stdout
        if kept:
            file.close()
        else:
            env.out(file.discard().decode("utf-8", "replace"))


def is_stdout(path: str) -> bool:
    """Whether ``path`` is the file that stdout goes to, as /dev/stdout can be."""
    return _goes_to(1, path)


def _goes_to(descriptor: int, path: str) -> bool:
    """Whether ``descriptor`` is the regular file at ``path``. Such a file must not be replaced:
    what others write there from then on would be lost."""
    try:
        status = os.fstat(descriptor)
        return stat.S_ISREG(status.st_mode) and os.path.samestat(os.stat(path), status)
    except (OSError, ValueError):
        return False


def _mode_of(path: str) -> Optional[int]:
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None
