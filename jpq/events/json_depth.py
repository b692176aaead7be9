"""Refuses JSON that is nested deeper than anybody means.

Reading takes a level of recursion for each level of the text. Near the interpreter's limit
Python 3.8 is no place to be: where a destructor or a signal's handler runs into the limit, and
its error is passed over, the next level ends the process ("Cannot recover from stack
overflow"). So a text is measured before it is read.
"""

from __future__ import annotations

import itertools
import json
from typing import Any, Union

# Levels. What comes from outside is kept within entries and replies of our own.
DEEPEST = 200
DEEPEST_KEPT = 2 * DEEPEST

_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_OTHERS = bytes(set(range(256)) - set(_STEPS))


def loads(text: Union[str, bytes], deepest: int = DEEPEST) -> Any:
    """What ``json.loads`` gives. Raises ValueError, also for what is nested too deeply."""
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    refuse_deep(text, deepest)
    return json.loads(text)


def refuse_deep(text: str, deepest: int = DEEPEST) -> None:
    """Raises ValueError if reading ``text`` as JSON could go deeper than ``deepest`` levels."""
    if len(text) <= deepest or text.count("[") + text.count("{") <= deepest:
        return
    if _depth(text) > deepest:
        raise ValueError(f"it is nested deeper than {deepest} levels")


def _depth(text: str) -> int:
    """How deep reading ``text`` can go; what comes behind a mistake counts, too."""
    # Without escaped quotes, every other piece is between strings.
    between = text.replace("\\\\", "").replace('\\"', "").split('"')[::2]
    brackets = "".join(between).encode("ascii", "ignore").translate(None, _OTHERS)
    return max(itertools.accumulate(map(_STEPS.__getitem__, brackets)), default=0)
