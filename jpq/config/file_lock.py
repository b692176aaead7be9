"""An exclusive lock on a file that the system drops when its holder ends, however it ends."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import Iterator, Optional

from jpq.config.files import lock_now, unlock
from jpq.config.paths import make_folder
from jpq.errors import WriteError

POLL_S = 0.05
_WRITER_WAIT_S = 10.0


class FileLock:
    """One lock on ``path``, which is created empty and never removed.

    Not for sharing between threads: each takes a FileLock of its own. A context manager
    that releases at the end.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor: Optional[int] = None

    def try_acquire(self) -> bool:
        """Take the lock if nobody holds it. Raises OSError where the file cannot be locked."""
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            lock_now(descriptor)
        except (BlockingIOError, PermissionError):  # POSIX, Windows: somebody holds it
            os.close(descriptor)
            return False
        except OSError:  # a file system without locks; waiting would never end
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        return True

    def acquire(
        self, timeout_s: Optional[float] = None, cancelled: Optional[threading.Event] = None
    ) -> bool:
        """Wait for the lock; False after ``timeout_s`` or once ``cancelled`` is set.

        Looks again every 50 ms, because a blocking lock call could not be cancelled.
        """
        wait = (cancelled or threading.Event()).wait
        end = None if timeout_s is None else time.monotonic() + timeout_s
        while not self.try_acquire():
            if wait(POLL_S) or (end is not None and time.monotonic() >= end):
                return False
        return True

    def release(self) -> None:
        """Give the lock back; does nothing when it is not held."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            unlock(descriptor)
            os.close(descriptor)

    def __enter__(self) -> FileLock:
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()


@contextlib.contextmanager
def only_writer(path: str, wait_s: float = _WRITER_WAIT_S) -> Iterator[None]:
    """What reads, changes and writes a file in here comes before or after every other process
    that does so with the same lock file ``path``.

    Raises WriteError when another one takes longer than ``wait_s`` seconds. Where nothing can
    be locked nobody is kept out; a folder that takes no files is told of by the writing.
    """
    make_folder(os.path.dirname(path))
    lock = FileLock(path)
    try:
        taken = lock.acquire(wait_s)
    except OSError:
        taken = True
    if not taken:
        raise WriteError(
            f"Another jpq is changing the same file, and was not done in {wait_s:g} s.",
            where=path,
            hint="Wait for it to end, then try again.",
        )
    with lock:
        yield
