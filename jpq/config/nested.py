"""Nested tables and the dotted names of what is in them."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Tuple

Path = Tuple[str, ...]

MISSING = object()
DEEPEST = 100  # tables and arrays within each other; each costs a few calls

_BARE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-*")


def split_name(name: str) -> Path:
    """The parts of a dotted name; a part in quotes may hold dots. Raises ValueError."""
    parts: List[str] = []
    rest = name.strip()
    while True:
        quote = rest[:1]
        if quote in ('"', "'"):
            end = rest.find(quote, 1)
            if end < 0:
                raise ValueError("a quote is not closed")
            part, rest = rest[1:end], rest[end + 1 :].lstrip()
        else:
            end = len(rest) if "." not in rest else rest.index(".")
            part, rest = rest[:end].strip(), rest[end:]
            if not part or not _BARE.issuperset(part):
                raise ValueError("a name is letters, digits, '-' and '_', or is in quotes")
        parts.append(part)
        if len(parts) > DEEPEST:
            raise ValueError(f"a name has at most {DEEPEST} parts")
        if not rest:
            return tuple(parts)
        if rest[0] != ".":
            raise ValueError("a dot is missing after a quote")
        rest = rest[1:].lstrip()


def join_name(path: Path) -> str:
    """The dotted name of ``path``; parts that are not bare TOML keys are put in quotes."""
    return ".".join(
        part if part and _BARE.issuperset(part) else '"' + part.replace('"', "'") + '"'
        for part in path
    )


def value_at(values: Mapping[str, Any], path: Path) -> Any:
    """What is at ``path``, or MISSING."""
    found: Any = values
    for part in path:
        if not isinstance(found, dict) or part not in found:
            return MISSING
        found = found[part]
    return found


def put_at(values: Dict[str, Any], path: Path, value: Any) -> None:
    """Put ``value`` at ``path``, making the tables on the way."""
    for part in path[:-1]:
        inner = values.get(part)
        if not isinstance(inner, dict):
            inner = values[part] = {}
        values = inner
    values[path[-1]] = value


def merged(low: Mapping[str, Any], high: Mapping[str, Any]) -> Dict[str, Any]:
    """``low`` with everything of ``high`` over it, table by table. Shares nothing with either."""
    result = copied(low)
    for key, value in high.items():
        below = result.get(key)
        if isinstance(below, dict) and isinstance(value, dict):
            result[key] = merged(below, value)
        else:
            result[key] = copied(value)
    return result  # type: ignore[no-any-return]


def copied(value: Any) -> Any:
    """A copy that shares no table with ``value``; arrays become tuples."""
    if isinstance(value, str):
        return value  # most are, and what else it could be takes longer to find out
    if isinstance(value, (dict, Mapping)):
        return {key: copied(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple(copied(inner) for inner in value)
    return value


def is_deep(value: Any) -> bool:
    """Whether ``value`` is nested deeper than anybody means."""
    level = [value]
    for _ in range(DEEPEST + 1):
        tables = [each.values() if isinstance(each, dict) else each for each in level]
        level = [inner for each in tables for inner in each if isinstance(inner, (dict, list))]
        if not level:
            return False
    return True


def leaves(values: Mapping[str, Any], path: Path = ()) -> Iterator[Tuple[Path, Any]]:
    """Each value that is not a table, and each empty table, with its path."""
    for key, value in values.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, path + (key,))
        else:
            yield path + (key,), value
