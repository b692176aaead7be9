"""Tool calls and their results as lines for the person."""

from __future__ import annotations

import json
from typing import Any, List, Mapping, NamedTuple, Optional

from jpq.render.lines import one_line
from jpq.render.sanitize import STRIP, sanitize

_NAME_LIMIT = 100
_ARGUMENT_LIMIT = 120
_ARGUMENTS_LIMIT = 400
_RESULT_LINE_LIMIT = 2000


class ToolMarks(NamedTuple):
    """The signs before a call and before its result."""

    call: str
    result: str
    more: str


UNICODE_MARKS = ToolMarks("\u2192", "\u2190", "\u2026")
ASCII_MARKS = ToolMarks("->", "<-", "...")


def result_line_limit(setting: str) -> Optional[int]:
    """Lines of a result to show, from ``style.tool.result``; None for all of them."""
    if setting == "full":
        return None
    count = setting.split()[0] if setting.split() else ""
    return int(count) if count.isdecimal() else 0


def call_line(marks: ToolMarks, name: str, arguments: Mapping[str, Any], mode: str = STRIP) -> str:
    """``-> name(argument="value")``"""
    shown = ", ".join(f"{key}={_value(value)}" for key, value in arguments.items())
    shown = one_line(shown, _ARGUMENTS_LIMIT, mode)
    return f"{marks.call} {one_line(name, _NAME_LIMIT, mode)}({shown})"


def result_line(marks: ToolMarks, name: str, is_error: bool, mode: str = STRIP) -> str:
    """``<- name`` or ``<- name failed``"""
    return f"{marks.result} {one_line(name, _NAME_LIMIT, mode)}" + (" failed" if is_error else "")


def result_lines(
    marks: ToolMarks, content: str, limit: Optional[int], mode: str = STRIP
) -> List[str]:
    """The first ``limit`` lines of ``content``, indented, and how many follow."""
    lines = content.rstrip("\n").split("\n") if content.strip() else []
    shown = lines if limit is None else lines[:limit]
    result = ["  " + sanitize(line[:_RESULT_LINE_LIMIT], mode) for line in shown]
    left = len(lines) - len(shown)
    if left and limit:
        result.append(f"  {marks.more} {left} more line" + ("s" if left > 1 else ""))
    return result


def _value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _ARGUMENT_LIMIT else text[:_ARGUMENT_LIMIT] + "..."
