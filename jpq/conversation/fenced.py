"""Finds fenced blocks in an answer."""

from __future__ import annotations

import re
from typing import Iterator, List, Optional

from jpq.named import NamedTuple

_OPENING = re.compile(r"(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^\n]*)\Z")


class Fenced(NamedTuple):
    """A block; ``language`` is the first word behind its fence, in lower case."""

    language: str
    text: str


def first_block(text: str, language: str = "") -> Optional[str]:
    """The content of the first fenced block of ``text``, of ``language`` unless that is empty.

    It ends with a line end unless it is empty. None where there is no such block.
    """
    wanted = language.lower()
    return next((b.text for b in fenced_blocks(text) if wanted in ("", b.language)), None)


def fenced_blocks(text: str) -> Iterator[Fenced]:
    """The fenced blocks of ``text``, in order, those in lists and quotes of lists too.

    One whose end is missing goes to the end of the text.
    """
    lines = iter(text.splitlines(keepends=True))
    for line in lines:
        opening = _OPENING.match(line.rstrip("\r\n"))
        if opening is None or (opening["fence"][0] == "`" and "`" in opening["info"]):
            continue
        content: List[str] = []
        for inner in lines:
            if _closes(inner, opening["fence"]):
                break
            content.append(_outdented(inner, len(opening["indent"].expandtabs(4))))
        block = "".join(content)
        if block and not block.endswith("\n"):
            block += "\n"
        word = re.match(r"\{?\.?([^\s{},]*)", opening["info"])
        yield Fenced(word.group(1).lower() if word else "", block)


def _closes(line: str, fence: str) -> bool:
    stripped = line.strip()
    return len(stripped) >= len(fence) and not stripped.strip(fence[0])


def _outdented(line: str, columns: int) -> str:
    """``line`` without up to ``columns`` blanks at its beginning."""
    taken = 0
    while taken < columns and line[taken : taken + 1] == " ":
        taken += 1
    return line[taken:]
