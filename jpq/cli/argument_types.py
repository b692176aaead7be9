"""Arguments of options: each is what the text means, or ArgumentTypeError, which argparse tells."""

from __future__ import annotations

import argparse
import math
from typing import Any

_REASONING = ("full", "hidden", "progress", "static")


def seconds(text: str) -> float:
    """A time above 0, in seconds."""
    return _above_0(text, "a number of seconds")


def dollars(text: str) -> float:
    """An amount above 0, in US dollars."""
    return _above_0(text, "an amount")


def count(text: str) -> int:
    """A whole number, 0 or more."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 0 or more")
    return int(text)


def reasoning(text: str) -> Any:
    """A mode of showing reasoning, or a number of characters."""
    if text in _REASONING:
        return text
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither {', '.join(_REASONING)} nor a number of characters"
        )
    return int(text)


def wrap(text: str) -> Any:
    """Where lines end: auto, off or a number of columns."""
    if text in ("auto", "off"):
        return text
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither auto nor off nor a number of columns"
        )
    return int(text)


def _above_0(text: str, what: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not {what} above 0")
    return number
