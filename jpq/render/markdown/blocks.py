"""BlockScanner: characters in, what blocks they begin, go on with or end out."""

from __future__ import annotations

from typing import Any, Callable, Dict, List

from jpq.render.markdown import starts
from jpq.render.markdown.heading import HeadingText
from jpq.render.markdown.lines import (
    BLANK,
    DELIMITERS,
    FENCE,
    FENCE_END,
    FENCE_LINE,
    HEADING,
    HTML,
    HTML_LINE,
    INDENTED,
    ROW,
    RULE,
    TEXT,
    UNDERLINE,
    Code,
    Container,
    Html,
    Line,
    Table,
    read_line,
)
from jpq.render.markdown.paragraph import Paragraph
from jpq.render.markdown.rows import alignments, split_row

# A line that tells only at its end what it is, is taken for what it looks like when longer.
LINE_BOUND = 4096

_LONGEST_END = 16  # of what ends a block of HTML: "</textarea>"
_STREAMED = (TEXT, HEADING)
_VERBATIM = (FENCE_LINE, HTML, HTML_LINE, INDENTED)

Emit = Callable[..., None]


class BlockScanner:
    """Calls ``emit(name, ...)`` for each thing it is sure of.

    The names are Layout's methods. Text of paragraphs and headings comes as it arrives,
    code and HTML line by line, tables row by row. Where the text is cut makes no difference.
    ``env`` collects the links' definitions, as markdown-it wants them.
    """

    def __init__(self, emit: Emit, env: Dict[str, Any]) -> None:
        self._emit = emit
        self._env = env
        self._containers: List[Container] = []
        self._leaf: Any = None
        self._held = ""  # the beginning of a line that is not decided
        self._kind = ""  # of the line, once that is decided
        self._waits_for_end = False
        self._tail = ""  # the last characters of HTML, which may end it
        self._html_ends = False
        self._heading = HeadingText()

    def feed(self, text: str) -> None:
        """The next piece of the text."""
        position, end = 0, len(text)
        while position < end:
            newline = text.find("\n", position)
            stop = end if newline < 0 else newline
            piece = text[position:stop]
            position = stop + 1
            if not self._kind:
                self._held += piece
                self._begin_line(whole=newline >= 0)
            elif piece:
                self._go_on(piece)
            if newline >= 0:
                self._end_line()

    def close(self) -> None:
        """The text is over."""
        if self._held and not self._kind:
            self._begin_line(whole=True)
        if self._kind:
            self._end_line()
        self._close_containers(0)

    @property
    def holds(self) -> bool:
        """Whether there is text that is not decided."""
        return bool(self._held) and not self._kind

    def release(self) -> None:
        """Show what is held of a line of code or HTML; its end is then not looked at."""
        if self.holds:
            line = read_line(self._held, self._containers, self._leaf)
            if line.kind in (FENCE_LINE, HTML_LINE) and line.cursor.char not in ("`", "~", ""):
                self._start(line, whole=False)

    # Lines.

    def _begin_line(self, whole: bool) -> None:
        text = self._held
        if len(text) > LINE_BOUND:
            self._force(text)
        elif whole:
            self._start(self._read(text), whole=True)
        elif not self._waits_for_end and starts.is_decided(text, self._wants_whole()):
            line = self._read(text)
            self._waits_for_end = line.kind not in _STREAMED
            if not self._waits_for_end:
                self._start(line, whole=False)

    def _force(self, text: str) -> None:
        """A line is too long to wait for its end."""
        line = self._read(text[:LINE_BOUND])
        kind = {FENCE_END: FENCE_LINE}.get(line.kind, line.kind)
        if kind in (DELIMITERS, RULE, UNDERLINE, FENCE, ROW, BLANK):
            kind = TEXT
        self._start(line._replace(kind=kind), whole=False)
        self._go_on(text[LINE_BOUND:])

    def _read(self, text: str) -> Line:
        return read_line(text, self._containers, self._leaf)

    def _wants_whole(self) -> str:
        return self._leaf.wants_whole if isinstance(self._leaf, Paragraph) else ""

    def _go_on(self, piece: str) -> None:
        """More of a line whose beginning is decided."""
        if self._kind == HEADING:
            self._heading_text(piece)
        elif self._kind == TEXT:
            self._leaf.more(piece)
        elif self._kind in _VERBATIM:
            self._verbatim(piece)

    def _end_line(self) -> None:
        kind, self._kind, self._held = self._kind, "", ""
        self._waits_for_end = False
        if kind == HEADING:
            self._emit("end")
        elif kind in _VERBATIM:
            self._emit("line_end")
            if self._html_ends:
                self._close_leaf()

    def _start(self, line: Line, whole: bool) -> None:
        """The beginning of a line is decided, or all of it is there."""
        self._kind = line.kind
        if line.kind in (FENCE_LINE, HTML_LINE):
            self._verbatim(line.cursor.rest())
        elif line.kind == INDENTED:
            self._indented(line)
        elif line.kind == TEXT:
            if line.opened or not isinstance(self._leaf, Paragraph) or self._ends(line):
                self._enter(line)
                self._leaf = Paragraph(self._emit, self._env)
            self._leaf.line(line.cursor.text[line.cursor.next :], whole)
        elif line.kind == ROW:
            self._emit("row", split_row(line.cursor.rest()))
        elif line.kind == DELIMITERS:
            self._table(line)
        elif line.kind == UNDERLINE:
            self._close_leaf()
            self._emit("underline", line.found)
        elif line.kind == FENCE_END:
            self._close_leaf()
        elif line.kind == BLANK:
            self._blank(line)
        else:
            self._begin_leaf(line)

    def _begin_leaf(self, line: Line) -> None:
        self._enter(line)
        if line.kind == HEADING:
            self._heading = HeadingText()
            self._emit("heading", line.found)
            self._heading_text(line.cursor.text[line.cursor.next + line.found :])
        elif line.kind == RULE:
            self._emit("rule")
        elif line.kind == FENCE:
            self._leaf = Code(line.found)
            self._emit("code", line.found)
        elif line.kind == HTML:
            self._leaf = Html(line.found)
            self._emit("html")
            self._verbatim(line.cursor.rest())

    def _indented(self, line: Line) -> None:
        if not isinstance(self._leaf, Code) or line.opened or self._ends(line):
            self._enter(line)
            self._leaf = Code(None)
            self._emit("code", None)
        if line.cursor.blank:
            self._leaf.blank_lines.append(line.cursor.rest())
            self._kind = BLANK
            return
        for blank_line in self._leaf.blank_lines:
            self._emit("line_part", blank_line)
            self._emit("line_end")
        self._leaf.blank_lines.clear()
        self._verbatim(line.cursor.rest())

    def _table(self, line: Line) -> None:
        header = self._leaf.take_header()
        self._close_leaf()
        self._leaf = Table()
        columns = alignments(line.cursor.text[line.cursor.next :])
        self._emit("table", split_row(header), columns)

    def _blank(self, line: Line) -> None:
        if line.opened or self._ends(line) or self._leaf is not None:
            self._enter(line)
        if not line.opened:
            self._emit("blank")

    def _verbatim(self, text: str) -> None:
        if text:
            self._emit("line_part", text)
        if isinstance(self._leaf, Html) and not starts.ends_at_blank_line(self._leaf.end):
            self._tail += text
            self._html_ends = self._html_ends or bool(self._leaf.end.search(self._tail))
            self._tail = self._tail[-_LONGEST_END:]

    def _heading_text(self, piece: str) -> None:
        text = self._heading.feed(piece)
        if text:
            self._emit("text", text)

    # Blocks.

    def _ends(self, line: Line) -> bool:
        return line.kept < len(self._containers)

    def _enter(self, line: Line) -> None:
        """End what does not go on and open what begins with ``line``."""
        self._close_containers(line.kept)
        for container in line.opened:
            self._containers.append(container)
            self._emit("open", container.kind, container.item)
        full = self._containers[:-1] if line.kind == BLANK else self._containers
        for container in full:
            container.is_empty = False

    def _close_containers(self, kept: int) -> None:
        self._close_leaf()
        while len(self._containers) > kept:
            self._emit("close", self._containers.pop().kind)

    def _close_leaf(self) -> None:
        leaf, self._leaf = self._leaf, None
        if isinstance(leaf, Paragraph):
            leaf.end()
        elif isinstance(leaf, Code):
            self._emit("code_end")
            if leaf.blank_lines:
                self._emit("blank")
        elif isinstance(leaf, Html):
            self._tail = ""
            self._html_ends = False
        elif isinstance(leaf, Table):
            self._emit("table_end")
