"""Layout: blocks become lines, with what stands before them and the blank lines between."""

from __future__ import annotations

import re
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Optional, Tuple

from jpq.render.markdown.flow import Flow
from jpq.render.markdown.frames import Frames
from jpq.render.markdown.ink import Ink
from jpq.render.markdown.inline import InlineText
from jpq.render.markdown.marks import Marks
from jpq.render.markdown.references import References
from jpq.render.markdown.spans import ADDRESS, HARD_BREAK, SOFT_BREAK, TEXT, Span, parse_spans
from jpq.render.markdown.starts import Fence
from jpq.render.markdown.table import TableText, words_of
from jpq.render.markdown.verbatim import Verbatim
from jpq.render.theme import CODE, HEADING, HTML, LINK, MARK, PLAIN, TITLE, Look

_LONGEST_RULE = 72
_LONGEST_ADDRESS = 2000  # some terminals forget longer ones
_TASK = re.compile(r"\[([ xX])\][ \t]")
_CLICKABLE = ("http://", "https://", "mailto:", "ftp://")

Columns = Callable[[], Optional[int]]


class Layout:
    """Takes what BlockScanner emits, by name.

    While a paragraph waits for a link's definition (``waits``), what follows it waits, too.
    """

    def __init__(self, look: Look, columns: Columns, marks: Marks) -> None:
        self.ink = Ink(look)
        self.references = References()
        self.waits = False
        self._look = look
        self._columns = columns
        self._marks = marks
        self._queue: Deque[Tuple[str, Tuple[Any, ...]]] = deque()
        self._frames = Frames(self.ink, marks, columns)
        self._flow: Optional[Flow] = None
        self._inline: Optional[InlineText] = None
        self._base = PLAIN  # the style of all of a heading
        self._may_be_task = False  # the paragraph begins an item
        self._table: Optional[TableText] = None
        self._verbatim = Verbatim(self.ink, look, marks, self._frames.begin_line)

    def emit(self, name: str, *args: Any) -> None:
        """What BlockScanner is sure of."""
        if self.waits:
            self._queue.append((name, args))
            if name == "defined":
                self._go_on()
        else:
            _HANDLERS[name](self, *args)

    @property
    def holds(self) -> bool:
        """Whether anything waits that time could release."""
        if self.waits or self._verbatim.holds or (self._inline is not None and self._inline.holds):
            return True
        return (self._flow is not None and self._flow.holds) or (
            self._table is not None and self._table.holds
        )

    def wait_no_more(self) -> None:
        """The definition did not come."""
        self.references.patient = False
        self._go_on()

    def release(self) -> None:
        """Show what is held."""
        if self.waits:
            self.wait_no_more()
        if self._inline is not None:
            self._inline.release()
        if self._flow is not None:
            self._flow.release()
        if self._table is not None:
            self._table.settle()
        self._verbatim.release()

    def suspend(self) -> None:
        """Others are going to write."""
        if self._flow is not None:
            self._flow.release()
        self.ink.plain()

    def close(self) -> None:
        """The text is over."""
        while self.waits:
            self.wait_no_more()
        self.ink.plain()

    # What inline text writes.

    def write(self, text: str, style: int) -> None:
        """Text without a link."""
        assert self._flow is not None
        self._flow.text(text, style | self._base)

    def end_word(self) -> None:
        """A blank follows, or the end."""
        assert self._flow is not None
        self._flow.end_word()

    def write_span(self, span: Span) -> None:
        """Any span."""
        flow = self._flow
        assert flow is not None
        if span.kind == SOFT_BREAK:
            flow.soft_break()
        elif span.kind == HARD_BREAK:
            flow.hard_break()
        else:
            for shown in self._shown(span):
                flow.text(shown.text, shown.style | self._base, shown.href)

    def _shown(self, span: Span) -> List[Span]:
        """The span as this terminal shows it."""
        if span.kind == ADDRESS:
            if self._clickable(span.href):
                return []
            before, after = self._marks.address
            return [
                Span(TEXT, before, MARK),
                Span(TEXT, span.text, span.style | MARK),
                Span(TEXT, after, MARK),
            ]
        href = span.href if self._clickable(span.href) else ""
        if span.style & CODE and self._marks.code:
            mark = Span(TEXT, self._marks.code, MARK, href)
            return [mark, span._replace(href=href), mark]
        if span.style & HTML and any(self._marks.html):
            before, after = self._marks.html
            return [Span(TEXT, before), span._replace(href=href), Span(TEXT, after)]
        return [span._replace(href=href)]

    def _clickable(self, href: str) -> bool:
        return (
            self._look.links
            and href.lower().startswith(_CLICKABLE)
            and len(href) <= _LONGEST_ADDRESS
            and href.isascii()
            and href.isprintable()
        )

    # Lines.

    def _go_on(self) -> None:
        """Try to end the paragraph that waits, then do what waits behind it."""
        self.waits = False
        self._end()
        while self._queue and not self.waits:
            name, args = self._queue.popleft()
            _HANDLERS[name](self, *args)

    # Handlers.

    def _open(self, kind: str, item: Any) -> None:
        self._frames.open(kind, item)

    def _close(self, kind: str) -> None:
        self._frames.close()

    def _paragraph(self) -> None:
        self._begin_text(PLAIN)

    def _heading(self, level: int) -> None:
        self._begin_text(TITLE if level == 1 else HEADING)
        if self._marks.level:
            self.write(self._marks.level * level + " ", PLAIN)

    def _begin_text(self, base: int) -> None:
        self._may_be_task = base == PLAIN and self._frames.begins_item
        self._frames.separate()
        self._base = base
        self._flow = Flow(self.ink, self._columns, self._frames.begin_line)
        self._inline = InlineText(self, self.references)

    def _text(self, text: str) -> None:
        assert self._inline is not None
        if self._may_be_task:
            self._may_be_task = False
            task = _TASK.match(text)
            if task is not None:
                mark = self._marks.open_task if task.group(1) == " " else self._marks.done_task
                self.write(mark + " ", PLAIN)
                text = text[task.end() :]
        self._inline.feed(text)

    def _end(self) -> None:
        """The paragraph or heading is over."""
        if self._inline is None or self._flow is None:
            return
        if not self._inline.end():
            self.waits = True
            return
        self._flow.end()
        self.ink.newline()
        self._inline = self._flow = None
        self._base = PLAIN

    def _underline(self, level: int) -> None:
        self._rule_line(self._marks.double_rule if level == 1 else self._marks.rule)

    def _rule(self) -> None:
        self._frames.separate()
        self._rule_line(self._marks.rule)

    def _rule_line(self, mark: str) -> None:
        start = self._frames.begin_line()
        columns = self._columns() or _LONGEST_RULE
        self.ink.text(mark * max(3, min(columns, _LONGEST_RULE) - start), MARK)
        self.ink.newline()

    def _code(self, fence: Optional[Fence]) -> None:
        self._frames.separate()
        self._verbatim.begin_code(fence)

    def _code_end(self) -> None:
        self._verbatim.end_code()

    def _html(self) -> None:
        self._frames.separate()
        self._verbatim.begin_html()

    def _line_part(self, text: str) -> None:
        self._verbatim.part(text)

    def _line_end(self) -> None:
        self._verbatim.end_line()

    def _new_table(self, header: List[str], alignments: List[str]) -> None:
        self._frames.separate()
        cells = [self._cell(cell) for cell in header]
        self._table = TableText(
            self.ink,
            self._marks,
            self._columns(),
            self._frames.indent,
            self._frames.begin_line,
            cells,
            alignments,
        )

    def _row(self, cells: List[str]) -> None:
        assert self._table is not None
        self._table.row([self._cell(cell) for cell in cells])

    def _cell(self, text: str) -> Any:
        spans, _ = parse_spans(text, self.references.env)
        return words_of([shown for span in spans for shown in self._shown(span)])

    def _table_end(self) -> None:
        assert self._table is not None
        self._table.settle()
        self._table = None

    def _blank_seen(self) -> None:
        self._frames.blank_seen()

    def _defined(self, labels: List[str]) -> None:
        """Links were defined; those that were shown as text before are told now."""
        if self._inline is not None:
            self._inline.look_again()
        for label in labels:
            if label in self.references.missed:
                href = self.references.env["references"][label]["href"]
                self._frames.separate()
                self._frames.begin_line()
                self.ink.text(f"[{label.lower()}]: ", MARK)
                self.ink.text(href, LINK, href if self._clickable(href) else "")
                self.ink.newline()


_HANDLERS: Dict[str, Callable[..., None]] = {
    "open": Layout._open,
    "close": Layout._close,
    "paragraph": Layout._paragraph,
    "heading": Layout._heading,
    "text": Layout._text,
    "end": Layout._end,
    "underline": Layout._underline,
    "rule": Layout._rule,
    "code": Layout._code,
    "code_end": Layout._code_end,
    "html": Layout._html,
    "line_part": Layout._line_part,
    "line_end": Layout._line_end,
    "table": Layout._new_table,
    "row": Layout._row,
    "table_end": Layout._table_end,
    "blank": Layout._blank_seen,
    "defined": Layout._defined,
}
