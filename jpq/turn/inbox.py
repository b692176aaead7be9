"""Inbox: the main thread's only mailbox."""

from __future__ import annotations

import queue
import sys
import time
from typing import Any, Callable, Optional

# A lock wait cannot be interrupted on Windows, so a signal would only be seen at its end.
_WINDOWS_POLL_S = 0.2


class Inbox:
    """Many producers (reader and tool threads, signal handlers), one consumer (the main thread).

    A SimpleQueue because its ``put`` may be called inside a signal handler: ``Queue.put``
    and ``Event.set`` take a lock that the interrupted code may already hold (bpo-14976).
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._clock = clock
        self._poll = _WINDOWS_POLL_S if sys.platform == "win32" else None

    def post(self, item: Any) -> None:
        """Add an item. Any thread, and signal handlers."""
        self._queue.put(item)

    def take(self, deadline: Optional[float] = None) -> Any:
        """The next item, or None when the clock passes ``deadline`` first. Main thread only."""
        while True:
            wait = None if deadline is None else deadline - self._clock()
            try:
                if wait is not None and wait <= 0:
                    return self._queue.get_nowait()
                if self._poll is not None:
                    wait = self._poll if wait is None else min(wait, self._poll)
                return self._queue.get(timeout=wait)
            except queue.Empty:
                if deadline is not None and self._clock() >= deadline:
                    return None

    def take_ready(self) -> Any:
        """An item that is already there, or None. Main thread only."""
        # The only consumer asks, so what is there stays there until it is taken.
        return None if self._queue.empty() else self._queue.get_nowait()
