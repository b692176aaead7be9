"""Inbox: order, deadlines, a clock that knows of stopped time, and signals that wake nobody."""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
from typing import Any, Iterator, Optional

import pytest

from jpq.turn.inbox import Inbox

SOON_S = 30.0  # on any machine


def test_items_come_in_the_order_they_were_posted() -> None:
    inbox = Inbox()
    for item in (1, 2, 3):
        inbox.post(item)
    assert [inbox.take(), inbox.take_ready(), inbox.take(inbox.clock())] == [1, 2, 3]
    assert inbox.take_ready() is None


def test_a_deadline_ends_the_wait() -> None:
    inbox = Inbox()
    started = time.monotonic()
    assert inbox.take(inbox.clock() + 0.15) is None
    assert time.monotonic() - started >= 0.15
    assert inbox.take(inbox.clock() - 1) is None


def test_time_in_which_the_process_was_stopped_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0

    class Stopping(queue.SimpleQueue):  # type: ignore[type-arg]
        """Nothing comes. In the second wait the process is stopped for a minute."""

        waits = 0

        def get(self, block: bool = True, timeout: Optional[float] = None) -> Any:
            nonlocal now
            self.waits += 1
            now += max(timeout or 0.0, 0.001) + (60.0 if self.waits == 2 else 0.0)
            raise queue.Empty

    monkeypatch.setattr(queue, "SimpleQueue", Stopping)
    inbox = Inbox(lambda: now)
    assert inbox.take(inbox.clock() + 0.4) is None
    assert now == pytest.approx(60.4, abs=0.1)
    assert 0.4 <= inbox.clock() < 0.5


@pytest.fixture
def deaf_main_thread() -> Iterator[None]:
    """Signals go to another thread, as if they had come just before the wait begins: they
    are noticed by Python, but wake nobody."""
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    done.set()
    other.join()


@pytest.mark.skipif(sys.platform == "win32", reason="no signal masks")
def test_a_signal_that_does_not_end_the_wait_is_heard(deaf_main_thread: None) -> None:
    inbox = Inbox()
    before = signal.signal(signal.SIGUSR1, lambda *_: inbox.post("signal"))
    sender = threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGUSR1))
    try:
        sender.start()
        started = time.monotonic()
        assert inbox.take(inbox.clock() + 2 * SOON_S) == "signal"
        assert time.monotonic() - started < SOON_S
    finally:
        sender.join()
        signal.signal(signal.SIGUSR1, before)
