"""Finds the JSON in an answer that was asked to be nothing else."""

from __future__ import annotations

import re
from typing import Any, Optional, Tuple

from jpq.events import strict_json

_FENCED = re.compile(
    r"(`{3,}|~{3,})[ \t]*(?:json|jsonc|json5)?[ \t]*\n(.*?)\n?[ \t]*\1\Z", re.S | re.I
)


def unfenced(text: str) -> str:
    """``text`` without blanks around it, and without a code fence where it is one block."""
    text = text.strip()
    fenced = _FENCED.match(text)
    return fenced.group(2).strip() if fenced else text


def parse_answer(text: str) -> Tuple[Optional[Tuple[Any]], str]:
    """The JSON value of an answer, in a tuple, and ""; or None and why there is none."""
    try:
        return (strict_json.parse(unfenced(text)),), ""
    except ValueError as error:
        return None, f"it is not JSON: {error}"
