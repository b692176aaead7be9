"""ChatView: the answer on stdout as text, everything else on stderr."""

from __future__ import annotations

from typing import List, Optional, Protocol

from jpq.events.turn import Complete, Result, StreamStart, TextChunk, TurnEvent
from jpq.render.aside import Aside
from jpq.render.printer import Failure, Printer


class Formatter(Protocol):
    """Turns the answer's text into what is shown of it.

    Whatever it holds back comes with ``close``, which ends a message item; ``feed`` may
    then begin the next one.
    """

    def feed(self, text: str) -> str:
        """What can be shown now."""

    def close(self) -> str:
        """The rest of the message item."""


class Verbatim:
    """The text as it comes, for pipes and files."""

    def feed(self, text: str) -> str:
        """The text itself."""
        return text

    def close(self) -> str:
        """Nothing is ever held back."""
        return ""


class ChatView:
    """The view of ``auto``, ``text`` and ``markdown``. Owned by the renderer thread.

    stdout is the formatted text of the answer and one last line end if it has none.
    Cycles and message items are a blank line apart. A cycle that starts although the one
    before it did not complete goes on with its text, and nothing is between.
    """

    def __init__(
        self, printer: Printer, aside: Aside, formatter: Formatter, is_terminal: bool
    ) -> None:
        self._printer = printer
        self._out = printer.out
        self._aside = aside
        self._formatter = formatter
        self._is_terminal = is_terminal
        self._item: Optional[int] = None  # of the text shown last; None: what comes joins it
        self._cycle_over = False
        self._any_text = False

    def show(self, event: TurnEvent) -> None:
        """Draw one event."""
        if type(event) is TextChunk:
            self._show_text(event.text, event.index)
            return
        if type(event) is Complete:
            self._cycle_over = True
        elif type(event) is StreamStart:
            self._item = None
        elif type(event) is Result:
            self._end_text()
        self._aside.show(event)

    def tick(self) -> Optional[float]:
        """Move the status line."""
        return self._aside.tick()

    def flush(self) -> List[Failure]:
        """Write what was drawn."""
        return self._printer.flush()

    def pause(self) -> None:
        """Leave the terminal to another owner."""
        if self._is_terminal:
            self._out.yield_line()
        self._aside.pause()

    def close(self) -> None:
        """End the answer's last line and all else that is open."""
        self._end_text()
        self._aside.close()

    def _show_text(self, text: str, item: int) -> None:
        if not text:
            return
        self._aside.make_way()
        if self._cycle_over or self._item not in (None, item):
            self._separate()
        self._cycle_over = False
        self._item = item
        self._any_text = True
        self._out.write(self._formatter.feed(text))

    def _separate(self) -> None:
        if self._any_text:
            self._out.write(self._formatter.close())
            self._out.blank_line()

    def _end_text(self) -> None:
        if self._any_text:
            self._aside.make_way()
            self._out.write(self._formatter.close())
            self._out.end_line()
