"""File locks between real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from jpq.provider.local_lock import FileLock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HOLD = """
import sys
from jpq.provider.local_lock import FileLock
held, second = FileLock(sys.argv[1]), FileLock(sys.argv[1])
assert held.try_acquire() and not second.try_acquire()
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: object) -> str:
    return os.path.join(str(tmp_path), "lock")


def test_one_holder_at_a_time(path: str) -> None:
    with FileLock(path) as first, FileLock(path) as second:
        assert first.try_acquire()
        assert not second.try_acquire()
        assert not second.acquire(timeout_s=0.1)
        first.release()
        assert second.acquire(timeout_s=1.0)


def test_a_killed_holder_holds_nothing(path: str) -> None:
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", HOLD, path]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=ROOT) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        with FileLock(path) as lock:
            assert not lock.try_acquire()
            os.kill(holder.pid, signal.SIGKILL)
            assert lock.acquire(timeout_s=5.0)


def test_a_wait_can_be_cancelled(path: str) -> None:
    cancelled = threading.Event()
    with FileLock(path) as held, FileLock(path) as wanted:
        assert held.try_acquire()
        threading.Timer(0.05, cancelled.set).start()
        assert not wanted.acquire(cancelled=cancelled)


def test_a_lock_in_a_folder_that_is_missing_is_an_error(tmp_path: object) -> None:
    with pytest.raises(OSError):
        FileLock(os.path.join(str(tmp_path), "none", "lock")).try_acquire()
