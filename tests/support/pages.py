"""The fenced blocks of the project's pages, each with the comments that stand directly above it."""

from __future__ import annotations

import glob
import os
import re
from typing import Iterator, List, NamedTuple, Sequence

from tests.support.programs import ROOT

COMMANDS = ("sh", "console", "bash", "shell")
PAGES = [
    os.path.relpath(path, ROOT)
    for pattern in ("README.md", "CONTRIBUTING.md", "docs/*.md", "examples/*/README.md")
    for path in sorted(glob.glob(os.path.join(ROOT, pattern)))
]
_FENCE = re.compile(r" {0,3}(`{3,})(\w*)$")
_MARK = re.compile(r"<!-- (.*) -->$")


class Block(NamedTuple):
    """What stands between two fences of ``page``, and the marks above it, the nearest last."""

    page: str
    line: int  # of the first fence, from 1
    language: str
    text: str
    marks: Sequence[str]

    def marked(self, beginning: str) -> List[str]:
        """The rest of each mark that begins so."""
        return [mark[len(beginning) :] for mark in self.marks if mark.startswith(beginning)]

    @property
    def commands(self) -> str:
        """What a person types: all of it, or in a ``console`` block what follows a prompt."""
        if self.language != "console":
            return self.text
        lines = self.text.splitlines(True)
        return "".join(line[2:] for line in lines if line.startswith("$ "))

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: str, *languages: str) -> List[Block]:
    """Those in ``languages``, in order."""
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        lines = file.read().split("\n")
    return [block for block in _all(page, lines) if block.language in languages]


def _all(page: str, lines: List[str]) -> Iterator[Block]:
    marks: List[str] = []
    number = 0
    while number < len(lines):
        line = lines[number]
        fence, mark = _FENCE.match(line), _MARK.match(line)
        if fence is not None:
            end = next(n for n in range(number + 1, len(lines)) if lines[n].strip() == fence[1])
            text = "".join(inside + "\n" for inside in lines[number + 1 : end])
            yield Block(page, number + 1, fence[2], text, tuple(marks))
            number = end
        if mark is not None:
            marks.append(mark[1])
        elif line.strip():
            marks = []
        number += 1
