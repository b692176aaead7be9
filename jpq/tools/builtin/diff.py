"""Diffs for prompts: what a call would change, quick however large the file is."""

from __future__ import annotations

import difflib
from typing import List, Sequence

_CONTEXT = 3
_COMPARED_LINES = 2000  # more different lines take seconds to compare
_SHOWN_LINES = 200


def shown_diff(path: str, before: str, after: str) -> str:
    """A unified diff; a summary where too much differs. "" where nothing does."""
    old, new = _lines(before), _lines(after)
    start = _common(old, new)
    rest = min(len(old), len(new)) - start
    end = min(_common(old[::-1], new[::-1]), rest)
    first = max(0, start - _CONTEXT)
    last = max(0, end - _CONTEXT)
    old, new = old[first : len(old) - last], new[first : len(new) - last]
    if old == new:
        return ""
    if len(old) > _COMPARED_LINES or len(new) > _COMPARED_LINES:
        return f"{path}: {len(old)} lines become {len(new)} lines, from line {first + 1} on"
    lines = list(difflib.unified_diff(old, new, lineterm="", n=_CONTEXT))[2:]
    shown = [f"--- {path}", f"+++ {path}", *_renumbered(lines, first)]
    if len(shown) > _SHOWN_LINES:
        left = len(shown) - _SHOWN_LINES
        shown = [*shown[:_SHOWN_LINES], f"... {left} more lines of the diff"]
    return "\n".join(shown)


def _lines(text: str) -> List[str]:
    """Lines without their ends; a file that does not end its last line says so, as diff does."""
    if not text:
        return []
    lines = text.split("\n")
    if lines[-1] == "":
        return lines[:-1]
    return [*lines[:-1], lines[-1] + "\n\\ No newline at end of file"]


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for a, b in zip(one, other):
        if a != b:
            break
        count += 1
    return count


def _renumbered(lines: Sequence[str], offset: int) -> List[str]:
    """Hunk headers with the line numbers of the whole file."""
    shown = []
    for line in lines:
        if line.startswith("@@ "):
            words = [_moved(word, offset) if word[0] in "+-" else word for word in line.split(" ")]
            line = " ".join(words)
        shown.append(line)
    return shown


def _moved(place: str, offset: int) -> str:
    number, comma, count = place[1:].partition(",")
    return f"{place[0]}{int(number) + offset}{comma}{count}"
