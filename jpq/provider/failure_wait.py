"""How long a provider asks to be left alone: in a header, in its JSON, or in its words."""

from __future__ import annotations

import calendar
import email.utils
import math
import re
from typing import Any, Callable, Mapping, Optional

_NUMBER = r"[+-]?[0-9]+(\.[0-9]*)?"
_IN_WORDS = r"(?i)\b(?:try again|retry) (?:in|after) ((?:[0-9.]+\s*[a-z]+\s*)+)"
_AMOUNT = r"(?i)([0-9]+(?:\.[0-9]+)?)\s*([a-z]+)"
_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_UNIT_S.update({"millisecond": 0.001, "sec": 1.0, "second": 1.0, "min": 60.0, "minute": 60.0})
_UNIT_S.update({"hour": 3600.0, "day": 86400.0})


def wait_in_headers(headers: Mapping[str, str], now: Callable[[], float]) -> Optional[float]:
    """Seconds to wait, at least 0, or None where the headers name no time that makes sense.

    Read are ``retry-after-ms`` and ``Retry-After``, as seconds or as a date that is
    compared with ``now``, the wall clock.
    """
    milliseconds = _seconds(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("Retry-After", "").strip()
    seconds = _seconds(value)
    if seconds is not None:
        return seconds
    moment = _moment(value)
    return None if moment is None else max(0.0, moment - now())


def wait_in_body(value: Any, words: str) -> Optional[float]:
    """Seconds to wait as Google's RetryInfo or the words ("try again in 6m0s") have it."""
    error = value.get("error") if isinstance(value, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        seconds = _seconds(delay[:-1]) if isinstance(delay, str) and delay[-1:] == "s" else None
        if seconds is not None:
            return seconds
    found = re.search(_IN_WORDS, words)
    return None if found is None else _duration(found.group(1))


def _seconds(text: str) -> Optional[float]:
    if not re.fullmatch(_NUMBER, text.strip()):
        return None
    seconds = float(text)
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _moment(text: str) -> Optional[float]:
    """An HTTP date as seconds since the epoch; a date without a zone is UTC."""
    try:
        parsed = email.utils.parsedate_tz(text)
        if parsed is None:
            return None
        return calendar.timegm(parsed[:6] + (0, 0, 0)) - (parsed[9] or 0)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None  # parsedate_tz raises for some of what is not a date


def _duration(text: str) -> Optional[float]:
    total: Optional[float] = None
    for amount, unit in re.findall(_AMOUNT, text):
        unit = unit.lower()
        scale = _UNIT_S.get(unit) or _UNIT_S.get(unit.rstrip("s"))
        if scale is None:
            break
        total = (total or 0.0) + float(amount) * scale
    return total
