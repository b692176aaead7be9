"""The rows of tables as GFM writes them."""

from __future__ import annotations

import re
from typing import List, Optional

LEFT, RIGHT, CENTER = "left", "right", "center"

_CELL = re.compile(r"((?:[^|\\]|\\.|\\$)*)(\||$)", re.DOTALL)
_DELIMITERS = re.compile(r"[-:|][-:| \t]*$")
_DELIMITER = re.compile(r"(:?)-+(:?)$")


def split_row(line: str) -> List[str]:
    """The cells of a row, stripped; an escaped bar is a bar."""
    line = line.strip()
    cells = []
    position = 0
    while position <= len(line):
        found = _CELL.match(line, position)
        assert found is not None
        cells.append(found.group(1).replace("\\|", "|").strip())
        if not found.group(2):
            break
        position = found.end()
    if cells and not cells[0] and line.startswith("|"):
        del cells[0]
    if cells and not cells[-1] and line.endswith("|"):
        del cells[-1]
    return cells


def alignments(line: str) -> Optional[List[str]]:
    """The columns' alignments ("" for none) that a row of delimiters gives; None if it is none."""
    if not _DELIMITERS.match(line):
        return None
    found = [_DELIMITER.match(cell) for cell in split_row(line)]
    if not found or None in found:
        return None
    return [_alignment(match.group(1), match.group(2)) for match in found if match is not None]


def _alignment(left: str, right: str) -> str:
    if left and right:
        return CENTER
    return LEFT if left else RIGHT if right else ""
