"""What a line begins: the openings of CommonMark's blocks, each a function of the line alone."""

from __future__ import annotations

import re
from typing import Optional, Pattern

from markdown_it.rules_block.html_block import HTML_SEQUENCES

from jpq.named import NamedTuple
from jpq.render.markdown.cursor import TAB, Cursor

_HEADING = re.compile(r"#{1,6}(?=[ \t]|$)")
_FENCE = re.compile(r"`{3,}(?=[^`]*$)|~{3,}")
_FENCE_END = re.compile(r"(`{3,}|~{3,})[ \t]*$")
_RULE = re.compile(r"(?:\*[ \t]*){3,}$|(?:_[ \t]*){3,}$|(?:-[ \t]*){3,}$")
_UNDERLINE = re.compile(r"(?:=+|-+)[ \t]*$")
_BULLET = re.compile(r"[*+-]")
_NUMBER = re.compile(r"([0-9]{1,9})([.)])")

# What comes before the first character that tells what a line is.
_CONTAINERS = re.compile(r"[ \t>]*(?:(?:[-+*]|[0-9]{1,9}[.)])[ \t]+[ \t>]*)*")
_UNDECIDED = re.compile(
    r"[-_*+= \t]*$"  # a rule, an underline, a bullet
    r"|[0-9]{1,9}[.)]?$"
    r"|#{1,6}(?:[ \t][ \t#]*)?$"
    r"|`{1,2}$|~{1,2}$"
    r"|`{3}|~{3}|[<|]"  # these need the whole line
)
_LABEL = re.compile(r"\[(?:[^\[\]\\]|\\.)*(\]|\[|\\?\Z)")
ALL = "all"  # every line is wanted whole
_END_OF_HTML_BLOCK = "^$"


class Fence(NamedTuple):
    """The opening line of fenced code; ``indent`` columns are taken off its lines."""

    mark: str
    indent: int
    info: str


class Item(NamedTuple):
    """The marker of a list item. ``kind`` tells lists apart, ``offset`` is its content's column."""

    kind: str
    number: Optional[int]
    offset: int
    blank: bool


def is_decided(text: str, wants_whole: str) -> bool:
    """Whether more characters cannot change what the line ``text`` begins.

    A line that then begins with a character of ``wants_whole`` (any, if that is ALL) is
    never decided before its end.
    """
    at = _end_of_containers(text)
    if (
        at == len(text)
        or wants_whole == ALL
        or _UNDECIDED.match(text, at)
        or text[at] in wants_whole
    ):
        return False
    if text[at] != "[" or text.startswith("[^", at):
        return True
    # It may define a link, which "]:" tells.
    label = _LABEL.match(text, at)
    if label is None or label.group(1) == "[":
        return True
    if label.group(1) != "]":
        return False
    return label.end() < len(text) and text[label.end()] != ":"


def _end_of_containers(text: str) -> int:
    found = _CONTAINERS.match(text)
    return 0 if found is None else found.end()


def may_define(text: str) -> bool:
    """Whether a paragraph that begins with ``text`` may begin with a link's definition."""
    if not text.startswith("[") or text.startswith("[^"):
        return False
    label = _LABEL.match(text)
    if label is None or label.group(1) == "[":
        return False
    return label.group(1) != "]" or text.startswith(":", label.end())


def heading(cursor: Cursor) -> int:
    """The level of the heading, 0 when it is none."""
    found = _HEADING.match(cursor.text, cursor.next)
    return 0 if found is None else len(found.group())


def fence(cursor: Cursor) -> Optional[Fence]:
    """The opening of fenced code."""
    found = _FENCE.match(cursor.text, cursor.next)
    if found is None:
        return None
    return Fence(found.group(), cursor.indent, cursor.text[found.end() :].strip())


def ends_fence(cursor: Cursor, opening: Fence) -> bool:
    """Whether the line is the closing of what ``opening`` opened."""
    found = _FENCE_END.match(cursor.text, cursor.next) if cursor.indent < TAB else None
    if found is None:
        return False
    mark = found.group(1)
    return mark[0] == opening.mark[0] and len(mark) >= len(opening.mark)


def html_end(cursor: Cursor, in_paragraph: bool) -> Optional[Pattern[str]]:
    """What ends the block of HTML that begins here; None when there is none."""
    line = cursor.text[cursor.next :]
    for begin, end, interrupts in HTML_SEQUENCES if line[0] == "<" else ():
        if (interrupts or not in_paragraph) and begin.search(line):
            return end
    return None


def ends_at_blank_line(end: Pattern[str]) -> bool:
    """Whether a block of HTML that ``end`` ends lasts to the next blank line."""
    return end.pattern == _END_OF_HTML_BLOCK


def is_rule(cursor: Cursor) -> bool:
    """Whether the line is a thematic break."""
    return _RULE.match(cursor.text, cursor.next) is not None


def underline(cursor: Cursor) -> int:
    """The level of the heading that the line makes of the paragraph above; 0: none."""
    if _UNDERLINE.match(cursor.text, cursor.next) is None:
        return 0
    return 1 if cursor.char == "=" else 2


def item(cursor: Cursor, in_paragraph: bool) -> Optional[Item]:
    """The list item that begins here; the cursor then stands at its content."""
    text = cursor.text
    bullet = _BULLET.match(text, cursor.next)
    found = bullet or _NUMBER.match(text, cursor.next)
    if found is None or text[found.end() : found.end() + 1] not in ("", " ", "\t"):
        return None
    blank = not text[found.end() :].strip(" \t")
    number = None if bullet else int(found.group(1))
    if in_paragraph and (blank or number not in (None, 1)):
        return None
    before = cursor.indent
    width = found.end() - found.start()
    cursor.skip_blanks()
    cursor.take(width)
    padding = cursor.indent if not blank and cursor.indent <= TAB else 1
    cursor.skip(padding)
    kind = found.group() if bullet else found.group(2)
    return Item(kind, number, before + width + padding, blank)
