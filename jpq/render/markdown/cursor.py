"""Cursor: a place in a line, in characters and in columns, which tabs make differ."""

from __future__ import annotations

TAB = 4


class Cursor:
    """Goes through the beginning of a line.

    ``next`` is the place of the next character that is no blank, ``indent`` its distance in
    columns; ``blank`` says that there is none.
    """

    __slots__ = ("text", "at", "column", "next", "indent", "blank", "_in_tab")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.column = 0
        self._in_tab = False
        self._look()

    @property
    def char(self) -> str:
        """The next character that is no blank, or nothing."""
        return self.text[self.next : self.next + 1]

    def skip_blanks(self) -> None:
        """Go to the next character that is no blank."""
        self.skip(self.indent)

    def skip(self, columns: int) -> None:
        """Go over so many columns of blanks; a tab may be left in its middle."""
        while columns > 0 and self.at < len(self.text):
            width = self._width()
            if width > columns:
                self._in_tab = True
                self.column += columns
                break
            self._in_tab = False
            columns -= width
            self.column += width
            self.at += 1
        self._look()

    def take(self, characters: int) -> None:
        """Go over characters that are no tabs."""
        self.at += characters
        self.column += characters
        self._look()

    def rest(self) -> str:
        """The line from here on; what is left of a tab are spaces."""
        if self._in_tab:
            return " " * self._width() + self.text[self.at + 1 :]
        return self.text[self.at :]

    def _width(self) -> int:
        return TAB - self.column % TAB if self.text[self.at] == "\t" else 1

    def _look(self) -> None:
        text, at, column = self.text, self.at, self.column
        end = len(text)
        while at < end:
            if text[at] == " ":
                column += 1
            elif text[at] == "\t":
                column += TAB - column % TAB
            else:
                break
            at += 1
        self.next = at
        self.indent = column - self.column
        self.blank = at == end
