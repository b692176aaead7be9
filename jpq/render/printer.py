"""Printer: the two channels, written as whole batches straight to their descriptors."""

from __future__ import annotations

import codecs
import os
import select
from typing import BinaryIO, List, Optional, Tuple

from jpq.events.surrogates import mend_piece

STDOUT = "stdout"

Failure = Tuple[str, OSError]

_ERASE_LINE = "\r\x1b[K"
_LINE_UP = "\x1b[A"


class Sink:
    """One destination. Text waits here until ``flush`` writes it all at once.

    Owned by the renderer thread. It writes past the buffer of ``file``, which must be
    empty; ``file`` None (a closed descriptor) takes everything and writes nothing. After
    the first error everything is dropped. Transient lines (a spinner) are erased before
    anything else is written.
    """

    def __init__(self, file: Optional[BinaryIO], encoding: str = "utf-8") -> None:
        self._raw = getattr(file, "raw", file)
        self._encoder = codecs.getincrementalencoder(encoding)("replace")
        self._pending: List[str] = []
        self._held = ""
        self._newlines = 2  # line ends the text ends with, at most 2; nothing before the first
        self._transient = 0  # lines

    def write(self, text: str) -> None:
        """Add ``text``."""
        if not text:
            return
        self.clear()
        self._pending.append(text)
        if not text.endswith("\n"):
            self._newlines = 0
        elif text == "\n":
            self._newlines = min(2, self._newlines + 1)
        else:
            self._newlines = 2 if text.endswith("\n\n") else 1

    @property
    def at_line_start(self) -> bool:
        """Whether what is written next begins a line."""
        return self._newlines > 0

    def end_line(self) -> None:
        """A line end, unless the text ends with one."""
        if not self._newlines:
            self.write("\n")

    def blank_line(self) -> None:
        """An empty line after the text, unless there is one or there is no text."""
        if self._newlines < 2:
            self.write("\n" * (2 - self._newlines))

    def draw_transient(self, lines: str) -> None:
        """Draw ``lines``, each of which must fit the width, over those drawn before.

        Only at the start of a line: there is nothing else on it that would be lost.
        """
        if self.at_line_start:
            self._pending.append(self._erasure() + lines)
            self._transient = lines.count("\n") + 1

    def clear(self) -> None:
        """Erase the transient lines."""
        if self._transient:
            self._pending.append(self._erasure())
            self._transient = 0

    def _erasure(self) -> str:
        """What erases the transient lines from the last one up, or the line of the cursor."""
        return _ERASE_LINE + (_LINE_UP + _ERASE_LINE) * (self._transient - 1)

    def yield_line(self) -> None:
        """Leave an empty line's start to somebody else, who leaves one behind, too."""
        self.clear()
        self.end_line()
        self._newlines = 1

    def flush(self) -> Optional[OSError]:
        """Write what waits, in one write where the system takes it. The error, if it fails."""
        if not self._pending:
            return None
        text, self._held = mend_piece(self._held, "".join(self._pending))
        self._pending.clear()
        data = self._encoder.encode(text)
        if self._raw is None:
            return None
        try:
            _write_all(self._raw, data)
        except OSError as error:
            self._raw = None
            return error
        return None


class Printer:
    """stdout and stderr. Owned by the renderer thread.

    Where both are the same terminal, pipe or file they share one sink, so their order is
    kept and a line of one never begins in the middle of a line of the other.
    """

    def __init__(
        self,
        stdout: Optional[BinaryIO],
        stderr: Optional[BinaryIO],
        encodings: Tuple[str, str] = ("utf-8", "utf-8"),
    ) -> None:
        self.out = Sink(stdout, encodings[0])
        self.shared = _same_file(stdout, stderr)
        self.err = self.out if self.shared else Sink(stderr, encodings[1])

    def flush(self) -> List[Failure]:
        """Write what waits on both; one that fails does not keep the other from its text.

        Returns each new failure of stdout. One of stderr has nobody left to be told to.
        """
        error = self.out.flush()
        if not self.shared:
            self.err.flush()
        return [] if error is None else [(STDOUT, error)]


def _write_all(raw: BinaryIO, data: bytes) -> None:
    # None from a raw file means that a non-blocking descriptor is full.
    written: Optional[int] = raw.write(data)
    if written == len(data):
        return
    rest = memoryview(data)
    while True:
        if written is None:
            select.select([], [raw], [])
        else:
            rest = rest[written:]
            if not rest:
                return
        written = raw.write(rest)


def _same_file(one: Optional[BinaryIO], other: Optional[BinaryIO]) -> bool:
    if one is None or other is None:
        return False
    try:
        return os.path.samestat(os.fstat(one.fileno()), os.fstat(other.fileno()))
    except (OSError, ValueError):  # a file in memory has no descriptor
        return one is other
