"""Composer: makes messages of the lines that are typed."""

from __future__ import annotations

from typing import List, Optional

QUOTES = '"""'
_MORE = "\\"


class Composer:
    """Collects the lines of one message. Nothing in it waits or reads.

    A line is a message, unless it ends with a backslash or stands between lines of three
    quotes. A pasted text, which has line ends in it, is taken as it is.
    """

    def __init__(self) -> None:
        self._lines: List[str] = []
        self._quoted = False

    @property
    def is_open(self) -> bool:
        """Whether there are lines that wait for another one."""
        return self._quoted or bool(self._lines)

    def feed(self, line: str) -> Optional[str]:
        """The message that ``line`` ends, or None where it goes on."""
        if not self.is_open and line.lstrip().startswith(QUOTES):
            self._quoted = True
            return self._add_quoted(line.lstrip()[len(QUOTES) :], is_edge=True)
        if self._quoted:
            return self._add_quoted(line, is_edge=False)
        if "\n" not in line and _goes_on(line):
            self._lines.append(line[:-1])
            return None
        self._lines.append(line)
        return self.end()

    def _add_quoted(self, line: str, is_edge: bool) -> Optional[str]:
        """As ``feed``. What is blank beside the quotes (``is_edge``) is no line of the text."""
        ends = line.rstrip().endswith(QUOTES)
        if ends:
            line = line.rstrip()[: -len(QUOTES)]
        if line.strip() or not (ends or is_edge):
            self._lines.append(line)
        return self.end() if ends else None

    def end(self) -> str:
        """The message so far, whether it was ended or not; the next line begins a new one."""
        text = "\n".join(self._lines)
        self._lines, self._quoted = [], False
        return text


def _goes_on(line: str) -> bool:
    """Whether it ends with a backslash that no other one stands before."""
    return (len(line) - len(line.rstrip(_MORE))) % 2 == 1
