"""Reads scripts: the replies that the scripted provider gives (docs/providers.md)."""

from __future__ import annotations

import json
import os
import re
from typing import Any, List, Mapping, Optional, Pattern, Tuple

from jpq.config.lookup import nearest_of
from jpq.config.toml_text import parse as parse_toml
from jpq.errors import ConfigError
from jpq.events import json_depth
from jpq.named import NamedTuple


class ScriptedCall(NamedTuple):
    """A tool call; ``arguments`` is its text. Without an id it gets one."""

    name: str
    arguments: str
    id: str


class Reply(NamedTuple):
    """One reply of a script.

    ``fails`` is how often it ends with its fault (``status``, ``error``, ``cut`` or
    ``stall``) before it is given whole; None: always.
    """

    match: Optional[Pattern[str]]
    model: str
    reasoning: Tuple[str, ...]
    text: Tuple[str, ...]
    tool_calls: Tuple[ScriptedCall, ...]
    finish: str
    usage: Mapping[str, int]
    delay_s: float
    status: Optional[int]
    error: Any
    retry_after_s: Optional[float]
    cut: bool
    stall: bool
    fails: Optional[int]

    def without_fault(self) -> Reply:
        """The reply given whole."""
        return self._replace(status=None, error=None, cut=False, stall=False)


_NUMBER = (int, float)
_TEXT = (str, list)
_FIELDS: Mapping[str, Any] = {
    "match": str,
    "model": str,
    "reasoning": _TEXT,
    "text": _TEXT,
    "tool_calls": list,
    "finish": str,
    "usage": dict,
    "delay_s": _NUMBER,
    "status": int,
    "error": (str, dict),
    "retry_after_s": _NUMBER,
    "cut": bool,
    "stall": bool,
    "fails": int,
}
_WORD = re.compile(r"\s*\S+|\s+")


def load_script(path: str) -> List[Reply]:
    """The replies in the TOML or JSON file at ``path``. Raises ConfigError."""
    path = os.path.expanduser(path)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(
            f"The script cannot be read: {reason}.",
            where=path,
            hint="Name a file: -m scripted/PATH, or base_url under [providers.scripted].",
        ) from error
    script = _parse_json(text, path) if path.endswith(".json") else parse_toml(text, path)
    replies = script.get("reply") if isinstance(script, dict) else None
    if not isinstance(replies, list) or not replies:
        raise _wrong(path, "a script needs at least one [[reply]]")
    return [_reply(table, f"{path}, reply {n}") for n, table in enumerate(replies, 1)]


def _parse_json(text: str, path: str) -> Any:
    try:
        return json_depth.loads(text)
    except ValueError as error:
        line = getattr(error, "lineno", 1)
        raise ConfigError(
            f"The script is not valid JSON: {error}.", where=f"{path}:{line}"
        ) from error


def _reply(table: Any, where: str) -> Reply:
    if not isinstance(table, dict):
        raise _wrong(where, "a reply is a table")
    for name, value in table.items():
        _check(name, value, where)
    calls = [_call(call, where) for call in table.get("tool_calls", [])]
    return Reply(
        match=_pattern(table["match"], where) if "match" in table else None,
        model=table.get("model", "scripted"),
        reasoning=_pieces(table.get("reasoning", []), where),
        text=_pieces(table.get("text", []), where),
        tool_calls=tuple(calls),
        finish=table.get("finish", "tool_calls" if calls else "stop"),
        usage=table.get("usage", {}),
        delay_s=float(table.get("delay_s", 0.0)),
        status=table.get("status"),
        error=table.get("error"),
        retry_after_s=table.get("retry_after_s"),
        cut=table.get("cut", False),
        stall=table.get("stall", False),
        fails=table.get("fails"),
    )


def _check(name: str, value: Any, where: str) -> None:
    wanted = _FIELDS.get(name)
    if wanted is None:
        near = nearest_of(name, _FIELDS)
        raise _wrong(where, f"there is no {name!r}" + (f", but there is {near!r}" if near else ""))
    is_number = isinstance(value, bool) and wanted is not bool
    if is_number or not isinstance(value, wanted):
        raise _wrong(where, f"{name!r} has the wrong type")


def _pieces(value: Any, where: str) -> Tuple[str, ...]:
    """A list is sent piece by piece as it is, a string word by word."""
    if isinstance(value, str):
        return tuple(_WORD.findall(value))
    if not all(isinstance(piece, str) for piece in value):
        raise _wrong(where, "pieces of text are strings")
    return tuple(value)


def _call(value: Any, where: str) -> ScriptedCall:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        raise _wrong(where, "a tool call needs a name")
    arguments = value.get("arguments", {})
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ScriptedCall(value["name"], text, str(value.get("id", "")))


def _pattern(text: str, where: str) -> Pattern[str]:
    try:
        return re.compile(text, re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as error:
        raise _wrong(where, f"'match' is not a regular expression: {error}") from error


def _wrong(where: str, what: str) -> ConfigError:
    return ConfigError(
        f"The script cannot be used: {what}.",
        where=where,
        hint="docs/providers.md describes scripts.",
    )
