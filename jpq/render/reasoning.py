"""Reasoning on stderr, as much of it as ``style.reasoning`` lets through."""

from __future__ import annotations

from typing import Optional, Union

from jpq.render.printer import Sink
from jpq.render.sanitize import Sanitizer
from jpq.render.theme import DIM, styled
from jpq.terminal.caps import ChannelCaps

FULL = "full"
HIDDEN = "hidden"
PROGRESS = "progress"
STATIC = "static"

_STATIC_LINE = "Reasoning..."


class ReasoningDisplay:
    """One stretch of reasoning after the other. Owned by the renderer thread.

    ``full`` shows all of it, a number its first characters, ``static`` one line that says
    that the model reasons, ``progress`` a status line that counts (``static`` where a
    line cannot be rewritten), ``hidden`` nothing.
    """

    def __init__(self, sink: Sink, caps: ChannelCaps, mode: Union[str, int], sanitize: str) -> None:
        self._sink = sink
        self._caps = caps
        self._allowance = _allowance(mode)
        self._static = mode == STATIC or (mode == PROGRESS and not caps.rewrite)
        self._counts = mode == PROGRESS and caps.rewrite
        self._sanitizer = Sanitizer(sanitize)
        self._seen = 0
        self._index: Optional[int] = None
        self._open = False

    @property
    def is_over(self) -> bool:
        """Whether nothing more of this stretch is shown."""
        if self._static:
            return self._open
        return self._allowance is not None and self._seen > self._allowance

    def label_after(self, text: str) -> Optional[str]:
        """What the status line says once ``text`` came; None when it says nothing."""
        if not self._counts:
            return None
        self._seen += len(text)
        return f"Reasoning, {self._seen} characters"

    def write(self, text: str, index: int) -> None:
        """Show a piece of the item ``index``; items are a blank line apart."""
        if not self._open:
            self._sink.end_line()
        elif index != self._index and not self._static:
            self._sink.write(self._dim(self._sanitizer.close()))
            self._sink.blank_line()
        self._open = True
        self._index = index
        self._sink.write(self._dim(_STATIC_LINE if self._static else self._admitted(text)))

    def end(self) -> None:
        """The stretch is over: its line ends, and the next one has its full allowance."""
        if self._open:
            self._sink.write(self._dim(self._sanitizer.close()))
            self._sink.end_line()
        self._open = False
        self._seen = 0

    def _admitted(self, text: str) -> str:
        if self._allowance is None:
            return self._sanitizer.feed(text)
        left = self._allowance - self._seen
        self._seen += len(text)
        if len(text) <= left:
            return self._sanitizer.feed(text)
        return self._sanitizer.feed(text[:left]) + self._sanitizer.close() + "..."

    def _dim(self, text: str) -> str:
        return styled(text, DIM, self._caps.colour)


def _allowance(mode: Union[str, int]) -> Optional[int]:
    """Characters to show at most, or None."""
    if mode == HIDDEN:
        return -1
    if isinstance(mode, int) or mode.isdecimal():
        return int(mode) or -1  # 0 is another word for hidden: no mark of what is left out
    return None
