"""TypedLine: a line that is typed key by key, and shown as it stands."""

from __future__ import annotations

import unicodedata
from typing import Optional

from jpq.terminal.tty import Terminal

_ENTER = ("\n", "\r")
_RUB_OUT = ("\x7f", "\b")
_END, _DROP_LINE, _DROP_WORD = "\x04", "\x15", "\x17"
# Stands for the end of a line in a pasted text, as the line is shown as one.
_LINE_END = "\u21b5"


class TypedLine:
    """What is typed behind ``prompt``, which is shown already. Main thread.

    Enter ends it, and Ctrl+D while nothing is typed. Backspace, Ctrl+U and Ctrl+W take away.
    ``ended`` says whether it is whole. Raises OSError when the terminal is gone.
    """

    def __init__(self, prompt: str, terminal: Terminal) -> None:
        self._prompt = prompt.rpartition("\n")[2]
        self._terminal = terminal
        self._typed = ""
        self.ended = False
        self._left = False

    @property
    def text(self) -> Optional[str]:
        """The line; None after Ctrl+D."""
        return None if self._left else self._typed

    def press(self, key: str) -> None:
        """A key was pressed: a character, or the sequence of a special key."""
        if key in _ENTER or (key == _END and not self._typed):
            self._left = key == _END
            self.ended = True
            self._terminal.write("\n")
        elif key in _RUB_OUT:
            self._replace(self._typed[:-1])
        elif key == _DROP_LINE:
            self._replace("")
        elif key == _DROP_WORD:
            self._replace(self._typed.rstrip()[: -len((self._typed.split() or [""])[-1]) or None])
        elif len(key) == 1 and (key == "\t" or key.isprintable()):
            self.insert(key)

    def insert(self, text: str) -> None:
        """Add ``text``, which may have several lines."""
        self._typed += text
        self._terminal.write(_shown(text))

    def _replace(self, text: str) -> None:
        columns = sum(map(_columns, self._prompt + _shown(self._typed)))
        self._typed = text
        self._terminal.erase_line(columns)
        self._terminal.write(self._prompt + _shown(text))


def _shown(text: str) -> str:
    """``text`` without what could drive the terminal."""
    spaced = text.replace("\n", _LINE_END).replace("\t", " ")
    return "".join(each if each.isprintable() else "?" for each in spaced)


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
