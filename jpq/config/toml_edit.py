"""Changes one setting in TOML text and leaves everything else, comments too, as it is."""

from __future__ import annotations

import json
from typing import Any, Iterator, List, Mapping, Optional

from jpq.config.nested import Path, join_name, put_at, value_at
from jpq.config.toml_text import Statement, loaded, match_key, statements


def with_setting(text: str, path: Path, value: Any) -> Optional[str]:
    """``text`` with ``path`` set to ``value`` and nothing else changed, or None if that fails."""
    wanted = loaded(text)
    if wanted is None:
        return None
    put_at(wanted, path, value)
    for candidate in _candidates(text, path, value, wanted):
        if loaded(candidate) == wanted:
            return candidate
    return None


def _candidates(text: str, path: Path, value: Any, wanted: Mapping[str, Any]) -> Iterator[str]:
    """Ways to write the setting, best first; not all of them are right for every document."""
    lines = text.split("\n")
    found = list(statements(text))
    for statement in found:
        if not statement.is_header and statement.path == path[: len(statement.path)]:
            yield _replaced(lines, statement, value_at(wanted, statement.path))
    sections = [s for s in found if s.is_header and s.path == path[: len(s.path)]]
    for header in sorted(sections, key=lambda s: -len(s.path)):
        if len(header.path) < len(path):
            line = f"{join_name(path[len(header.path) :])} = {to_toml(value)}"
            yield _inserted(lines, _section_end(found, header), line)
    setting = f"{join_name(path[-1:])} = {to_toml(value)}"
    if len(path) > 1:
        newline = "\r\n" if "\r\n" in text else "\n"
        section = f"[{join_name(path[:-1])}]{newline}{setting}{newline}"
        yield text.rstrip() + newline * 2 + section if text.strip() else section
    first_header = next((s.first for s in found if s.is_header), len(lines))
    before = [s.end for s in found if s.first < first_header]
    whole = f"{join_name(path)} = {to_toml(value)}"
    yield _inserted(lines, before[-1] if before else _after_comments(lines), whole)


def _replaced(lines: List[str], statement: Statement, value: Any) -> str:
    """The document with a new value in ``statement``; its key and comment stay as they were."""
    old = lines[statement.first]
    match = match_key(old)
    key = old[: match.end()] if match else ""
    ending = "\r" if old.endswith("\r") else ""
    new = f"{key} {to_toml(value)}{_comment(lines[statement.first : statement.end])}{ending}"
    return "\n".join(lines[: statement.first] + [new] + lines[statement.end :])


def _comment(lines: List[str]) -> str:
    """The comment at the end of a statement, with the blanks before it."""
    text = "\n".join(lines).rstrip("\r")
    whole = loaded(text)
    for position in range(text.rfind("\n") + 1, len(text)):
        if text[position] == "#" and loaded(text[:position]) == whole:
            bare = text[:position].rstrip()
            return text[len(bare) :]
    return ""


def _inserted(lines: List[str], at: int, line: str) -> str:
    ending = "\r" if at and lines[at - 1].endswith("\r") else ""
    rest = lines[at:]
    if at >= len(lines):
        rest = [""]
    return "\n".join(lines[:at] + [line + ending] + rest)


def _section_end(found: List[Statement], header: Statement) -> int:
    end = header.end
    for statement in found[found.index(header) + 1 :]:
        if statement.is_header:
            break
        end = statement.end
    return end


def _after_comments(lines: List[str]) -> int:
    """The line after the comment that a file begins with."""
    count = 0
    while count < len(lines) and lines[count].startswith("#"):
        count += 1
    return count


def to_toml(value: Any) -> str:
    """``value`` on one line of TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # A JSON string is a TOML string, but for DEL, which TOML wants escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        inner = ", ".join(f"{join_name((key,))} = {to_toml(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(to_toml(item) for item in value) + "]"
    return str(value)  # int, float, dates: TOML writes them as Python does
