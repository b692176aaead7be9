"""inline_target: the end of the address and title that follow the text of a link."""

from __future__ import annotations

import re
from typing import Optional

WAIT = -1

_BLANKS = re.compile(r"[ \t\n]*")
_ANGLED = re.compile(r"<(?:[^<>\n\\]|\\.)*(>?)", re.DOTALL)
_TITLE = {
    '"': re.compile(r'"(?:[^"\\]|\\.)*("?)', re.DOTALL),
    "'": re.compile(r"'(?:[^'\\]|\\.)*('?)", re.DOTALL),
    "(": re.compile(r"\((?:[^()\\]|\\.)*(\)?)", re.DOTALL),
}
_NESTING = 32


def inline_target(text: str, at: int) -> Optional[int]:
    """The place behind "(address title)" at ``at``; None if it is none, WAIT if more may tell."""
    at = _skip(text, at + 1)
    if at == len(text):
        return WAIT
    after = _angled(text, at) if text[at] == "<" else _bare(text, at)
    if after is None or after == WAIT:
        return after
    at = _skip(text, after)
    if at == len(text):
        return WAIT
    if text[at] in _TITLE and at > after:
        found = _TITLE[text[at]].match(text, at)
        assert found is not None
        if not found.group(1):
            return WAIT if found.end() >= len(text) - 1 else None
        at = _skip(text, found.end())
        if at == len(text):
            return WAIT
    return at + 1 if text[at] == ")" else None


def _skip(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    assert found is not None
    return found.end()


def _angled(text: str, at: int) -> Optional[int]:
    found = _ANGLED.match(text, at)
    assert found is not None
    if found.group(1):
        return found.end()
    # A backslash at the end may still escape what follows.
    return WAIT if found.end() >= len(text) - 1 and text[found.end() :] in ("", "\\") else None


def _bare(text: str, at: int) -> Optional[int]:
    depth = 0
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 1
            if at == len(text):
                return WAIT
            if text[at] in " \t\n":
                return at
        elif char == "(":
            depth += 1
            if depth > _NESTING:
                return None
        elif char == ")":
            if depth == 0:
                return at
            depth -= 1
        elif char <= " " or char == "\x7f":
            return at if depth == 0 else None
        at += 1
    return WAIT
