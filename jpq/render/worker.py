"""Renderer: the one thread that writes to stdout and stderr.

turn --show--> queue --> view --bytes--> stdout, stderr
                 |
    barrier: everything before it is written; a lease also waits for its end
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from typing import Any, Callable, Iterator, List, Optional, Protocol

from jpq.events.turn import TurnEvent
from jpq.named import NamedTuple
from jpq.render.printer import Failure

VIEW = "view"

LEASE_WAIT_S = 1.0
CLOSE_WAIT_S = 5.0
# A menu must be there within 100 ms of its key, even where what is being written blocks.
MENU_LEASE_WAIT_S = 0.06

_ALIVE_POLL_S = 0.1
_BATCH = 256  # events before a write, so that a flood shows while it lasts


class DisplayFailed(NamedTuple):
    """Something cannot be shown any more.

    ``channel`` is ``stdout`` (``error`` is the OSError; later output is dropped) or
    ``view`` (``error`` is a bug in the drawing of one event; the rest goes on). Each is
    posted once.
    """

    channel: str
    error: BaseException


class View(Protocol):
    """Turns events into text on the channels. Only the renderer thread calls it."""

    def show(self, event: TurnEvent) -> None:
        """Draw one event; nothing is written before ``flush``."""

    def tick(self) -> Optional[float]:
        """Move what moves; seconds until the next call, None when nothing moves."""

    def flush(self) -> List[Failure]:
        """Write what was drawn; the channels that failed just now."""

    def pause(self) -> None:
        """Leave the terminal at the start of a line, with nothing on it that moves."""

    def close(self) -> None:
        """End what is open: no event follows."""


class _Barrier:
    """Reached when everything before it is written; a lease's one also waits for ``resume``."""

    def __init__(self, resume: Optional[threading.Event] = None) -> None:
        self.reached = threading.Event()
        self.resume = resume


class _Stop:
    """No item follows."""


class _Nudge:
    """Nothing to draw: there is something that does not wait for its turn."""


class Renderer:
    """Shows events on a thread of its own, which is the only one to draw and to write.

    ``show`` never blocks and keeps its caller's order. The other methods are for one
    thread, the turn's. ``post`` is called on the renderer thread with each DisplayFailed.
    """

    def __init__(self, view: View, post: Callable[[DisplayFailed], None]) -> None:
        self._view = view
        self._post = post
        # Unbounded: a slow terminal must not slow the reading of the stream or the saving.
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._urgent: Optional[_Barrier] = None  # to be reached before what is queued
        self._told_of_bug = False
        self._thread = threading.Thread(target=self._run, name="jpq-render", daemon=True)
        self._thread.start()

    def __enter__(self) -> Renderer:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def show(self, event: TurnEvent) -> None:
        """Queue ``event``."""
        self._queue.put(event)

    def flush(self, timeout_s: float) -> bool:
        """Whether everything shown before is written (or dropped, which was posted) in time.

        Not while holding the lease.
        """
        barrier = _Barrier()
        self._queue.put(barrier)
        return self._wait(barrier.reached, timeout_s) or not self._thread.is_alive()

    @contextlib.contextmanager
    def lease(self, timeout_s: float = LEASE_WAIT_S) -> Iterator[Callable[[], bool]]:
        """Own the terminal: everything queued is written and the renderer rests until the end.

        The value says whether that is so by now. It may not be, because the reader of stdout does
        not read, the machine is busy, or the renderer is dead: a menu must open all the same.
        What is shown meanwhile follows in order.
        """
        barrier = _Barrier(threading.Event())
        self._queue.put(barrier)
        yield from self._until_resumed(barrier, timeout_s)

    @contextlib.contextmanager
    def lease_now(self, timeout_s: float = MENU_LEASE_WAIT_S) -> Iterator[Callable[[], bool]]:
        """Own the terminal as with ``lease``, but without waiting for what is still queued:
        it follows afterwards, with what is shown meanwhile."""
        barrier = _Barrier(threading.Event())
        self._urgent = barrier
        self._queue.put(_Nudge())
        yield from self._until_resumed(barrier, timeout_s)

    def _until_resumed(self, barrier: _Barrier, timeout_s: float) -> Iterator[Callable[[], bool]]:
        """What both kinds of lease do between their beginning and their end."""
        try:
            self._wait(barrier.reached, timeout_s)
            yield barrier.reached.is_set
        finally:
            assert barrier.resume is not None
            barrier.resume.set()

    def close(self, timeout_s: float = CLOSE_WAIT_S) -> bool:
        """Write what is queued and end the thread; whether it ended in time."""
        self._queue.put(_Stop())
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _wait(self, reached: threading.Event, timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        while not reached.wait(max(0.0, min(_ALIVE_POLL_S, deadline - time.monotonic()))):
            if not self._thread.is_alive() or time.monotonic() >= deadline:
                return reached.is_set()
        return True

    # What follows runs on the renderer thread.

    def _run(self) -> None:
        try:
            while self._round():
                pass
        except BaseException as error:
            self._post(DisplayFailed(VIEW, error))

    def _round(self) -> bool:
        """Draw what is queued, write it, wait for more; False after the last item."""
        try:
            item = self._queue.get(timeout=self._write_and_tick())
        except queue.Empty:
            return True
        for _ in range(_BATCH - 1):
            if not self._take(item):
                return False
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return True
        return self._take(item)

    def _take(self, item: Any) -> bool:
        urgent, self._urgent = self._urgent, None
        if urgent is not None:
            self._rest_at(urgent)
        if type(item) is _Nudge:
            return True
        if type(item) is _Barrier:
            self._rest_at(item)
        elif type(item) is _Stop:
            self._guarded(self._view.close)
            self._write()
            return False
        else:
            self._guarded(self._view.show, item)
        return True

    def _rest_at(self, barrier: _Barrier) -> None:
        if barrier.resume is not None:
            self._guarded(self._view.pause)
        self._write()
        barrier.reached.set()
        if barrier.resume is not None:
            barrier.resume.wait()

    def _write_and_tick(self) -> Optional[float]:
        self._write()  # what moves can wait, the text cannot
        wait: Optional[float] = self._guarded(self._view.tick)
        self._write()
        return None if wait is None else max(0.0, wait)  # no queue waits for less

    def _write(self) -> None:
        for channel, error in self._guarded(self._view.flush) or ():
            self._post(DisplayFailed(channel, error))

    def _guarded(self, draw: Callable[..., Any], *events: TurnEvent) -> Any:
        """``draw(*events)``; an unexpected error is posted and the value is None."""
        try:
            return draw(*events)
        except Exception as error:
            if not self._told_of_bug:
                self._told_of_bug = True
                self._post(DisplayFailed(VIEW, error))
            return None
