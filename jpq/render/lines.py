"""Lines for the person: one item, one line, nothing in it that drives the terminal."""

from __future__ import annotations

from typing import List

from jpq.errors import PREFIX
from jpq.render.sanitize import STRIP, sanitize

_LINE_LIMIT = 500


def one_line(text: str, limit: int = _LINE_LIMIT, mode: str = STRIP) -> str:
    """``text`` on a single line of at most ``limit`` characters."""
    line = " ".join(sanitize(text[: 4 * limit], mode).split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def own_line(text: str, mode: str = STRIP) -> str:
    """``text`` on a line that says it is jpq's."""
    return PREFIX + one_line(text, mode=mode)


def error_lines(message: str, where: str = "", hint: str = "", mode: str = STRIP) -> List[str]:
    """An error as three lines at most: what happened, where, what to do."""
    rest = [one_line(part, mode=mode) for part in (where, hint)]
    return [own_line(message, mode)] + ["  " + line for line in rest if line]
