"""Paragraph: text that is shown as it comes, unless it begins like something else."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional

from markdown_it import MarkdownIt

from jpq.render.markdown import starts
from jpq.render.markdown.rows import alignments, split_row

# What may define a link is taken for text when it gets longer.
DEFINITIONS_BOUND = 1024

_DEFINITIONS = MarkdownIt("zero").enable("reference")

Emit = Callable[..., None]


class Paragraph:
    """An open paragraph.

    ``header`` is a line that a row of delimiters below it would make the header of a table.
    Lines that may define links are held until they surely do or do not; what they define
    goes into ``env``, as markdown-it wants it.
    """

    def __init__(self, emit: Emit, env: Dict[str, Any]) -> None:
        self._emit = emit
        self._env = env
        self._begun = False
        self._definitions: Optional[str] = None
        self._left = ""  # what the definitions leave over
        self.header: Optional[str] = None

    def line(self, text: str, whole: bool) -> None:
        """A line, without its indentation, or the beginning of one that ``more`` goes on with."""
        if self._definitions is not None:
            if not self._left and text[:1] not in ('"', "'", "("):
                self._definitions = None  # those above are finished
            else:
                self._definitions += "\n" + text
                self._settle(final=False)
                return
        self._show_header()
        if not self._begun and whole and starts.may_define(text):
            self._definitions = text
            self._settle(final=False)
        elif whole and text.startswith("|"):
            self.header = text
        else:
            self._show(text)

    def more(self, text: str) -> None:
        """More of a line that was not whole."""
        if self._definitions is not None:
            self._definitions += text
        else:
            self._emit("text", text)

    @property
    def wants_whole(self) -> str:
        """What lines it must have whole, as ``starts.is_decided`` takes it."""
        if self._definitions is not None:
            return starts.ALL
        return "|:-" if self.header is not None else ""

    def has_text(self) -> bool:
        """Whether it is more than definitions."""
        return self._begun or self.header is not None or bool(self._left)

    def is_table(self, line: str) -> bool:
        """Whether ``line`` makes a table of the line above it."""
        found = None if self.header is None else alignments(line)
        return found is not None and len(found) == len(split_row(self.header or ""))

    def end(self) -> None:
        """It is over."""
        self.settle()
        if self._begun:
            self._emit("end")

    def settle(self) -> None:
        """Show what is held: it is text."""
        if self._definitions is not None:
            self._settle(final=True)
        self._show_header()

    def take_header(self) -> str:
        """The line that became the header of a table."""
        header, self.header = self.header or "", None
        return header

    def _show_header(self) -> None:
        if self.header is not None:
            self._show(self.take_header())

    def _show(self, text: str) -> None:
        if self._begun:
            text = "\n" + text
        else:
            self._begun = True
            self._emit("paragraph")
        self._emit("text", text)

    def _settle(self, final: bool) -> None:
        """Take the definitions from what is held; show the rest if it is sure to be text."""
        assert self._definitions is not None
        known = len(self._env.setdefault("references", {}))
        tokens: Any = []
        _DEFINITIONS.block.parse(self._definitions, _DEFINITIONS, self._env, tokens)
        self._left = tokens[1].content if tokens else ""
        if len(self._env["references"]) > known:
            self._emit("defined", list(self._env["references"])[known:])
        too_long = len(self._definitions) > DEFINITIONS_BOUND
        if self._left and (final or too_long or self._left[0] not in "[\"'("):
            self._definitions = None
            self._show(self._left)
        elif final:
            self._definitions = None
