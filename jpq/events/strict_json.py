"""JSON as its standard has it: Python's ``json`` also reads and writes NaN and infinities.

A model can write them where its arguments belong. Every API refuses a request that holds
one, and a conversation that cannot be sent any more is lost.
"""

from __future__ import annotations

import json
import math
from typing import Any, Mapping

from jpq.events.json_depth import refuse_deep


def parse(text: str) -> Any:
    """The JSON value of ``text``. Raises ValueError, also for what is nested too deeply."""
    refuse_deep(text)
    return _DECODER.decode(text)


def finite(value: Any) -> Any:
    """``value`` with None in place of every NaN and infinity."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return value


def _finite_number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not a number that can be kept")
    return number


# For the words NaN, Infinity and -Infinity, and for numbers like 1e999.
_DECODER = json.JSONDecoder(parse_constant=_finite_number, parse_float=_finite_number)
