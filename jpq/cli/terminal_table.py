"""A table for a terminal: a header, and rows that never wrap."""

from __future__ import annotations

from typing import List, Sequence, Tuple

from jpq.render.markdown.cells import width
from jpq.render.sanitize import sanitize

_GAP = 2
_CUT = "\u2026"


def draw_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    columns: int,
    shrink: Sequence[Tuple[int, int]],
) -> str:
    """``header`` and ``rows`` in lines of at most ``columns``, with their ends.

    ``shrink`` names what may be cut where that is too wide, the first first: each column, and
    the width that is left to it.
    """
    lines = [[" ".join(sanitize(cell).split()) for cell in line] for line in (header, *rows)]
    widths = [max(width(cell) for cell in cells) for cells in zip(*lines)]
    for column, least in shrink:
        excess = sum(widths) + _GAP * (len(widths) - 1) - columns
        widths[column] -= max(0, min(excess, widths[column] - least))
    return "".join(_cut(_line(line, widths), columns) + "\n" for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded: List[str] = []
    for cell, room in zip(cells, widths):
        shown = _cut(cell, room)
        padded.append(shown + " " * (room - width(shown)))
    return (" " * _GAP).join(padded).rstrip()


def _cut(text: str, columns: int) -> str:
    """``text``, or as much of it as fits before a sign that it was longer."""
    if width(text) <= columns:
        return text
    text = text[:columns]
    while text and width(text) + 1 > columns:
        text = text[:-1]
    return (text + _CUT)[:columns]
