"""read_line: what a line is, as a function of its text and of the blocks that are open."""

from __future__ import annotations

from typing import Any, List, Optional, Pattern, Sequence, Tuple

from jpq.named import NamedTuple
from jpq.render.markdown import starts
from jpq.render.markdown.cursor import TAB, Cursor
from jpq.render.markdown.paragraph import Paragraph

QUOTE, LIST, ITEM = "quote", "list", "item"

# Containers within each other; what would be deeper is text.
DEEPEST = 32

# What a line can be.
BLANK, TEXT, HEADING, RULE, UNDERLINE = "blank", "text", "heading", "rule", "underline"
FENCE, FENCE_LINE, FENCE_END, INDENTED = "fence", "fence line", "fence end", "indented"
HTML, HTML_LINE, DELIMITERS, ROW = "html", "html line", "delimiters", "row"


class Container:
    """An open block that holds others: a quote, a list, or an item of one."""

    __slots__ = ("kind", "item", "is_empty")

    def __init__(self, kind: str, item: Optional[starts.Item] = None) -> None:
        self.kind = kind
        self.item = item
        self.is_empty = True

    def goes_on(self, cursor: Cursor) -> bool:
        """Whether the line belongs to it; then the cursor is behind what says so."""
        if self.kind == QUOTE:
            return _quote(cursor)
        if self.kind == LIST:
            return True
        assert self.item is not None
        if cursor.blank:
            cursor.skip_blanks()
            return not self.is_empty
        if cursor.indent < self.item.offset:
            return False
        cursor.skip(self.item.offset)
        return True


def _quote(cursor: Cursor) -> bool:
    if cursor.indent >= TAB or cursor.char != ">":
        return False
    cursor.skip_blanks()
    cursor.take(1)
    if cursor.indent:
        cursor.skip(1)
    return True


class Code:
    """An open block of code; ``fence`` is None for an indented one."""

    def __init__(self, fence: Optional[starts.Fence]) -> None:
        self.fence = fence
        self.blank_lines: List[str] = []  # of an indented one: its own if more code follows


class Html:
    """An open block of HTML."""

    def __init__(self, end: Pattern[str]) -> None:
        self.end = end


class Table:
    """An open table."""


class Line(NamedTuple):
    """What a line is: how many open containers go on, which it opens, what is in them.

    The cursor is at the content. ``found`` depends on ``kind``.
    """

    kept: int
    opened: Tuple[Container, ...]
    kind: str
    cursor: Cursor
    found: Any = None


def read_line(text: str, containers: Sequence[Container], leaf: Any) -> Line:
    """What ``text``, a line or enough of its beginning, is below ``containers`` and ``leaf``."""
    cursor = Cursor(text)
    kept = 0
    for container in containers:
        if not container.goes_on(cursor):
            break
        kept += 1
    if kept < len(containers):
        return _Reader(containers, leaf, kept, False).read(cursor)
    return _inside(cursor, kept, leaf) or _Reader(containers, leaf, kept, True).read(cursor)


def _inside(cursor: Cursor, kept: int, leaf: Any) -> Optional[Line]:
    """The line if the open code, HTML or table goes on with it whatever else it may be."""
    kind = ""
    if isinstance(leaf, Code) and leaf.fence is not None:
        kind = FENCE_END if starts.ends_fence(cursor, leaf.fence) else FENCE_LINE
        cursor.skip(min(cursor.indent, leaf.fence.indent))
    elif isinstance(leaf, Code) and (cursor.indent >= TAB or cursor.blank):
        kind = INDENTED
        cursor.skip(min(cursor.indent, TAB))
    elif isinstance(leaf, Html):
        if not (cursor.blank and starts.ends_at_blank_line(leaf.end)):
            kind = HTML_LINE
    elif isinstance(leaf, Paragraph) and cursor.indent < TAB:
        kind = DELIMITERS if leaf.is_table(cursor.text[cursor.next :]) else ""
    return Line(kept, (), kind, cursor) if kind else None


class _Reader:
    """Reads one line that begins anew, or goes on with a paragraph or a table."""

    def __init__(
        self, containers: Sequence[Container], leaf: Any, kept: int, all_kept: bool
    ) -> None:
        self._containers = containers
        self._leaf = leaf
        self._kept = kept
        self._opened: List[Container] = []
        self._below_paragraph = isinstance(leaf, Paragraph)  # its text may go on lazily
        self._in_paragraph = self._below_paragraph and all_kept
        self._in_table = isinstance(leaf, Table) and all_kept

    def read(self, cursor: Cursor) -> Line:
        while not cursor.blank and self._kept + len(self._opened) < DEEPEST:
            if cursor.indent >= TAB:
                if self._below_paragraph:
                    break
                cursor.skip(TAB)
                return self._line(INDENTED, cursor)
            if cursor.char == ">":
                self._opened.append(Container(QUOTE))
                _quote(cursor)
            else:
                kind, found = self._leaf_start(cursor)
                if kind:
                    return self._line(kind, cursor, found)
                item = starts.item(cursor, self._in_paragraph)
                if item is None:
                    break
                self._opened.append(Container(ITEM, item))
            self._below_paragraph = self._in_paragraph = self._in_table = False
        if cursor.blank:
            return self._line(BLANK, cursor)
        if self._below_paragraph:
            return Line(len(self._containers), (), TEXT, cursor)
        return self._line(ROW if self._in_table else TEXT, cursor)

    def _leaf_start(self, cursor: Cursor) -> Tuple[str, Any]:
        """The kind of the block without others in it that begins here, and what tells more."""
        char = cursor.char
        level = starts.heading(cursor) if char == "#" else 0
        if level:
            return HEADING, level
        fence = starts.fence(cursor) if char in "`~" else None
        if fence is not None:
            return FENCE, fence
        end = starts.html_end(cursor, self._below_paragraph) if char == "<" else None
        if end is not None:
            return HTML, end
        if char in "=-" and self._in_paragraph and self._leaf.has_text():
            level = starts.underline(cursor)
            if level:
                return UNDERLINE, level
        if char in "*-_" and starts.is_rule(cursor):
            return RULE, None
        return "", None

    def _line(self, kind: str, cursor: Cursor, found: Any = None) -> Line:
        """The line, with the lists that its items begin or go on with."""
        kept = self._kept
        opened: List[Container] = []
        last = self._containers[kept - 1] if kept else None
        for container in self._opened:
            if container.kind == ITEM and (opened or not _same_list(last, container)):
                opened.append(Container(LIST, container.item))
            opened.append(container)
        goes_on = opened[0].kind == ITEM if opened else kind == BLANK
        if last is not None and last.kind == LIST and not goes_on:
            kept -= 1
        return Line(kept, tuple(opened), kind, cursor, found)


def _same_list(last: Optional[Container], item: Container) -> bool:
    if last is None or last.kind != LIST or last.item is None or item.item is None:
        return False
    return last.item.kind == item.item.kind
