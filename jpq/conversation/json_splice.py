"""Changing one field of a JSON object and no other byte of it."""

from __future__ import annotations

import json
import re
from typing import Any, List, Optional, Tuple

from jpq.conversation.entry import to_json_bytes
from jpq.events import json_depth

_DECODER = json.JSONDecoder()
_SPACE = r"[ \t\r\n]*"  # compiled when it is first used
_Span = Tuple[int, int]


def with_field(data: bytes, name: str, value: Any) -> Optional[bytes]:
    """``data``, a JSON object, with ``name`` set to ``value``; None when it is no object.

    The field is put first where the object has none. Bytes that are not UTF-8 stay.
    """
    text = data.decode("utf-8", "surrogateescape")
    spans = _value_spans(text, name)
    if spans is None:
        return None
    new = to_json_bytes(value).decode()
    if not spans:
        brace = text.index("{") + 1
        comma = "" if text[_skip(text, brace)] == "}" else ","
        text = f"{text[:brace]}{to_json_bytes(name).decode()}:{new}{comma}{text[brace:]}"
    for start, end in reversed(spans):
        text = text[:start] + new + text[end:]
    return text.encode("utf-8", "surrogateescape")


def _value_spans(text: str, name: str) -> Optional[List[_Span]]:
    """Where the values of ``name`` are in the object ``text``; None when it is none."""
    spans: List[_Span] = []
    try:
        json_depth.refuse_deep(text, json_depth.DEEPEST_KEPT)
        at = _after(text, _skip(text, 0), "{")
        at = _skip(text, at)
        while text[at] != "}":
            key, at = _DECODER.raw_decode(text, at)
            start = _skip(text, _after(text, _skip(text, at), ":"))
            at = _DECODER.raw_decode(text, start)[1]
            if key == name:
                spans.append((start, at))
            at = _skip(text, at)
            if text[at] != "}":
                at = _skip(text, _after(text, at, ","))
    except (ValueError, IndexError):
        return None
    return spans


def _skip(text: str, at: int) -> int:
    found = re.compile(_SPACE).match(text, at)
    assert found is not None  # it matches nothing, too
    return found.end()


def _after(text: str, at: int, char: str) -> int:
    if text[at] != char:
        raise ValueError(at)
    return at + 1


def object_lines(text: str, at: int) -> List[str]:
    """The elements of the array that begins at ``at`` in ``text``, each as it is written.

    Raises ValueError or IndexError where it is no whole array.
    """
    elements: List[str] = []
    json_depth.refuse_deep(text, json_depth.DEEPEST_KEPT)
    at = _skip(text, _after(text, at, "["))
    while text[at] != "]":
        end = _DECODER.raw_decode(text, at)[1]
        elements.append(text[at:end])
        at = _skip(text, end)
        if text[at] != "]":
            at = _skip(text, _after(text, at, ","))
    return elements
