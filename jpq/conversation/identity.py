"""Identities: the ids of entries and of conversations, and their timestamps."""

from __future__ import annotations

import os
import re
import time
import zlib
from typing import Container

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_EVENT_ID_WIDTH = 7
_FOREIGN = r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d+))?"
_EVENT_IDS = 36**_EVENT_ID_WIDTH


def base36(number: int, width: int) -> str:
    """``number``, 0 or more, in base 36, lower case, padded with zeros to ``width``."""
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits.rjust(width, "0")


def random_base36(width: int) -> str:
    """``width`` random base-36 characters."""
    number = int.from_bytes(os.urandom(width + 1), "big")
    return base36(number % 36**width, width)


def new_event_id(taken: Container[str]) -> str:
    """A random event id that is not in ``taken``."""
    while True:
        event_id = random_base36(_EVENT_ID_WIDTH)
        if event_id not in taken:
            return event_id


def settled_event_id(line: bytes, position: int, taken: Container[str]) -> str:
    """An id for a line whose own is missing or repeated: the same one at every reading."""
    salt = 0
    while True:
        number = zlib.crc32(line, zlib.crc32(b"%d %d" % (position, salt))) * 17 + salt
        event_id = base36(number % _EVENT_IDS, _EVENT_ID_WIDTH)
        if event_id not in taken:
            return event_id
        salt += 1


def utc_timestamp(seconds: float) -> str:
    """Seconds since the epoch as UTC ISO 8601 with milliseconds and ``Z``."""
    millis = int(seconds * 1000)
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(millis // 1000))
    return f"{whole}.{millis % 1000:03d}Z"


def foreign_timestamp(value: object) -> str:
    """A date and time in UTC as other programs write it, such as ``2026-05-29 19:42:36.46``,
    as an entry has it; the beginning of 1970 where there is none."""
    found = re.match(_FOREIGN, value) if isinstance(value, str) else None
    if found is None:
        return utc_timestamp(0)
    date, clock, fraction = found.groups()
    return f"{date}T{clock}.{((fraction or '') + '000')[:3]}Z"
