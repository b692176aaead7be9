"""Watchdog: it tells the seconds that are left, and forces the end."""

from __future__ import annotations

import queue
import signal
from typing import List

import pytest

from jpq.interrupt import watchdog
from jpq.interrupt.watchdog import Watchdog
from jpq.terminal.modes import watched

WAIT_S = 10.0


def test_the_end_is_forced_with_the_code_of_the_signal_and_the_terminal_restored() -> None:
    left: queue.SimpleQueue[int] = queue.SimpleQueue()
    told: List[int] = []
    restored: List[str] = []
    dog = Watchdog(0.05, told.append, left.put)
    with watched(lambda: restored.append("modes"), lambda: None):
        dog.start(signal.SIGTERM)
        dog.start(signal.SIGINT)  # it has begun already
        assert left.get(timeout=WAIT_S) == 143
    assert (told, restored) == ([], ["modes"])


class Clock:
    """Time that passes in sleep only."""

    def __init__(self) -> None:
        self._now = 0.0

    def monotonic(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self._now += seconds


def test_after_a_second_it_counts_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "time", Clock())
    left: queue.SimpleQueue[int] = queue.SimpleQueue()
    told: List[int] = []
    Watchdog(3.25, told.append, left.put).start(signal.SIGINT)
    assert left.get(timeout=WAIT_S) == 130
    assert told == [3, 2, 1]
