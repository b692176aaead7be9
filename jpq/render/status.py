"""StatusLine: says that jpq waits, and for what, without leaving a trace."""

from __future__ import annotations

import math
import time
from typing import Callable, Optional

from jpq.render.lines import one_line
from jpq.render.printer import Sink

_FIRST_DRAW_S = 0.2  # a quick answer should not flicker
FRAME_S = 0.1

UNICODE_FRAMES = "\u280b\u2819\u2839\u2838\u283c\u2834\u2826\u2827\u2807\u280f"
ASCII_FRAMES = "|/-\\"

Clock = Callable[[], float]


class StatusLine:
    """One animated line on a terminal's stderr. Owned by the renderer thread.

    The cursor stays visible: whatever ends the process, there is nothing to restore.
    """

    def __init__(
        self, sink: Sink, width: Callable[[], int], unicode: bool, clock: Clock = time.monotonic
    ) -> None:
        self._sink = sink
        self._width = width
        self._frames = UNICODE_FRAMES if unicode else ASCII_FRAMES
        self._clock = clock
        self._label: Optional[str] = None
        self._since = 0.0
        self._due = 0.0
        self._frame = 0

    def start(self, label: str, begins_in_s: float = 0.0) -> None:
        """Show ``label`` and the seconds from when it begins; before, those until then."""
        self._label = one_line(label)
        now = self._clock()
        self._since = now + begins_in_s
        self._due = now + _FIRST_DRAW_S

    def relabel(self, label: str) -> None:
        """Show ``label``; the seconds run on."""
        if self._label is None:
            self.start(label)
        else:
            self._label = one_line(label)

    def stop(self) -> None:
        """Erase the line."""
        if self._label is not None:
            self._label = None
            self._sink.clear()

    def tick(self) -> Optional[float]:
        """Draw the next frame when it is due; seconds until then, None when nothing is shown."""
        if self._label is None:
            return None
        now = self._clock()
        if now >= self._due:
            self._draw(self._label, now - self._since)
            self._due = now + FRAME_S
        return self._due - now

    def _draw(self, label: str, seconds: float) -> None:
        self._frame = (self._frame + 1) % len(self._frames)
        room = self._width() - 1  # the last column is left free: some terminals wrap there
        head = self._frames[self._frame] + " "
        tail = f" {int(seconds)}s" if seconds >= 0 else f" in {math.ceil(-seconds)}s"
        label = cut(label, room - 2 - len(tail))
        self._sink.draw_transient((head + label + tail)[: max(room, 0)])


def cut(text: str, columns: int) -> str:
    """As much of ``text`` as surely fits: what could be wide counts two columns."""
    used = 0
    for position, char in enumerate(text):
        used += 2 if char >= "\u1100" else 1
        if used > columns:
            return text[:position]
    return text
