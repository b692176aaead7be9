"""Typewriter: text appears letter by letter, but never far behind."""

from __future__ import annotations

import re
import time
from collections import deque
from typing import Callable, Deque, Optional

from jpq.render.chat import Formatter

# Text is shown at the latest so long after it could be: a burst is caught up with.
LAG_S = 1.0

# A control sequence goes out with the character behind it, whole.
_LETTERS = re.compile(r"(?:\x1b\[[0-9;]*m|\x1b\]8;;[^\x1b]*\x1b\\)*(?:[^\x1b]|\Z)", re.DOTALL)


class Typewriter:
    """A formatter that shows the text of another one at ``delay_s`` a character.

    Whatever needs the terminal gets the rest at once.
    """

    def __init__(
        self, formatter: Formatter, delay_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._formatter = formatter
        self._delay_s = delay_s
        self._clock = clock
        self._letters: Deque[str] = deque()
        self._next = 0.0  # when the next letter is due

    def feed(self, text: str) -> str:
        """What is due of it."""
        self._queue(self._formatter.feed(text))
        return self._due()

    def close(self) -> str:
        """All that is left."""
        return self._rest() + self._formatter.close()

    def tick(self) -> Optional[float]:
        """Seconds to the next letter, or to what the other one holds."""
        held = self._formatter.tick()
        if not self._letters:
            return held
        due = max(0.0, self._next - self._clock())
        return due if held is None else min(due, held)

    def release(self) -> str:
        """What is due."""
        if self._formatter.tick() == 0.0:
            self._queue(self._formatter.release())
        return self._due()

    def suspend(self) -> str:
        """All that is left, as others are going to write."""
        return self._rest() + self._formatter.suspend()

    def line_ended(self) -> None:
        """They left a new line."""
        self._formatter.line_ended()

    def expect(self) -> None:
        """Text may come."""
        self._formatter.expect()

    def _queue(self, text: str) -> None:
        if not self._letters:
            self._next = max(self._next, self._clock())
        self._letters.extend(found for found in _LETTERS.findall(text) if found)

    def _due(self) -> str:
        now = self._clock()
        shown = ""
        while self._letters:
            if self._next <= now:
                self._next += self._delay_s
            elif len(self._letters) * self._delay_s <= LAG_S:
                break
            shown += self._letters.popleft()
        return shown

    def _rest(self) -> str:
        rest = "".join(self._letters)
        self._letters.clear()
        return rest
