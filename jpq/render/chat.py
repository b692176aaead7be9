"""ChatView: the answer on stdout as text, everything else on stderr."""

from __future__ import annotations

import functools
import time
from typing import Callable, List, Optional, Protocol

from jpq.events.turn import (
    Complete,
    Error,
    ReasoningChunk,
    Result,
    StreamStart,
    TextChunk,
    ToolUse,
    ToolUseStart,
    TurnEvent,
    Waiting,
)
from jpq.render.aside import Aside
from jpq.render.printer import Failure, Printer
from jpq.render.sanitize import Sanitizer

# What is held back of the text has its place before these.
_AFTER_TEXT = (Complete, Error, ReasoningChunk, Result, ToolUse, ToolUseStart)

# A request has surely been sent so long after it began: importing then delays nothing.
PREPARE_S = 0.15


class Formatter(Protocol):
    """Turns the answer's text into what is shown of it.

    Whatever it holds back comes with ``close``, which ends a message item; ``feed`` may
    then begin the next one.
    """

    def feed(self, text: str) -> str:
        """What can be shown now."""

    def close(self) -> str:
        """The rest of the message item."""

    def tick(self) -> Optional[float]:
        """Seconds until ``release`` is due; None when nothing is held for long."""

    def release(self) -> str:
        """What was held for too long."""

    def suspend(self) -> str:
        """What lets others write to the terminal before ``feed`` goes on."""

    def line_ended(self) -> None:
        """They did, and left a new line."""

    def expect(self) -> None:
        """Text may come soon, and there is time to prepare for it."""


class Verbatim:
    """The text as it comes, for pipes and files."""

    def feed(self, text: str) -> str:
        """The text itself."""
        return text

    def close(self) -> str:
        """Nothing is ever held back."""
        return ""

    def tick(self) -> Optional[float]:
        """Nothing to do."""
        return None

    def release(self) -> str:
        """Nothing is ever held back."""
        return ""

    def suspend(self) -> str:
        """Nothing is ever left open."""
        return ""

    def line_ended(self) -> None:
        """Nothing depends on where a line begins."""

    def expect(self) -> None:
        """Nothing has to be prepared."""


class Sanitized(Verbatim):
    """The text without what drives a terminal, for one that is not to have Markdown drawn."""

    def __init__(self, mode: str) -> None:
        self._sanitizer = Sanitizer(mode)

    def feed(self, text: str) -> str:
        """The text, cleaned."""
        return self._sanitizer.feed(text)

    def close(self) -> str:
        """A half of a surrogate pair, if the text ends with one."""
        return self._sanitizer.close()


class Late:
    """A formatter that is made when it is needed, as making it costs an import.

    That is when the first text comes, or while a request waits for it: by then it is sent.
    """

    def __init__(
        self, make: Callable[[], Formatter], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._make = make
        self._clock = clock
        self._made: Formatter = Verbatim()
        self._is_made = False
        self._expected: Optional[float] = None

    def feed(self, text: str) -> str:
        """What can be shown now."""
        self._prepare()
        return self._made.feed(text)

    def close(self) -> str:
        """The rest of the message item."""
        return self._made.close()

    def tick(self) -> Optional[float]:
        """Seconds until ``release`` is due, or the import, which is made when its time comes."""
        if self._expected is not None:
            left = self._expected - self._clock()
            if left > 0:
                return left
            if left < -PREPARE_S:
                # Another one had the terminal, and may take it again at once: for a menu, which
                # the import must not keep waiting.
                self._expected = self._clock() + PREPARE_S
                return PREPARE_S
            self._prepare()
        return self._made.tick()

    def release(self) -> str:
        """What was held for too long."""
        return self._made.release()

    def suspend(self) -> str:
        """What lets others write."""
        return self._made.suspend()

    def line_ended(self) -> None:
        """They did."""
        self._made.line_ended()

    def expect(self) -> None:
        """A request is about to be sent."""
        if not self._is_made and self._expected is None:
            self._expected = self._clock() + PREPARE_S

    def _prepare(self) -> None:
        self._expected = None
        if not self._is_made:
            self._is_made = True
            self._made = self._make()


class ChatView:
    """The view of ``auto``, ``text`` and ``markdown``. Owned by the renderer thread.

    stdout is the formatted text of the answer and one last line end if it has none.
    Cycles and message items are a blank line apart. A cycle that starts although the one
    before it did not complete goes on with its text, and nothing is between. With
    ``header``, stderr on the same terminal names the model above its answer.
    """

    def __init__(
        self,
        printer: Printer,
        aside: Aside,
        formatter: Formatter,
        is_terminal: bool,
        header: bool = False,
    ) -> None:
        self._printer = printer
        self._out = printer.out
        self._aside = aside
        self._formatter = formatter
        self._is_terminal = is_terminal
        self._header = header and printer.shared
        self._headed: Optional[str] = None  # the model that was named last
        self._item: Optional[int] = None  # of the text shown last; None: what comes joins it
        self._cycle_over = False
        self._any_text = False

    def show(self, event: TurnEvent) -> None:
        """Draw one event."""
        if type(event) is TextChunk:
            self._show_text(event.text, event.index)
            return
        if type(event) in _AFTER_TEXT:
            self._out.write(self._formatter.close())
        if type(event) is Complete:
            self._cycle_over = True
        elif type(event) is Waiting:
            self._formatter.expect()
        elif type(event) is StreamStart:
            self._item = None
        elif type(event) is Result:
            self._end_text()
        self._interrupt(functools.partial(self._show_aside, event))

    def tick(self) -> Optional[float]:
        """Show what the answer held back for too long, and move the status line."""
        due = self._formatter.tick()
        if due == 0.0:
            self._aside.make_way()
            self._out.write(self._formatter.release())
            due = self._formatter.tick()
        moves = self._aside.tick()
        return min((wait for wait in (due, moves) if wait is not None), default=None)

    def flush(self) -> List[Failure]:
        """Write what was drawn."""
        return self._printer.flush()

    def pause(self) -> None:
        """Leave the terminal to another owner."""
        self._interrupt(self._yield)

    def close(self) -> None:
        """End the answer's last line and all else that is open."""
        self._end_text()
        self._aside.close()

    def _show_aside(self, event: TurnEvent) -> None:
        self._aside.show(event)
        if type(event) is StreamStart and self._header:
            if event.model and event.model != self._headed:
                self._aside.name(event.model)
            self._headed = event.model

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
        if not self._any_text:
            return
        rest = self._formatter.close()
        if rest:
            self._aside.make_way()
            self._out.write(rest)
        self._out.end_line()

    def _yield(self) -> None:
        if self._is_terminal:
            self._out.yield_line()
        self._aside.pause()

    def _interrupt(self, draw: Callable[[], None]) -> None:
        """Draw what is not the answer, whose line may have to end for it."""
        in_line = self._is_terminal and not self._out.at_line_start
        if in_line:
            self._out.write(self._formatter.suspend())
        draw()
        if in_line and self._out.at_line_start:
            self._formatter.line_ended()
