"""Halves of surrogate pairs: JSON can carry them one by one, no encoding can."""

from __future__ import annotations

import re
from typing import Match, Tuple

REPLACEMENT = "\ufffd"

# Compiled when it is first used, which most runs never do.
_SURROGATES = "[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]"


def split_held(text: str) -> Tuple[str, str]:
    """``text`` and, apart, a last high half that the next piece of text may complete."""
    if text and "\ud800" <= text[-1] <= "\udbff":
        return text[:-1], text[-1]
    return text, ""


def join_halves(text: str) -> str:
    """``text`` with pairs made whole and every half without its other replaced by U+FFFD."""
    return text if text.isascii() else re.sub(_SURROGATES, _join, text)


def _join(match: Match[str]) -> str:
    halves = match.group()
    if len(halves) == 1:
        return REPLACEMENT
    return chr(0x10000 + ((ord(halves[0]) - 0xD800) << 10) + ord(halves[1]) - 0xDC00)
