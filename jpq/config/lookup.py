"""Which row of the table a name belongs to, and which row a misspelt name was meant to be."""

from __future__ import annotations

from typing import Iterable, Optional, Tuple

from jpq.config.nested import Path
from jpq.config.table import ANY, ROWS, STRING_TABLE, TABLE, Row

_PATTERNS: Tuple[Tuple[Path, Row], ...] = tuple((tuple(row.name.split(".")), row) for row in ROWS)
_ROWS = dict(_PATTERNS)
_WITH_STARS = tuple((pattern, row) for pattern, row in _PATTERNS if "*" in pattern)


def find_row(path: Path) -> Optional[Row]:
    """The row of one setting; a row without ``*`` wins over one with."""
    found = _ROWS.get(path)
    if found is None:
        for pattern, row in _WITH_STARS:
            if matches(pattern, path):
                found = row
    return found


def find_owner(path: Path) -> Optional[Row]:
    """The row of a setting, or of the free table that it lies in, such as ``headers``."""
    for length in range(len(path), 0, -1):
        row = find_row(path[:length])
        if row is not None:
            return row if length == len(path) or row.type in _FREE else None
    return None


_FREE = (STRING_TABLE, TABLE, ANY)


def is_group(path: Path) -> bool:
    """Whether ``path`` is a table that rows lie under, such as ``request`` or ``tools.greet``."""
    length = len(path)
    return any(
        len(pattern) > length and matches(pattern[:length], path) for pattern, _ in _PATTERNS
    )


def matches(pattern: Path, path: Path) -> bool:
    """Whether ``path`` is ``pattern``, where ``*`` stands for any one name."""
    return len(pattern) == len(path) and all(
        wanted in ("*", given) for wanted, given in zip(pattern, path)
    )


def nearest(path: Path) -> str:
    """The dotted name of the known setting that looks most like ``path``, or ''."""
    candidates = []
    for pattern, _ in _PATTERNS:
        names = zip(pattern, path + ("*",) * len(pattern))
        candidates.append(".".join(given if name == "*" else name for name, given in names))
    known = [name for name in candidates if "*" not in name]
    # By the last part alone, so that `idle_timeout` is found wherever it belongs.
    tails = {name.rsplit(".", 1)[-1]: name for name in reversed(known)}
    return nearest_of(".".join(path), known) or tails.get(nearest_of(path[-1], tails), "")


def nearest_of(word: str, known: Iterable[str]) -> str:
    """The one of ``known`` that looks most like ``word``, or ''."""
    from difflib import get_close_matches  # late: only a misspelt name needs it

    found = get_close_matches(word, list(known), n=1)
    return found[0] if found else ""
