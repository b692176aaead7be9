"""HeadingText: the text of a heading, without the marks that may close it."""

from __future__ import annotations

import re
from typing import List

_PIECES = re.compile(r"[ \t]+|#+|[^ \t#]+")

# What the text ends with so far.
_TEXT, _BLANKS, _MARKS, _BLANKS_AFTER_MARKS = range(4)


class HeadingText:
    """Text in, text out; blanks and marks wait until text follows them, or never come out."""

    def __init__(self) -> None:
        self._state = _BLANKS  # before the first character
        self._waiting: List[str] = []
        self._marks_end = 0  # where in that the blanks after the marks begin
        self._is_empty = True

    def feed(self, text: str) -> str:
        """What surely belongs to the heading."""
        shown: List[str] = []
        for piece in _PIECES.findall(text):
            if piece[0] in " \t":
                self._blanks(piece)
            elif piece[0] == "#" and self._state != _TEXT:
                if self._state == _BLANKS_AFTER_MARKS:
                    shown += self._waiting[: self._marks_end]
                    del self._waiting[: self._marks_end]
                self._waiting.append(piece)
                self._state = _MARKS
            else:
                shown += self._take()
                shown.append(piece)
                self._state = _TEXT
        found = "".join(shown)
        if self._is_empty:
            found = found.lstrip(" \t")
            self._is_empty = not found
        return found

    def _blanks(self, piece: str) -> None:
        if self._state == _TEXT:
            self._state = _BLANKS
        elif self._state == _MARKS:
            self._state = _BLANKS_AFTER_MARKS
            self._marks_end = len(self._waiting)
        self._waiting.append(piece)

    def _take(self) -> List[str]:
        waiting, self._waiting = self._waiting, []
        return waiting
