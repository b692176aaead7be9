"""Checks values against the table: types, ranges, allowed words, unknown names."""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, Mapping

from jpq.config import table
from jpq.config.lookup import find_row, is_group, nearest
from jpq.config.nested import Path, copied, join_name
from jpq.config.table import Row
from jpq.errors import ConfigError

Where = Callable[[Path], str]
_MOST_DIGITS = 9  # Python refuses to read thousands of them
_MOST_TOLD = 10  # unknown names of one file


def checked(values: Mapping[str, Any], where: Where, warnings: List[str]) -> Dict[str, Any]:
    """``values`` as the table wants them, without what it does not know.

    ``where`` says where a setting was written ("config.toml:3", "--set"). Each of the first
    unknown names adds a line to ``warnings``, and all others one. Raises ConfigError for a
    value that cannot be used.
    """
    unknown: List[Path] = []
    result = _checked_table(values, (), where, unknown)
    warnings.extend(unknown_name(path, where) for path in unknown[:_MOST_TOLD])
    more = len(unknown) - _MOST_TOLD
    if more > 0:
        warnings.append(f"{more} more settings are unknown ({where(unknown[_MOST_TOLD])} and on).")
    return result


def _checked_table(
    values: Mapping[str, Any], path: Path, where: Where, unknown: List[Path]
) -> Dict[str, Any]:
    result: Dict[str, Any] = {}
    for key, value in values.items():
        here = path + (key,)
        row = find_row(here)
        if row is not None:
            result[key] = checked_value(row, here, value, where)
        elif not is_group(here):
            unknown.append(here)
        elif isinstance(value, Mapping):
            result[key] = _checked_table(value, here, where, unknown)
        else:
            raise _wrong(here, f"must be a table, not {_kind(value)}", where)
    return result


def unknown_name(path: Path, where: Where) -> str:
    """The line about a name that the table does not know."""
    line = f"Unknown setting {join_name(path)} ({where(path)})"
    suggestion = nearest(path)
    return f"{line}; did you mean {suggestion}?" if suggestion else f"{line} is ignored."


def checked_value(row: Row, path: Path, value: Any, where: Where) -> Any:
    """``value`` in the row's type. Raises ConfigError."""
    problem = _TYPE_PROBLEMS[row.type](value)
    if problem:
        raise _wrong(path, f"must be {problem}, not {_kind(value)}", where)
    if row.type == table.STRING_OR_INTEGER and isinstance(value, str) and _is_number(value):
        value = int(value)
    if isinstance(value, str):
        _check_choice(row, path, value, where)
        return value
    if row.type in (table.NUMBER, table.INTEGER, table.STRING_OR_INTEGER):
        _check_range(row, path, value, where)
        return float(value) if row.type == table.NUMBER else value
    odd = _not_json(value)
    if odd:
        raise _wrong(path, f"holds {odd}, which cannot be sent", where)
    if row.name == "providers.*.headers":
        _check_headers(path, value, where)
    return copied(value)


def _check_headers(path: Path, headers: Mapping[str, str], where: Where) -> None:
    for name, value in headers.items():
        bare = name.translate(_NAME_SIGNS)
        if not name.isascii() or not (bare.isalnum() or name and not bare):
            raise _wrong(path + (name,), "cannot be the name of a header", where)
        bare = value.strip().replace("\t", "")
        if not (bare.isascii() and bare.isprintable()):
            raise _wrong(path + (name,), "holds a character that cannot be sent", where)


# What may stand in the name of a header beside letters and digits.
_NAME_SIGNS = dict.fromkeys(map(ord, "!#$%&'*+-.^_`|~"))


def _check_choice(row: Row, path: Path, value: str, where: Where) -> None:
    if not row.choices or any(_is_choice(value, choice) for choice in row.choices):
        return
    allowed = ", ".join(row.choices)
    if row.type == table.STRING_OR_INTEGER:
        allowed += f", or a number of {row.unit}"
    raise _wrong(path, f"is {shown(value)}, but must be one of: {allowed}", where)


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) <= _MOST_DIGITS


def _is_choice(value: str, choice: str) -> bool:
    if choice.startswith("N "):
        number, _, unit = value.partition(" ")
        return _is_number(number) and unit == choice[2:]
    return value == choice


def _check_range(row: Row, path: Path, value: float, where: Where) -> None:
    # "not more" instead of "less", so that NaN fails too
    if row.bound == table.POSITIVE and not value > 0:
        raise _wrong(path, f"is {value}, but must be more than 0", where)
    if row.bound == table.NOT_NEGATIVE and not value >= 0:
        raise _wrong(path, f"is {value}, but must be 0 or more", where)
    if row.unit == "s" and not value <= table.LONGEST_WAIT_S:
        limit = table.LONGEST_WAIT_S
        raise _wrong(path, f"is {value} seconds, but can be at most {limit}", where)
    if value in (float("inf"), float("-inf")):
        raise _wrong(path, "must be a finite number", where)


def shown(value: str) -> str:
    """``value`` in quotes, on one line and not longer than a line bears."""
    text = value if len(value) <= 60 else value[:59] + "…"
    return '"' + "".join(char if char.isprintable() else "?" for char in text) + '"'


def _wrong(path: Path, problem: str, where: Where) -> ConfigError:
    row = find_row(path)
    hint = f"jpq config explain {join_name(path)} says what it is for." if row else ""
    return ConfigError(f"{join_name(path)} {problem}.", where=where(path), hint=hint)


def _not_json(value: Any) -> str:
    """What TOML has and JSON has not, somewhere in ``value``; '' when there is none."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return next(filter(None, map(_not_json, value)), "")
    if isinstance(value, float) and not math.isfinite(value):
        return "a number that is not finite"
    return "" if value is None or isinstance(value, (str, int, float)) else _kind(value)


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    for kind, name in (
        (str, "a string"),
        (int, "an integer"),
        (float, "a number"),
        ((list, tuple), "an array"),
        (Mapping, "a table"),
    ):
        if isinstance(value, kind):
            return name
    return "a date or time"


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)  # bool is an int in Python


def _all_strings(values: Any) -> bool:
    return all(isinstance(value, str) for value in values)


def _string(value: Any) -> str:
    return "" if isinstance(value, str) else "a string"


def _boolean(value: Any) -> str:
    return "" if isinstance(value, bool) else "true or false"


def _integer(value: Any) -> str:
    return "" if _is_integer(value) else "an integer"


def _number(value: Any) -> str:
    return "" if isinstance(value, float) or _is_integer(value) else "a number"


def _string_or_integer(value: Any) -> str:
    return "" if isinstance(value, str) or _is_integer(value) else "a string or an integer"


def _strings(value: Any) -> str:
    if isinstance(value, (list, tuple)) and _all_strings(value):
        return ""
    return "an array of strings"


def _string_table(value: Any) -> str:
    if isinstance(value, Mapping) and _all_strings(value.values()):
        return ""
    return "a table of strings"


def _table(value: Any) -> str:
    return "" if isinstance(value, Mapping) else "a table"


def _any(value: Any) -> str:
    return ""


# Each returns what the value must be, or '' when it is.
_TYPE_PROBLEMS: Mapping[str, Callable[[Any], str]] = {
    table.STRING: _string,
    table.BOOLEAN: _boolean,
    table.INTEGER: _integer,
    table.NUMBER: _number,
    table.STRING_OR_INTEGER: _string_or_integer,
    table.STRINGS: _strings,
    table.STRING_TABLE: _string_table,
    table.TABLE: _table,
    table.ANY: _any,
}
