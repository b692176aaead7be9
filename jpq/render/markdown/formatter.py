"""MarkdownFormatter: the formatter of an answer on a terminal."""

from __future__ import annotations

import time
from typing import Callable, Optional

from jpq.render.markdown.blocks import BlockScanner
from jpq.render.markdown.held import HELD_BOUND
from jpq.render.markdown.layout import Layout
from jpq.render.markdown.marks import Marks, marks_of
from jpq.render.sanitize import STRIP, Sanitizer
from jpq.render.theme import Look

# What is not decided after so long is shown as what it looks like.
HELD_S = 1.0

# Signs that models like, for terminals without them.
_IN_ASCII = str.maketrans(
    {
        "\u2018": "'",
        "\u2019": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u2010": "-",
        "\u2011": "-",
        "\u2013": "-",
        "\u2014": "--",
        "\u2026": "...",
        "\u2192": "->",
        "\u2022": "*",
        "\u00a0": " ",
    }
)

Clock = Callable[[], float]


class MarkdownFormatter:
    """Markdown in, what can be shown of it out. One thread, the renderer's.

    ``columns`` is asked at the beginning of each line; None: the terminal breaks lines.
    What comes out depends on the text alone, not on how it was cut into pieces, as long as
    ``tick`` releases nothing.
    """

    def __init__(
        self,
        look: Look,
        columns: Callable[[], Optional[int]],
        sanitize: str = STRIP,
        clock: Clock = time.monotonic,
        marks: Optional[Marks] = None,
    ) -> None:
        self._look = look
        self._marks = marks or marks_of(look)
        self._columns = columns
        self._sanitizer = Sanitizer(sanitize)
        self._clock = clock
        self._due: Optional[float] = None
        self._is_released = False  # all that could be, since text came last
        self._begin()

    def feed(self, text: str) -> str:
        """What can be shown now."""
        self._is_released = False
        self._read(self._sanitizer.feed(text))
        return self._take()

    def close(self) -> str:
        """The rest of the message item. ``feed`` may then begin the next one."""
        self._read(self._sanitizer.close())
        self._scanner.close()
        self._layout.close()
        shown = self._layout.ink.take()
        self._begin()
        return shown

    def suspend(self) -> str:
        """What leaves the terminal without a style and no word unfinished while others write."""
        self._layout.suspend()
        return self._layout.ink.take()

    def line_ended(self) -> None:
        """The others left a new line."""
        self._layout.ink.line_ended()

    def expect(self) -> None:
        """All that takes time is loaded."""

    def tick(self) -> Optional[float]:
        """Seconds until ``release`` is due; None when it would show nothing."""
        if self._is_released or not (self._scanner.holds or self._layout.holds):
            self._due = None
            return None
        now = self._clock()
        if self._due is None:
            self._due = now + HELD_S
        return max(0.0, self._due - now)

    def release(self) -> str:
        """Show what is held and can be shown."""
        self._is_released = True
        self._due = None
        self._scanner.release()
        self._layout.release()
        return self._take()

    def _take(self) -> str:
        shown = self._layout.ink.take()
        if shown:
            self._due = None  # what is held now came later
        return shown

    def _begin(self) -> None:
        self._layout = Layout(self._look, self._columns, self._marks)
        self._scanner = BlockScanner(self._layout.emit, self._layout.references.env)
        self._position = 0  # characters read
        self._line_start = 0
        self._expiry: Optional[int] = None
        self._due = None

    def _encodable(self, text: str) -> str:
        encoding = self._look.encoding
        if encoding == "ascii":
            text = text.translate(_IN_ASCII)
        return text.encode(encoding, "replace").decode(encoding)

    def _read(self, text: str) -> None:
        """Scan ``text`` line by line, and let no block wait longer than HELD_BOUND characters."""
        if not self._look.unicode:  # so that what is replaced has the width of its replacement
            text = self._encodable(text)
        at = 0
        while at < len(text):
            newline = text.find("\n", at)
            end = len(text) if newline < 0 else newline + 1
            if self._expiry is not None and self._position + end - at > self._expiry:
                self._layout.wait_no_more()
                self._expiry = None
            self._scanner.feed(text[at:end] if at or end < len(text) else text)
            if not self._layout.waits:
                self._expiry = None
            elif self._expiry is None:
                self._expiry = self._line_start + HELD_BOUND
            self._position += end - at
            if newline >= 0:
                self._line_start = self._position
            at = end
