"""A temporary folder that is gone after the run, or after the next one if this one was killed."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
import time

from jpq.config.file_lock import FileLock

_LOCK = "lock"
# A younger folder may not be locked yet.
_YOUNG_S = 60.0


class FolderOfRun:
    """A folder of this user only, in the system's place for temporary files. Main thread.

    A lock that ends with the process says that it is in use.
    """

    def __init__(self, prefix: str) -> None:
        _remove_left_behind(prefix)
        self.path = tempfile.mkdtemp(prefix=prefix)  # mode 0700
        self._lock = FileLock(os.path.join(self.path, _LOCK))
        with contextlib.suppress(OSError):  # without locks it stays, should jpq be killed
            self._lock.try_acquire()

    def remove(self) -> None:
        """Remove it, with all that is in it."""
        self._lock.release()
        shutil.rmtree(self.path, ignore_errors=True)


def _remove_left_behind(prefix: str) -> None:
    """Remove the folders of runs that could not do so themselves."""
    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith(prefix) and _is_left_behind(entry):
                shutil.rmtree(entry.path, ignore_errors=True)


def _is_left_behind(entry: os.DirEntry[str]) -> bool:
    path = os.path.join(entry.path, _LOCK)
    try:
        facts = entry.stat(follow_symlinks=False)
        ours = not hasattr(os, "getuid") or facts.st_uid == os.getuid()
        young = time.time() - facts.st_mtime < _YOUNG_S
        if not (ours and stat.S_ISDIR(facts.st_mode)) or young or not os.path.exists(path):
            return False
        with FileLock(path) as lock:
            return lock.try_acquire()
    except OSError:
        return False
