"""Frames: what stands before the lines of a block, and the blank lines between blocks."""

from __future__ import annotations

from typing import Callable, List, Optional

from jpq.render.markdown.ink import Ink
from jpq.render.markdown.lines import ITEM, LIST, QUOTE
from jpq.render.markdown.marks import Marks
from jpq.render.markdown.starts import Item
from jpq.render.theme import MARK, PLAIN

_WIDEST = 200  # columns before a line that the terminal breaks


class _Frame:
    """What stands before the lines of a container: ``first`` once, then ``rest``."""

    def __init__(self, kind: str, first: str, rest: str, number: Optional[int] = None) -> None:
        self.kind = kind
        self.first: Optional[str] = first
        self.rest = rest
        self.number = number  # of a list: of its next item


class Frames:
    """The containers that are open.

    Blocks are a blank line apart; within a list only where the source has one, so that a
    dense list stays dense.
    """

    def __init__(self, ink: Ink, marks: Marks, columns: Callable[[], Optional[int]]) -> None:
        self._ink = ink
        self._columns = columns
        self._marks = marks
        self._frames: List[_Frame] = []
        self._any = False  # anything was written
        self._blank = False  # the source has a blank line here
        self._on_marker = False  # nothing is yet behind the marker of an item or a quote

    @property
    def begins_item(self) -> bool:
        """Whether what comes now is the first in a list item."""
        return self._on_marker and self._frames[-1].kind == ITEM

    @property
    def indent(self) -> int:
        """The columns of what stands before lines."""
        return sum(len(frame.rest) for frame in self._frames)

    def blank_seen(self) -> None:
        """The source has a blank line."""
        self._blank = True

    def begin_line(self, is_empty: bool = False) -> int:
        """Write what stands before a line; its columns."""
        texts = [frame.rest if frame.first is None else frame.first for frame in self._frames]
        for frame in self._frames:
            frame.first = None
        self._any = True
        self._on_marker = False
        return self._draw(_stripped(texts) if is_empty else texts)

    def _draw(self, texts: List[str]) -> int:
        """Draw what stands before a line, the innermost if all would leave no room for text."""
        width = self._columns()
        left = _WIDEST if width is None else max(4, width // 2)
        shown: List[str] = []
        for text in reversed(texts):
            left -= len(text)
            if left < 0:
                break
            shown.append(text)
        for text in reversed(shown):
            if text:
                self._ink.text(text, MARK if text.strip() else PLAIN)
        return sum(map(len, shown))

    def separate(self) -> None:
        """The blank line before a block, where there is to be one."""
        wanted = self._blank or not self._in_list()
        if wanted and self._any and not self._on_marker:
            self._blank_line()
        self._blank = False

    def open(self, kind: str, item: Optional[Item]) -> None:
        """A container begins; ``item`` is that of an item, or the first one of a list."""
        if kind == QUOTE:
            self.separate()
            bar = self._marks.quote + " "
            self._frames.append(_Frame(QUOTE, bar, bar))
            self._on_marker = True
        elif kind == LIST:
            if not self._in_list():
                self.separate()
            self._frames.append(_Frame(LIST, "", "", item.number if item else None))
        else:
            if self._blank:
                self.separate()
            marker = self._marker()
            self._frames.append(_Frame(ITEM, marker, " " * len(marker)))
            self._on_marker = True

    def close(self) -> None:
        """The innermost container ends."""
        frame = self._frames[-1]
        if frame.first is not None and frame.kind != LIST:  # nothing was in it
            self.begin_line(is_empty=True)
            self._ink.newline()
        self._frames.pop()

    def _in_list(self) -> bool:
        return any(frame.kind == ITEM for frame in self._frames)

    def _marker(self) -> str:
        a_list = self._frames[-1]
        if a_list.number is not None:
            a_list.number += 1
            return self._marks.number.format(a_list.number - 1)
        depth = sum(1 for frame in self._frames if frame.kind == LIST and frame.number is None)
        bullets = self._marks.bullets
        return bullets[(depth - 1) % len(bullets)] + " "

    def _blank_line(self) -> None:
        texts: List[str] = []
        for frame in self._frames:
            if frame.first is not None and frame.kind == ITEM:
                break
            texts.append(frame.rest)
        self._draw(_stripped(texts))
        self._ink.newline()


def _stripped(texts: List[str]) -> List[str]:
    """``texts`` without the blanks at their end."""
    texts = list(texts)
    while texts and not texts[-1].strip():
        texts.pop()
    return [*texts[:-1], texts[-1].rstrip()] if texts else []
