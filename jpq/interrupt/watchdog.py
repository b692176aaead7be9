"""Watchdog: a graceful end that takes too long is forced."""

from __future__ import annotations

import os
import threading
import time
from typing import Callable

from jpq.terminal.modes import put_modes_back

# A quick end needs no words.
_QUIET_S = 1.0
_TELL_EVERY_S = 1.0


class Watchdog:
    """Ends the process ``shutdown_s`` after it was started, unless it has ended by then.

    ``tell`` gets the seconds that are left, once a second, on the watchdog's thread.
    """

    def __init__(
        self,
        shutdown_s: float,
        tell: Callable[[int], None],
        leave: Callable[[int], None] = os._exit,
    ) -> None:
        self._shutdown_s = shutdown_s
        self._tell = tell
        self._leave = leave
        self._started = False

    def start(self, signum: int) -> None:
        """The graceful end begins, because of ``signum``. Main thread; later calls do nothing."""
        if not self._started:
            self._started = True
            threading.Thread(
                target=self._watch, args=(signum,), name="jpq-watchdog", daemon=True
            ).start()

    def _watch(self, signum: int) -> None:
        end = time.monotonic() + self._shutdown_s
        wait_s = _QUIET_S
        while True:
            time.sleep(max(0.0, min(wait_s, end - time.monotonic())))
            left = end - time.monotonic()
            if left <= 0:
                break
            self._tell(round(left + 0.5))
            wait_s = _TELL_EVERY_S
        put_modes_back()
        # Only the main thread could give the signal its default meaning, and it hangs.
        self._leave(128 + signum)
