"""CancelToken: how one thread asks another to stop."""

from __future__ import annotations

import contextlib
import threading
from typing import Callable, Iterator, List, Optional

CANCELLED = "cancelled"
TIMED_OUT = "timed out"


class CancelToken:
    """An event that is set once, with the reason why. Any thread, but no signal handler.

    Whoever works looks at ``cancelled``, sleeps in ``wait`` or has ``calling`` wake it up
    where it blocks in something else. A child is cancelled with its parent, not the other
    way round.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        # Held for a moment only, never while a callback runs.
        self._lock = threading.Lock()
        self._callbacks: List[Callable[[], None]] = []
        self._reason: Optional[str] = None

    @property
    def cancelled(self) -> bool:
        """Whether to stop."""
        return self._event.is_set()

    @property
    def reason(self) -> Optional[str]:
        """The first reason given: CANCELLED, TIMED_OUT or another word; None before that."""
        return self._reason

    def cancel(self, reason: str = CANCELLED) -> None:
        """Ask to stop; what ``calling`` registered is called on this thread, once."""
        with self._lock:
            if self._event.is_set():
                return
            self._reason = reason
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def wait(self, timeout_s: Optional[float] = None) -> bool:
        """Sleep until cancelled, for ``timeout_s`` at most; whether it is cancelled."""
        return self._event.wait(timeout_s)

    @contextlib.contextmanager
    def calling(self, callback: Callable[[], None]) -> Iterator[None]:
        """Have ``callback`` called when this is cancelled, at once if it is already.

        It runs on the thread that cancels, must not block and must not raise.
        """
        with self._lock:
            late = self._event.is_set()
            if not late:
                self._callbacks.append(callback)
        if late:
            callback()
        try:
            yield
        finally:
            with self._lock:
                if callback in self._callbacks:
                    self._callbacks.remove(callback)

    def child(self) -> CancelToken:
        """A token that is cancelled with this one, for the same reason."""
        child = CancelToken()
        with self._lock:
            late = self._event.is_set()
            if not late:
                self._callbacks.append(lambda: child.cancel(self._reason or CANCELLED))
        if late:
            child.cancel(self._reason or CANCELLED)
        return child
