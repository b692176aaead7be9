"""Ink: text with its styles becomes characters and control sequences."""

from __future__ import annotations

from typing import List

from jpq.render.theme import PLAIN, RESET, Look

_LINK_END = "\x1b]8;;\x1b\\"


class Ink:
    """Collects what is to be written. A style is set where it begins and reset where it ends."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._parts: List[str] = []
        self._style = PLAIN
        self._href = ""
        self._at_start = True
        self._is_broken = False
        self._on = ""  # the sequence that is in force

    @property
    def is_broken(self) -> bool:
        """Whether others ended the line within which the text stood."""
        return self._is_broken

    def line_ended(self) -> None:
        """Others ended the line."""
        self._is_broken = not self._at_start

    def resume(self) -> None:
        """A new line begins in place of the one that others ended."""
        self._is_broken = False

    def text(self, text: str, style: int = PLAIN, href: str = "") -> None:
        """Add ``text``, which has no line end."""
        if style != self._style or href != self._href:
            self._switch(style, href)
        self._parts.append(text)
        self._at_start = False

    def newline(self) -> None:
        """End the line; no style goes over it."""
        self.plain()
        if not self._is_broken:
            self._parts.append("\n")
        self._at_start = True
        self._is_broken = False

    def plain(self) -> None:
        """Leave the terminal as it was; the next text sets its style again."""
        if self._style or self._href:
            self._switch(PLAIN, "")

    def take(self) -> str:
        """What was added since."""
        text = "".join(self._parts)
        self._parts.clear()
        return text

    def _switch(self, style: int, href: str) -> None:
        if self._href and href != self._href:
            self._parts.append(_LINK_END)
        on = self._look.sequence(style)
        if on != self._on:
            if self._on:
                self._parts.append(RESET)
            self._parts.append(on)
            self._on = on
        if href and href != self._href:
            self._parts.append(f"\x1b]8;;{href}\x1b\\")
        self._style = style
        self._href = href
