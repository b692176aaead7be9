"""Columns that text takes on a terminal."""

from __future__ import annotations

import functools
import re
from typing import Callable, Iterator

_JOINER = "\u200d"
_EMOJI_FORM = "\ufe0f"

# Lines may end before and after these (East Asian scripts, which have no blanks).
WIDE = (
    "\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60"
    "\uffe0-\uffe6\U00020000-\U0003fffd"
)
# ... but not before these, which end something, nor after those, which begin it.
NOT_FIRST = (
    "\u3001\u3002\uff0c\uff0e\uff01\uff1f\uff1a\uff1b\uff09\u300d\u300f\u3011\u300b\u3009"
    "\u3015\uff3d\uff5d\u30fc\u2026\u3005\u3041\u3043\u3045\u3047\u3049\u3063\u3083\u3085\u3087"
    "\u30a1\u30a3\u30a5\u30a7\u30a9\u30c3\u30e3\u30e5\u30e7"
)
NOT_LAST = "\uff08\u300c\u300e\u3010\u300a\u3008\u3014\uff3b\uff5b"

# Letters of European languages and the usual dashes, quotes and dots: one column each.
_NARROW = re.compile("[ -~\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u2030-\u205e]*")

_PIECES = re.compile(f"[{WIDE}]|[^{WIDE}]+")
_IS_WIDE = re.compile(f"[{WIDE}]")


def width(text: str, last: str = "") -> int:
    """The columns of ``text`` that follows the character ``last``."""
    if last != _JOINER and (text.isascii() or _NARROW.fullmatch(text)):
        return len(text)
    wcwidth = _wcwidth()
    columns = 0
    for char in text:
        if char == _EMOJI_FORM:
            if last and wcwidth(last) == 1 and last > "\u00ff":
                columns += 1
        elif last != _JOINER:
            columns += max(0, wcwidth(char))
        last = char
    return columns


def pieces(word: str) -> Iterator[str]:
    """``word`` in pieces: each character of a script without blanks alone."""
    for found in _PIECES.finditer(word):
        yield found.group()


def may_end_between(last: str, following: str) -> bool:
    """Whether a line may end between two characters of a word."""
    if not (_IS_WIDE.match(last) or _IS_WIDE.match(following)):
        return False
    return following not in NOT_FIRST and last not in NOT_LAST


@functools.lru_cache(maxsize=None)
def _wcwidth() -> Callable[[str], int]:
    # Loaded here as most answers in European languages do without it.
    from wcwidth import wcwidth

    return wcwidth
