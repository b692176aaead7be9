"""File locks between real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from jpq.config.file_lock import FileLock, only_writer
from jpq.config.keys import KeyStore
from jpq.errors import WriteError

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HOLD = """
import sys
from jpq.config.file_lock import FileLock
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
            assert lock.acquire(timeout_s=15.0)


def test_a_wait_can_be_cancelled(path: str) -> None:
    cancelled = threading.Event()
    with FileLock(path) as held, FileLock(path) as wanted:
        assert held.try_acquire()
        threading.Timer(0.05, cancelled.set).start()
        assert not wanted.acquire(cancelled=cancelled)


def test_a_lock_in_a_folder_that_is_missing_is_an_error(tmp_path: object) -> None:
    with pytest.raises(OSError):
        FileLock(os.path.join(str(tmp_path), "none", "lock")).try_acquire()


KEEP = """
import sys
from jpq.config.keys import KeyStore
store = KeyStore(sys.argv[1])
sys.stdin.readline()
for number in range(20):
    store.set(f"{sys.argv[2]}{number}", f"sk-{number}")
    if number % 2:
        assert store.remove(f"{sys.argv[2]}{number}")
"""


def test_keys_set_by_many_at_once_are_all_kept(tmp_path: object) -> None:
    path = os.path.join(str(tmp_path), "keys.json")
    command = [sys.executable, "-c", KEEP, path]
    writers = [
        subprocess.Popen([*command, name], stdin=subprocess.PIPE, cwd=ROOT, text=True)
        for name in "abc"
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.close()
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert KeyStore(path).names() == sorted(f"{name}{n}" for name in "abc" for n in range(0, 20, 2))


def test_a_writer_that_does_not_end_is_told_of(path: str) -> None:
    with FileLock(path) as held:
        assert held.try_acquire()
        with pytest.raises(WriteError) as caught, only_writer(path, wait_s=0.1):
            raise AssertionError("never gets here")
        assert caught.value.where == path


def test_what_cannot_be_locked_is_changed_all_the_same(path: str) -> None:
    os.mkdir(path)
    with only_writer(path):
        pass
