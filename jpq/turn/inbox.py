"""Inbox: the main thread's only mailbox."""

from __future__ import annotations

import queue
import time
from typing import Any, Callable, Optional

# A signal that comes just before the wait begins does not end it (measured: 2 of 100 of
# them on Python 3.13), and on Windows none does; so no wait is longer than this.
_LONGEST_WAIT_S = 0.05
# A wait that took so much longer than it should means that the process was stopped.
_STOPPED_S = 1.0


class StopAsked:
    """Posted to have the turn saved and ended, as *stop* in a menu does. From any thread."""


class Inbox:
    """Many producers (reader and tool threads, signal handlers), one consumer (the main thread).

    A SimpleQueue because its ``put`` may be called inside a signal handler: ``Queue.put``
    and ``Event.set`` take a lock that the interrupted code may already hold (bpo-14976).
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._running_clock = clock
        self._stopped_s = 0.0

    def clock(self) -> float:
        """Seconds on a clock that stood still while the process was stopped (Ctrl+Z)."""
        return self._running_clock() - self._stopped_s

    def post(self, item: Any) -> None:
        """Add an item. Any thread, and signal handlers."""
        self._queue.put(item)

    def take(self, deadline: Optional[float] = None) -> Any:
        """The next item, or None when ``clock`` passes ``deadline`` first. Main thread only."""
        while True:
            left = _LONGEST_WAIT_S if deadline is None else deadline - self.clock()
            try:
                if left <= 0:
                    return self._queue.get_nowait()
                return self._wait(min(left, _LONGEST_WAIT_S))
            except queue.Empty:
                if deadline is not None and self.clock() >= deadline:
                    return None

    @property
    def holds_something(self) -> bool:
        """Whether ``take`` would not wait. Main thread only."""
        return not self._queue.empty()

    def take_ready(self) -> Any:
        """An item that is already there, or None. Main thread only."""
        # The only consumer asks, so what is there stays there until it is taken.
        return None if self._queue.empty() else self._queue.get_nowait()

    def _wait(self, seconds: float) -> Any:
        started = self._running_clock()
        try:
            return self._queue.get(timeout=seconds)
        finally:
            excess = self._running_clock() - started - seconds
            if excess > _STOPPED_S:
                self._stopped_s += excess
