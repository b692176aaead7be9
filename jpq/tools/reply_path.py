"""Paths into a JSON reply: ``current.temperature``, ``items[0].name``, ``items.name``."""

from __future__ import annotations

import re
from typing import Any, List, Mapping

_STEP = re.compile(r"\[(-?\d+)\]|([^.\[\]]+)")


class NotThere(Exception):
    """The reply has nothing at the path; the text is the path as far as it leads."""


def at_path(value: Any, path: str) -> Any:
    """What ``value`` holds at ``path``. Raises NotThere.

    A name goes through a list to its items: through a single item as if there were no list,
    as many APIs answer the same question with an object or with a list of one.
    """
    walked = ""
    for index, name in _STEP.findall(path):
        walked += f"[{index}]" if index else f".{name}"
        value = _item(value, int(index), walked) if index else _field(value, name, walked)
    return value


def _item(value: Any, index: int, walked: str) -> Any:
    if not isinstance(value, list) or not -len(value) <= index < len(value):
        raise NotThere(walked.lstrip("."))
    return value[index]


def _field(value: Any, name: str, walked: str) -> Any:
    if isinstance(value, Mapping) and name in value:
        return value[name]
    if isinstance(value, list):
        if name.isdecimal():
            return _item(value, int(name), walked)
        found: List[Any] = [
            item[name] for item in value if isinstance(item, Mapping) and name in item
        ]
        if found:
            return found[0] if len(value) == 1 else found
    raise NotThere(walked.lstrip("."))
