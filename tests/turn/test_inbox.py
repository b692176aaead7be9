"""Inbox: order, deadlines, a clock that knows of stopped time, and signals that wake nobody."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import Iterator

import pytest

from jpq.turn.inbox import Inbox

SOON_S = 2.0


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


def test_time_in_which_the_process_was_stopped_does_not_count() -> None:
    stopped_s = 0.0

    def stop() -> None:
        nonlocal stopped_s
        stopped_s = 60.0

    inbox = Inbox(lambda: time.monotonic() + stopped_s)
    started, began = time.monotonic(), inbox.clock()
    stopper = threading.Timer(0.05, stop)
    stopper.start()
    assert inbox.take(inbox.clock() + 0.4) is None
    stopper.join()
    assert time.monotonic() - started > 0.3
    assert 0.3 < inbox.clock() - began < SOON_S


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
        assert inbox.take(inbox.clock() + 10) == "signal"
        assert time.monotonic() - started < SOON_S
    finally:
        sender.join()
        signal.signal(signal.SIGUSR1, before)
