"""The JSON that commands print: readable, and nothing in it that drives a terminal."""

from __future__ import annotations

import json
import re
from typing import Any, Match

# What JSON leaves as it is although a terminal obeys it, or reads it in another order: DEL, C1
# and bidi controls. Halves of surrogate pairs cannot be written at all.
_UNWANTED = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def to_json(value: Any) -> str:
    """``value`` as JSON with a line end; what is no JSON value is its own text."""
    return escaped(json.dumps(value, ensure_ascii=False, indent=2, default=str)) + "\n"


def escaped(text: str) -> str:
    """The JSON ``text`` with escapes for what a terminal would obey; it means the same."""
    return _UNWANTED.sub(_escape, text)


def _escape(found: Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
