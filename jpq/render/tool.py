"""Tool calls and their results as lines for the person."""

from __future__ import annotations

import json
from typing import Any, List, Mapping, Optional
from urllib.parse import quote

from jpq.named import NamedTuple
from jpq.render.lines import one_line
from jpq.render.sanitize import STRIP, sanitize

# How the arguments of a call are shown (style.tool.arguments), and what points at the whole
# of a result (style.tool.link).
CALL = "call"
JSON = "json"
OFF = "off"
OSC8 = "osc8"

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


def call_line(
    marks: ToolMarks,
    name: str,
    arguments: Mapping[str, Any],
    mode: str = STRIP,
    *,
    title: str = "",
    style: str = CALL,
) -> str:
    """``-> name(argument="value")``, with the call's title before it if that says more."""
    shown_name = one_line(name, _NAME_LIMIT, mode)
    shown_title = one_line(title, _NAME_LIMIT, mode)
    if style == OFF:
        return f"{marks.call} {shown_title or shown_name}"
    head = f"{shown_title}: " if shown_title not in ("", shown_name) else ""
    if style == JSON:
        text = json.dumps(arguments, ensure_ascii=False, default=str)
        return f"{marks.call} {head}{shown_name} {one_line(text, _ARGUMENTS_LIMIT, mode)}"
    text = ", ".join(f"{key}={_value(value)}" for key, value in arguments.items())
    return f"{marks.call} {head}{shown_name}({one_line(text, _ARGUMENTS_LIMIT, mode)})"


def output_link(path: str, style: str, escapes: bool) -> str:
    """Where the whole of a result is: a link that a terminal follows, or the path."""
    if style == OFF:
        return ""
    if style == OSC8 and escapes:
        address = "file://" + quote(path)
        return f"\x1b]8;;{address}\x1b\\the whole output\x1b]8;;\x1b\\"
    return f"the whole output: {sanitize(path)}"


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
