"""Escalation: what each press of Ctrl+C asks for."""

from __future__ import annotations

import time
from typing import Callable

# What a press asks for: a menu, the graceful end, the end at once.
MENU, END, AT_ONCE = 1, 2, 3

COOLDOWN_S = 2.0


class Escalation:
    """Counts presses. Main thread, and signal handlers: it takes no lock.

    A press asks for the menu, unless the one before it is less than ``cooldown_s`` old, has
    not been attended to, or has opened a menu that is still there: then it asks for the
    end. Once an end was asked for, any press ends at once.
    """

    def __init__(
        self, cooldown_s: float = COOLDOWN_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.cooldown_s = cooldown_s
        self.in_menu = False
        self._clock = clock
        self._last = float("-inf")
        self._waits = False
        self._ending = False

    def press(self) -> int:
        """The person pressed Ctrl+C: what that asks for."""
        if self._ending:
            return AT_ONCE
        now = self._clock()
        soon = now - self._last < self.cooldown_s
        self._last = now
        if soon or self._waits or self.in_menu:
            self._ending = True
            return END
        self._waits = True
        return MENU

    @property
    def is_ending(self) -> bool:
        """Whether the end was asked for."""
        return self._ending

    def end(self) -> None:
        """The end was asked for in another way."""
        self._ending = True

    def attended(self) -> None:
        """The press is being dealt with."""
        self._waits = False

    def reset(self) -> None:
        """The person chose: the next press is a first one again."""
        self.in_menu = False
        self._waits = False
        self._last = float("-inf")
