"""What the characters beside a run of marks make of it."""

from __future__ import annotations

from typing import Tuple

from markdown_it.common.utils import isMdAsciiPunct, isPunctChar, isWhiteSpace


def stand_in(char: str) -> str:
    """A character that means to the marks beside it what ``char`` means, and nothing else."""
    if not char or isWhiteSpace(ord(char)):
        return ""
    return "." if _is_punctuation(char) else "a"


def _is_punctuation(char: str) -> bool:
    return isMdAsciiPunct(ord(char)) or isPunctChar(char)


def flanks(mark: str, before: str, after: str) -> Tuple[bool, bool]:
    """Whether a run of ``mark`` may open and may close, by the characters around it."""
    space_before = not before or isWhiteSpace(ord(before))
    space_after = isWhiteSpace(ord(after))
    point_before = not space_before and _is_punctuation(before)
    point_after = not space_after and _is_punctuation(after)
    left = not space_after and (not point_after or space_before or point_before)
    right = not space_before and (not point_before or space_after or point_after)
    if mark != "_":
        return left, right
    return left and (not right or point_before), right and (not left or point_after)
