"""Flow: words become lines of at most the terminal's width, each as soon as its place is sure."""

from __future__ import annotations

import re
from typing import Callable, List, Optional, Tuple

from jpq.render.markdown.cells import may_end_between, pieces, width
from jpq.render.markdown.ink import Ink
from jpq.render.theme import PLAIN

# A word that begins with so many columns left of its line is shown as it comes; if it turns
# out longer it runs over the edge, where the terminal breaks it. Others wait for their end.
ROOM = 32

# More blanks between two words are not shown.
GAP = 8

_PIECES = re.compile(r"[ \t]+|[^ \t]+")


class Flow:
    """The lines of one block of prose.

    ``columns`` is asked at the beginning of each line; None: the terminal breaks the lines.
    ``begin_line`` writes what stands before a line and returns its columns.
    """

    def __init__(
        self, ink: Ink, columns: Callable[[], Optional[int]], begin_line: Callable[[], int]
    ) -> None:
        self._ink = ink
        self._ask_columns = columns
        self._draw_beginning = begin_line
        self._begin_line()
        self._gap = ""
        self._gap_style: Tuple[int, str] = (PLAIN, "")
        self._in_word = False
        self._word: List[Tuple[str, int, str]] = []  # the word that waits for its end
        self._word_width = 0
        self._last = ""

    def text(self, text: str, style: int = PLAIN, href: str = "") -> None:
        """More text; blanks separate words."""
        if self._ink.is_broken:
            self._ink.resume()
            self._gap = ""
            self._begin_line()
        for piece in _PIECES.findall(text):
            if piece[0] in " \t":
                self._blank(piece, style, href)
            elif piece.isascii() and (not self._last or self._last.isascii()):
                self._more(piece, len(piece), style, href)
            else:
                self._script(piece, style, href)

    def soft_break(self) -> None:
        """A line end of the source."""
        self._blank(" ", PLAIN, "")

    def hard_break(self) -> None:
        """A line end that the text asks for."""
        self.end_word()
        self._break()

    def end(self) -> None:
        """The block is over."""
        self.end_word()
        self._gap = ""

    @property
    def holds(self) -> bool:
        """Whether a word waits for its end."""
        return bool(self._word)

    def release(self) -> None:
        """Show the word that waits for its end where it fits now."""
        if self._word:
            self._place()

    def _blank(self, text: str, style: int, href: str) -> None:
        self.end_word()
        if not (self._is_empty or self._gap):
            self._gap = text[:GAP].replace("\t", " ")
            self._gap_style = (style, href)

    def _script(self, word: str, style: int, href: str) -> None:
        for piece in pieces(word):
            if self._in_word and may_end_between(self._last, piece[0]):
                self.end_word()
            self._more(piece, width(piece, self._last), style, href)

    def _more(self, text: str, columns: int, style: int, href: str) -> None:
        """More of a word."""
        self._last = text[-1]
        if not self._in_word:
            self._in_word = True
            if self._has_room():
                self._put_gap()
            else:
                self._word.append((text, style, href))
                self._word_width = columns
                self._break_if_too_long()
                return
        if self._word:
            self._word.append((text, style, href))
            self._word_width += columns
            self._break_if_too_long()
        else:
            self._ink.text(text, style, href)
            self._column += columns
            self._is_empty = False

    def _has_room(self) -> bool:
        if self._columns is None or self._is_empty:
            return True
        return self._columns - self._column - len(self._gap) >= ROOM

    def _break_if_too_long(self) -> None:
        assert self._columns is not None
        if self._column + len(self._gap) + self._word_width > self._columns:
            self._break()
            self._place()

    def end_word(self) -> None:
        """A blank follows, or the end."""
        if self._word:
            self._place()
        self._in_word = False
        self._last = ""

    def _place(self) -> None:
        self._put_gap()
        for text, style, href in self._word:
            self._ink.text(text, style, href)
        self._column += self._word_width
        self._is_empty = False
        self._word.clear()

    def _put_gap(self) -> None:
        if self._gap:
            self._ink.text(self._gap, *self._gap_style)
            self._column += len(self._gap)
            self._gap = ""

    def _break(self) -> None:
        self._gap = ""
        self._ink.newline()
        self._begin_line()

    def _begin_line(self) -> None:
        self._columns = self._ask_columns()
        self._column = self._draw_beginning()
        self._is_empty = True  # but for what stands before the text
