"""Mends text whose surrogate pairs were split: servers cut an emoji between two JSON strings.

A lone half cannot be encoded as UTF-8, so it must not get past a decoder, nor to an output.
"""

from __future__ import annotations

import json
import re
from typing import Any, Tuple

REPLACEMENT = "\ufffd"

# Compiled when it is first used, which most runs never do.
_SURROGATE = "[\ud800-\udfff]"


def has_surrogates(text: str) -> bool:
    """Whether ``text`` holds halves of surrogate pairs, which UTF-8 cannot encode."""
    return not text.isascii() and re.search(_SURROGATE, text) is not None


def mend(text: str) -> str:
    """``text`` with neighbouring halves joined and lone ones replaced."""
    if not has_surrogates(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def mend_piece(held: str, text: str) -> Tuple[str, str]:
    """Mend the next piece of a text that arrives in pieces.

    ``held`` is what the last call held back. Returns the mended text, and a first half at
    its very end, which waits for the next piece.
    """
    text = held + text
    if "\ud800" <= text[-1:] <= "\udbff":
        return mend(text[:-1]), text[-1]
    return mend(text), ""


def mend_value(value: Any) -> Any:
    """A JSON value that can be stored: its strings mended. None if it is nested too deeply."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return None
    return json.loads(mend(text)) if has_surrogates(text) else value
