"""Reads TOML text, and finds settings in it by line."""

from __future__ import annotations

import functools
import re
import sys
from typing import Any, Dict, Iterator, List, Match, Optional, Tuple

from jpq.config.nested import DEEPEST, MISSING, Path, is_deep
from jpq.errors import ConfigError
from jpq.named import NamedTuple

_DEEP = rf"(?:[\[{{][^\[\]{{}}]*){{{DEEPEST + 1}}}"  # so many are opened, and none is closed


class Statement(NamedTuple):
    """A table header or ``key = value``: its lines [first, end) from 0, and its whole path."""

    first: int
    end: int
    path: Path
    is_header: bool


def parse(text: str, file: str) -> Dict[str, Any]:
    """The document in ``text``. Raises ConfigError with ``file`` and line."""
    try:
        return _loads(text)
    except ValueError as error:
        message, line = _place(str(error), text)
        raise ConfigError(
            f"The file is not valid TOML: {message}.",
            where=f"{file}:{line}",
            hint="Correct that line; strings need quotes, tables a [name] line.",
        ) from None
    except RecursionError:
        raise ConfigError("The file is nested too deeply.", where=file) from None


def parse_value(text: str) -> Any:
    """The TOML value that ``text`` is, or MISSING if it is none."""
    found = loaded("value = " + text)
    return found["value"] if found is not None and list(found) == ["value"] else MISSING


def line_of(text: str, path: Path) -> Optional[int]:
    """The line, counted from 1, where ``path`` or the table around it is set."""
    lines = _lines_of(text)
    for length in range(len(path), -1, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return None


# Whoever asks for one setting of a file often asks for all of them.
@functools.lru_cache(maxsize=2)
def _lines_of(text: str) -> Dict[Path, int]:
    """The line of each path that the text names, of the last one where it does so again."""
    return {statement.path: statement.first + 1 for statement in statements(text)}


def statements(text: str) -> Iterator[Statement]:
    """The statements of a valid document, in order."""
    lines = text.split("\n")
    section: Path = ()
    first = 0
    while first < len(lines):
        start = lines[first].strip()
        if not start or start.startswith("#"):
            first += 1
            continue
        end = _end(lines, first)
        header = start.startswith("[")
        path = _header_path(lines[first]) if header else section + _key_path(lines[first])
        if header:
            section = path
        yield Statement(first, end, path, header)
        first = end


_PART = r"(?:[A-Za-z0-9_-]+|\"(?:[^\"\\]|\\.)*\"|'[^']*')"
_KEY = rf"\s*({_PART}(?:\s*\.\s*{_PART})*)\s*="  # compiled when first used


# One of these is in the last line of every statement that has several.
_CLOSING = ('"""', "'''", "]", "}")


def _end(lines: List[str], first: int) -> int:
    """The end of the statement that begins at ``first``: the shortest text that is valid TOML."""
    for end in range(first + 1, len(lines) + 1):
        if end > first + 1 and not any(mark in lines[end - 1] for mark in _CLOSING):
            continue  # or a long text would be parsed once for each of its lines
        if loaded("\n".join(lines[first:end])) is not None:
            return end
    return first + 1


def _header_path(line: str) -> Path:
    found: Any = loaded(line)
    path: List[str] = []
    while found:
        if isinstance(found, list):
            found = found[0]
            continue
        key = next(iter(found))
        path.append(key)
        found = found[key]
    return tuple(path)


def match_key(line: str) -> Optional[Match[str]]:
    """The key, in group 1, that a ``key = value`` line begins with, up to the ``=``."""
    return re.match(_KEY, line)


def _key_path(line: str) -> Path:
    match = match_key(line)
    return _header_path(f"[{match.group(1)}]") if match else ()


def loaded(text: str) -> Optional[Dict[str, Any]]:
    """The document in ``text``, or None where that is not valid TOML."""
    try:
        return _loads(text.rstrip("\r"))  # half a CRLF, when text is cut at a line's end
    except (ValueError, RecursionError):
        return None


def _loads(text: str) -> Dict[str, Any]:
    # Late: the parser costs 10 ms, and without a configuration file there is nothing to parse.
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    # Python 3.8 can be ended by a parser that gets near the interpreter's limit.
    if text.count("[") + text.count("{") > DEEPEST and re.search(_DEEP, text):
        raise RecursionError
    found = tomllib.loads(text)
    if is_deep(found):  # as dotted keys are
        raise RecursionError
    return found


def _place(message: str, text: str) -> Tuple[str, int]:
    """The parser's message without its place, and the line."""
    match = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", message)
    if match is None:
        return message, 1
    line = int(match.group(1)) if match.group(1) else text.rstrip("\n").count("\n") + 1
    return message[: match.start()], line
