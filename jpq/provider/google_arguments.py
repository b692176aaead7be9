"""Puts the arguments of a streamed function call together from its ``partialArgs``.

Each piece names the place of one value by a JSONPath (``$.items[0].name``). A string may
arrive over several pieces for the same path, all but the last with ``willContinue``. From
the page "Function calling" and the type PartialArg in Vertex AI's reference.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

_Key = Union[str, int]

_STEP = re.compile(r"""\.([^.\[\]]+) | \[(\d{1,9})\] | \['([^']*)'\] | \["([^"]*)"\]""", re.VERBOSE)
_VALUES = ("numberValue", "boolValue")
_DEEPEST = 64  # no tool's arguments are nested like that; a path is not trusted to be short


class PartialArguments:
    """The arguments so far.

    ``malformed`` says that a piece could not be put anywhere: the call must not be run.
    """

    def __init__(self) -> None:
        self.malformed = False
        self._root: Dict[str, Any] = {}
        self._open: Optional[Tuple[_Key, ...]] = None  # the path of the string being written
        self._pieces: List[str] = []  # of that string, joined once

    def update(self, whole: Mapping[str, Any]) -> None:
        """Take arguments that came whole."""
        self._root.update(whole)

    def add(self, pieces: Any) -> None:
        """Take the ``partialArgs`` of one part."""
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, dict):
                self._add(piece)

    def value(self) -> Dict[str, Any]:
        """The arguments; a string that is still being written is as far as it came."""
        self._close()
        return self._root

    def _add(self, piece: Mapping[str, Any]) -> None:
        path = _path(piece.get("jsonPath"))
        if path is None:
            self.malformed = True
            return
        text = piece.get("stringValue")
        if isinstance(text, str):
            if path != self._open:
                self._close()
                self._open = path
            self._pieces.append(text)
            if not piece.get("willContinue"):
                self._close()
            return
        self._close()
        if "nullValue" in piece:
            self._put(path, None)
        for field in _VALUES:
            if field in piece:
                self._put(path, piece[field])

    def _close(self) -> None:
        if self._open is not None:
            path, text = self._open, "".join(self._pieces)
            self._open, self._pieces = None, []
            self._put(path, text)

    def _put(self, path: Tuple[_Key, ...], value: Any) -> None:
        holder: Any = self._root
        for key, following in zip(path, path[1:]):
            inner: Any = [] if isinstance(following, int) else {}
            if not _has(holder, key) and not _set(holder, key, inner):
                self.malformed = True
                return
            holder = holder[key]
        self.malformed = not _set(holder, path[-1], value) or self.malformed


def _has(holder: Any, key: _Key) -> bool:
    if isinstance(key, int):
        return isinstance(holder, list) and key < len(holder)
    return isinstance(holder, dict) and key in holder


def _set(holder: Any, key: _Key, value: Any) -> bool:
    """Put ``value`` at ``key``; False where it has no place. Lists grow one by one."""
    if isinstance(key, int) and isinstance(holder, list) and key == len(holder):
        holder.append(value)
        return True
    if _has(holder, key) or (isinstance(key, str) and isinstance(holder, dict)):
        holder[key] = value
        return True
    return False


def _path(text: Any) -> Optional[Tuple[_Key, ...]]:
    """The keys and indices that ``text`` leads through, or None where it is no such path."""
    if not isinstance(text, str) or not text.startswith("$"):
        return None
    steps: List[_Key] = []
    position = 1
    while position < len(text):
        step = _STEP.match(text, position)
        if step is None or len(steps) == _DEEPEST:
            return None
        index = step.group(2)
        steps.append(int(index) if index else next(g for g in step.groups() if g is not None))
        position = step.end()
    return tuple(steps) if steps and isinstance(steps[0], str) else None
