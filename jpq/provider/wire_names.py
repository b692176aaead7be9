"""Ids and names as an API takes them, for calls that another API's model may have made."""

from __future__ import annotations

import re
from typing import Dict, Iterator, Optional, Pattern, Set

# Patterns are compiled when they are first used, which a question without calls never does.
_NOT_IN_NAMES = "[^a-zA-Z0-9_-]"
_LONGEST_NAME = 64
_NO_NAME = "_"
_LETTERS_AND_DIGITS = "[a-zA-Z0-9]+"


def valid_name(name: str) -> str:
    """A tool's name in the characters that every API takes, and no longer than any takes.

    Models make names up (``multi_tool_use.parallel``, or none at all), and refuse to be
    shown them again. Names of tools that are offered stay as they are.
    """
    return re.sub(_NOT_IN_NAMES, "_", name)[:_LONGEST_NAME] or _NO_NAME


class CallIds:
    """The ids of calls as one API takes them: the same one for a call and its result.

    ``invalid`` matches the characters that it does not take, ``longest`` is how many
    characters an id may have; None where the API sets no such limit. With ``exact`` an id
    must have just so many letters and digits.
    """

    def __init__(
        self,
        *,
        invalid: Optional[Pattern[str]] = None,
        longest: Optional[int] = None,
        exact: Optional[int] = None,
    ) -> None:
        self._invalid = invalid
        self._longest = longest
        self._exact = exact
        self._valid: Dict[str, str] = {}
        self._taken: Set[str] = set()

    def of(self, id: str, *, own: bool = False) -> str:
        """The id that stands for ``id``, which no other id has.

        One that the provider made itself (``own``, told with the call) may be longer: some
        put into it what they want to read again (Kimi).
        """
        if id not in self._valid:
            longest = None if own else self._longest
            free = next(each for each in self._candidates(id, longest) if each not in self._taken)
            self._valid[id] = free
            self._taken.add(free)
        return self._valid[id]

    def _candidates(self, id: str, longest: Optional[int]) -> Iterator[str]:
        if self._exact is not None:
            if len(id) == self._exact and re.fullmatch(_LETTERS_AND_DIGITS, id):
                yield id
            # Numbered in the order of the calls, so that a longer conversation begins alike.
            number = len(self._valid)
            while True:
                yield str(number).zfill(self._exact)
                number += 1
        wanted = self._invalid.sub("_", id) if self._invalid else id
        yield wanted[:longest]
        number = 2
        while True:
            end = f"-{number}"
            room = None if longest is None else longest - len(end)
            yield wanted[:room] + end
            number += 1
