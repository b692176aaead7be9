"""Capture: what a child writes, kept within bounds and made into text that is safe to pass on."""

from __future__ import annotations

import codecs
import os
import re
import time
from typing import Callable, Optional

from jpq.named import NamedTuple
from jpq.render.sanitize import Sanitizer, sanitize
from jpq.tools.definition import Progress
from jpq.tools.limits import capped

# A program that writes without end must not fill the disk.
FULL_OUTPUT_BYTES = 256 * 1024 * 1024

# Text has hardly any bytes that are no text; of what is binary about half are none.
_BINARY_SHARE = 0.2
# An escape is no text either, but what a colourful program writes is.
_ODD = re.compile("[\x00-\x07\x0b\x0e-\x1a\x1c-\x1f\ufffd]")
_SHORT = 200
_SHOWN_BINARY = 16
_LONGEST_CHARACTER = 4

# More progress than this nobody can read, and decoding it would keep the screen waiting.
_PROGRESS_BYTES = 32768
_PROGRESS_WINDOW_S = 0.1


class Captured(NamedTuple):
    """All output as text, and the file with the whole of it where that is not the same."""

    text: str
    full_output: Optional[str] = None


class Capture:
    """Takes bytes as they come; keeps the first and the last of them. One thread.

    What is more than ``max_bytes`` goes to the file ``path``, from its first byte on, up to
    ``max_file_bytes``. A file that cannot be written costs nothing but itself.
    """

    def __init__(
        self, max_bytes: int, path: Optional[str], max_file_bytes: int = FULL_OUTPUT_BYTES
    ) -> None:
        self._max_bytes = max_bytes
        self._head_bytes = (max_bytes + 1) // 2
        self._tail_bytes = max_bytes // 2
        self._path = path
        self._file_room = max_file_bytes
        self._file: Optional[int] = None
        self._written = False
        self._all: Optional[bytearray] = bytearray()  # until it is too much
        self._head = b""
        self._tail = bytearray()
        self._total = 0

    def add(self, data: bytes) -> None:
        """The next piece."""
        self._total += len(data)
        if self._all is not None:
            self._all += data
            if len(self._all) <= self._max_bytes:
                return
            data, self._all = bytes(self._all), None
            self._head, rest = data[: self._head_bytes], data[self._head_bytes :]
            self._keep(data)
        else:
            rest = data
            self._keep(data)
        self._tail += rest
        if len(self._tail) > 2 * self._tail_bytes + len(rest):
            self._trim_tail()

    def result(self) -> Captured:
        """All of it. Nothing can be added any more."""
        if self._all is not None:
            data = bytes(self._all)
            if not _is_binary(data):
                return self._fitting(cleaned(data.decode("utf-8", "replace")), data)
            self._keep(data)
            self._close()
            return Captured(self._described(data), self._kept_file)
        self._trim_tail()
        self._close()
        tail = bytes(self._tail)
        if _is_binary(self._head + tail):
            return Captured(self._described(self._head), self._kept_file)
        head, tail = _without_cut_end(self._head), _without_cut_start(tail)
        left_out = self._total - len(head) - len(tail)
        shown = "\n".join(
            (
                cleaned(head.decode("utf-8", "replace")),
                f"[... {left_out} bytes left out ...]",
                cleaned(tail.decode("utf-8", "replace")),
            )
        )
        return Captured(shown, self._kept_file)

    @property
    def _kept_file(self) -> Optional[str]:
        return self._path if self._written else None

    def _fitting(self, text: str, data: bytes) -> Captured:
        """``text`` within the limit, which a replaced byte may make it exceed."""
        shown, _ = capped(text, self._max_bytes)
        if shown != text:
            self._keep(data)
            self._close()
        return Captured(shown, self._kept_file)

    def _described(self, start: bytes) -> str:
        begins = start[:_SHOWN_BINARY].hex()
        return f"[binary output of {self._total} bytes, which begins with {begins}]"

    def _trim_tail(self) -> None:
        del self._tail[: max(0, len(self._tail) - self._tail_bytes)]

    def _keep(self, data: bytes) -> None:
        """Write to the file, while there is one and room in it."""
        if self._path is None or self._file_room <= 0:
            return
        try:
            if self._file is None:
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
                self._file = os.open(self._path, flags, 0o600)
            piece = memoryview(data)[: self._file_room]
            while piece:
                piece = piece[os.write(self._file, piece) :]
            self._written = True
            self._file_room -= len(data)
        except OSError:
            self._file_room = 0  # what fits into the result is still delivered

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


class ProgressText:
    """Hands output on as text while it comes, unless it is too much to read. One thread."""

    def __init__(self, progress: Progress, clock: Callable[[], float] = time.monotonic) -> None:
        self._progress = progress
        self._clock = clock
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._sanitizer = Sanitizer()
        self._window_ends = 0.0
        self._room = 0

    def add(self, data: bytes) -> None:
        """The next piece."""
        now = self._clock()
        if now >= self._window_ends:
            self._window_ends = now + _PROGRESS_WINDOW_S
            self._room = _PROGRESS_BYTES
        data, self._room = data[: self._room], max(0, self._room - len(data))
        text = self._sanitizer.feed(_lines(self._decoder.decode(data)))
        if text:
            self._progress(text)


def cleaned(text: str) -> str:
    """``text`` without escape sequences, its lines ending as they do here."""
    return sanitize(_lines(text))


def _lines(text: str) -> str:
    # A lone carriage return is a progress bar, or the end of a line on an old Macintosh; a
    # zero byte ends a name in a list of names.
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\n")


def _is_binary(data: bytes) -> bool:
    text = data.decode("utf-8", "replace")
    odd = _ODD.findall(text)
    if len(text) < _SHORT and set(odd) <= {"\ufffd"}:
        return False  # a few words in an older encoding
    return len(odd) > _BINARY_SHARE * len(text)


def _without_cut_end(data: bytes) -> bytes:
    """``data`` without the beginning of a character at its end."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(data)
    held = decoder.getstate()[0]
    return data[: len(data) - len(held)]


def _without_cut_start(data: bytes) -> bytes:
    """``data`` without the rest of a character at its start."""
    start = 0
    while start < min(len(data), _LONGEST_CHARACTER - 1) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:]
