"""Verbatim: code and HTML, whose lines are shown exactly as they are."""

from __future__ import annotations

import importlib
import re
from typing import Any, Callable, List, Optional

from jpq.render.markdown.ink import Ink
from jpq.render.markdown.marks import Marks
from jpq.render.markdown.starts import Fence
from jpq.render.theme import CODE, HTML, MARK, PLAIN, Look

_FENCE = "```"
_LANGUAGE = re.compile(r"[\w+#.-]{1,40}")


class Verbatim:
    """Writes lines that are not wrapped, each once, coloured where the language is known.

    A line comes in parts and waits for its end, unless time releases it.
    """

    def __init__(
        self, ink: Ink, look: Look, marks: Marks, begin_line: Callable[[bool], int]
    ) -> None:
        self._ink = ink
        self._look = look
        self._marks = marks
        self._begin_line = begin_line
        self._highlighter: Any = None
        self._style = PLAIN
        self._mark = _FENCE
        self._parts: List[str] = []
        self._in_line = False  # the beginning of a line was released

    def begin_code(self, fence: Optional[Fence]) -> None:
        """Code; ``fence`` is None where it is only indented."""
        language = _language(fence.info) if fence else ""
        self._mark = self._marks.fence or (fence.mark if fence else _FENCE)
        self._highlighter = None
        if language and self._look.colours:
            # Loaded here as only answers with code need it, and it loads pygments.
            module = importlib.import_module("jpq.render.markdown.highlight")
            self._highlighter = module.highlighter(language)
        self._style = CODE if self._highlighter is None else PLAIN
        self._fence(language)

    def end_code(self) -> None:
        """The code is over."""
        self._highlighter = None
        self._fence("")

    def begin_html(self) -> None:
        """HTML, which is shown as its source: a terminal has nothing better for it."""
        self._style = HTML

    def part(self, text: str) -> None:
        """More of a line."""
        self._parts.append(text)

    def end_line(self) -> None:
        """The line is over."""
        if self._parts or not self._in_line:
            self.release(always=True)
        self._in_line = False
        self._ink.newline()

    @property
    def holds(self) -> bool:
        """Whether a part of a line waits for the rest."""
        return bool(self._parts)

    def release(self, always: bool = False) -> None:
        """Write what there is of the line."""
        if not self._parts and not always:
            return
        text = "".join(self._parts)
        self._parts.clear()
        begins = not self._in_line
        if begins:
            self._begin_line(not text)
            self._in_line = True
        if self._highlighter is not None and begins:
            for piece, style in self._highlighter.line(text):
                self._ink.text(piece, style)
        elif self._style == HTML:
            before, after = self._marks.html
            self._ink.text(before + text + after, HTML)
        elif text:
            self._ink.text(text, self._style)

    def _fence(self, language: str) -> None:
        self._begin_line(False)
        self._ink.text(self._mark + language, MARK)
        self._ink.newline()


def _language(info: str) -> str:
    """The language that the first word after a fence names; nothing if it names none."""
    found = _LANGUAGE.match(info.lstrip("{.= "))
    return "" if found is None else found.group().lower()
