"""An exclusive lock on a file that the system drops when its holder ends, however it ends."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Optional

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

POLL_S = 0.05


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
            if sys.platform == "win32":
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            else:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
            os.close(descriptor)  # closing unlocks

    def __enter__(self) -> FileLock:
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()
