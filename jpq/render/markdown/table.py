"""TableText: rows in, aligned columns out."""

from __future__ import annotations

from typing import Callable, List, Optional, Sequence, Tuple

from jpq.named import NamedTuple
from jpq.render.markdown.cells import pieces, width
from jpq.render.markdown.flow import Flow
from jpq.render.markdown.ink import Ink
from jpq.render.markdown.marks import Marks
from jpq.render.markdown.rows import CENTER, RIGHT
from jpq.render.markdown.spans import Span
from jpq.render.theme import MARK, PLAIN, STRONG

# The widths are those of the header and of so many rows, or of the rows that came in time.
ROWS_BOUND = 12

# Columns are not made narrower; where they do not fit so, each row is a list of its cells.
NARROWEST = 5

_BETWEEN = 3  # columns that a border takes with its blanks


class Word(NamedTuple):
    """A piece of a cell that stays on one line; ``gap`` says that a blank is before it."""

    text: str
    style: int
    href: str
    gap: bool
    columns: int


Cell = List[Word]


def words_of(spans: Sequence[Span]) -> Cell:
    """The words of a cell."""
    words: Cell = []
    gap = False
    for span in spans:
        blank = span.text.isspace()
        for number, part in enumerate(span.text.split()):
            gap = gap or number > 0 or span.text[0].isspace()
            for piece in [part] if part.isascii() else pieces(part):
                words.append(Word(piece, span.style, span.href, gap, width(piece)))
                gap = False
        gap = gap or blank or (bool(span.text) and span.text[-1].isspace())
    return words


def _length(cell: Cell) -> int:
    return sum(word.columns + word.gap for word in cell) - (1 if cell and cell[0].gap else 0)


class TableText:
    """One table, ``indent`` columns from the edge.

    The first rows wait until the widths are settled, the others come at once.
    """

    def __init__(
        self,
        ink: Ink,
        marks: Marks,
        columns: Optional[int],
        indent: int,
        begin_line: Callable[[], int],
        header: List[Cell],
        alignments: List[str],
    ) -> None:
        self._ink = ink
        self._marks = marks
        self._columns = columns
        self._indent = indent
        self._begin_line = begin_line
        self._header = header
        self._alignments = alignments
        self._waiting: List[List[Cell]] = []
        self._widths: Optional[List[int]] = None
        self._as_lists = False

    @property
    def holds(self) -> bool:
        """Whether rows wait."""
        return self._widths is None

    def row(self, cells: List[Cell]) -> None:
        """The next row; cells too many are dropped, cells too few are empty."""
        cells = (cells + [[] for _ in self._header])[: len(self._header)]
        if self._widths is None:
            self._waiting.append(cells)
            if len(self._waiting) == ROWS_BOUND:
                self.settle()
        else:
            self._draw(cells)

    def settle(self) -> None:
        """Fix the widths and show what waits."""
        if self._widths is not None:
            return
        rows = [self._header, *self._waiting]
        natural = [max(1, *(_length(row[at]) for row in rows)) for at in range(len(self._header))]
        self._widths = natural
        if self._columns is not None:
            room = self._columns - self._indent - _BETWEEN * (len(natural) - 1)
            self._as_lists = room < min(sum(natural), NARROWEST * len(natural))
            if not self._as_lists:
                self._widths = _narrowed(natural, room)
        if not self._as_lists:
            self._draw([_strong(cell) for cell in self._header])
            self._draw_rule()
        elif not self._waiting:
            self._list([[] for _ in self._header])
        for row in self._waiting:
            self._draw(row)
        self._waiting.clear()

    def _draw(self, cells: List[Cell]) -> None:
        if self._as_lists:
            self._list(cells)
            return
        assert self._widths is not None
        wrapped = [_wrapped(cell, columns) for cell, columns in zip(cells, self._widths)]
        for line in range(max(1, *(len(cell) for cell in wrapped))):
            self._begin_line()
            for column, cell in enumerate(wrapped):
                self._cell(cell[line] if line < len(cell) else [], column)
            self._ink.newline()

    def _cell(self, cell: Cell, column: int) -> None:
        assert self._widths is not None
        if column:
            self._ink.text(f" {self._marks.column} ", MARK)
        pad = max(0, self._widths[column] - _length(cell))
        alignment = self._alignments[column]
        before = pad if alignment == RIGHT else pad // 2 if alignment == CENTER else 0
        if before:
            self._ink.text(" " * before)
        self._words(cell)
        if pad > before and column + 1 < len(self._widths):
            self._ink.text(" " * (pad - before))

    def _words(self, cell: Cell) -> None:
        for number, word in enumerate(cell):
            if number and word.gap:
                last = cell[number - 1]
                same = (last.style, last.href) == (word.style, word.href)
                self._ink.text(" ", *((word.style, word.href) if same else (PLAIN, "")))
            self._ink.text(word.text, word.style, word.href)

    def _draw_rule(self) -> None:
        assert self._widths is not None
        self._begin_line()
        rule, crossing = self._marks.rule, self._marks.crossing
        line = (rule + crossing + rule).join(rule * columns for columns in self._widths)
        self._ink.text(line, MARK)
        self._ink.newline()

    def _list(self, cells: List[Cell]) -> None:
        """A row as lines of "header: cell", with a rule below it."""
        for name, cell in zip(self._header, cells):
            flow = Flow(self._ink, lambda: self._columns, self._begin_line)
            for word in _strong(name):
                flow.text(" " * word.gap + word.text, word.style, word.href)
            flow.text(": ", MARK)
            for word in cell:
                flow.text(" " * word.gap + word.text, word.style, word.href)
            flow.end()
            self._ink.newline()
        self._begin_line()
        self._ink.text(self._marks.rule * 3, MARK)
        self._ink.newline()


def _strong(cell: Cell) -> Cell:
    return [word._replace(style=word.style | STRONG) for word in cell]


def _narrowed(natural: List[int], room: int) -> List[int]:
    """Widths whose sum is ``room`` at most: the widest columns give what is missing."""
    widths = list(natural)
    while sum(widths) > room:
        widest = max(widths)
        others = [width for width in widths if width < widest]
        count = widths.count(widest)
        target = max(max(others, default=NARROWEST), (room - sum(others)) // count, NARROWEST)
        if target >= widest:
            target = widest - 1
        widths = [target if width == widest else width for width in widths]
        spare = room - sum(widths)
        if spare > 0:  # the last step went too far for all of them: give some back
            for at, width in enumerate(widths):
                if width == target and spare > 0 and natural[at] > width:
                    widths[at] += 1
                    spare -= 1
            break
    return widths


def _wrapped(cell: Cell, columns: int) -> List[Cell]:
    """The lines of a cell; a word longer than the column is cut."""
    lines: List[Cell] = [[]]
    used = 0
    for word in cell:
        for part, size in _cut(word, columns):
            gap = 1 if word.gap and lines[-1] and part.gap else 0
            if lines[-1] and used + gap + size > columns:
                lines.append([])
                used = gap = 0
            lines[-1].append(part)
            used += gap + size
    return lines


def _cut(word: Word, columns: int) -> List[Tuple[Word, int]]:
    if word.columns <= columns:
        return [(word, word.columns)]
    parts: List[Tuple[Word, int]] = []
    text, used = "", 0
    for char in word.text:
        size = width(char, text[-1:])
        if used + size > columns and text:
            parts.append((word._replace(text=text, gap=word.gap and not parts), used))
            text, used = "", 0
        text += char
        used += size
    parts.append((word._replace(text=text, gap=word.gap and not parts), used))
    return [(part._replace(columns=size), size) for part, size in parts]
