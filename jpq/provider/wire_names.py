"""Ids and names as an API takes them, for calls that another API's model may have made."""

from __future__ import annotations

import re
from typing import Dict, Optional, Pattern, Set

_NOT_IN_NAMES = re.compile("[^a-zA-Z0-9_-]")
_LONGEST_NAME = 128


def valid_name(name: str) -> str:
    """A tool's name in the characters that every API takes."""
    return _NOT_IN_NAMES.sub("_", name)[:_LONGEST_NAME]


class CallIds:
    """The ids of calls as one API takes them: the same one for a call and its result.

    ``invalid`` matches the characters that it does not take, ``longest`` is how many
    characters an id may have; None where the API sets no such limit.
    """

    def __init__(
        self, *, invalid: Optional[Pattern[str]] = None, longest: Optional[int] = None
    ) -> None:
        self._invalid = invalid
        self._longest = longest
        self._valid: Dict[str, str] = {}
        self._taken: Set[str] = set()

    def of(self, id: str) -> str:
        """The id that stands for ``id``, which no other id has."""
        if id not in self._valid:
            wanted = self._invalid.sub("_", id) if self._invalid else id
            free, number = self._with_end(wanted, ""), 1
            while free in self._taken:
                number += 1
                free = self._with_end(wanted, f"-{number}")
            self._valid[id] = free
            self._taken.add(free)
        return self._valid[id]

    def _with_end(self, id: str, end: str) -> str:
        return (id if self._longest is None else id[: self._longest - len(end)]) + end
