"""Aside: everything that is not the answer, on stderr."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, Mapping, Optional, Union

from jpq.events.turn import (
    Complete,
    ConversationOpened,
    Error,
    Notice,
    ReasoningChunk,
    Result,
    StreamStart,
    TokenUpdate,
    ToolEnded,
    ToolProgress,
    ToolResult,
    ToolStarted,
    ToolUse,
    ToolUseStart,
    TurnEvent,
    Waiting,
)
from jpq.events.usage import Usage
from jpq.named import NamedTuple
from jpq.render.lines import error_lines, one_line, own_line
from jpq.render.printer import Printer
from jpq.render.reasoning import ReasoningDisplay
from jpq.render.running import RunningTools
from jpq.render.sanitize import STRIP
from jpq.render.status import Clock, StatusLine
from jpq.render.theme import BOLD, DIM, RED, YELLOW, styled
from jpq.render.tool import (
    ASCII_MARKS,
    CALL,
    OSC8,
    UNICODE_MARKS,
    call_line,
    output_link,
    result_line,
    result_line_limit,
    result_lines,
)
from jpq.terminal.caps import ChannelCaps


def _no_title(name: str, arguments: Mapping[str, Any]) -> str:
    return ""


class ViewOptions(NamedTuple):
    """What the person asked to see; the words are those of ``[style]``.

    ``tool_title(name, arguments)`` is the header of a call, "" where its name will do;
    ``tools`` False leaves calls and results out (jsonl has them on stdout). ``environ``
    tells more about the terminal than its channels do. ``chat``: many answers follow each other.
    """

    reasoning: Union[str, int] = "full"
    tool_result: str = "10 lines"
    tool_arguments: str = CALL
    tool_link: str = OSC8
    tool_title: Callable[[str, Mapping[str, Any]], str] = _no_title
    sanitize: str = STRIP
    tools: bool = True
    usage: bool = False
    quiet: bool = False
    verbose: bool = False
    wrap: Union[str, int] = "auto"
    background: str = "auto"
    link: str = "auto"
    typewriter_ms: float = 0.0
    environ: Mapping[str, str] = {}
    chat: bool = False


class Aside:
    """Reasoning, tool calls and results, notices, usage, errors and the status line.

    Owned by the renderer thread. Whatever the channel, its text is sanitised. ``quiet``
    leaves only errors.
    """

    def __init__(
        self,
        printer: Printer,
        caps: ChannelCaps,
        options: ViewOptions,
        width: Callable[[], int],
        clock: Clock = time.monotonic,
    ) -> None:
        self._printer = printer
        self._err = printer.err
        self._caps = caps
        self._options = options
        self._marks = UNICODE_MARKS if caps.unicode else ASCII_MARKS
        self._result_limit = None if options.verbose else result_line_limit(options.tool_result)
        self._status: Optional[StatusLine] = None
        if caps.rewrite and not options.quiet:
            self._status = StatusLine(self._err, width, caps.unicode, clock)
        self._reasoning = ReasoningDisplay(
            self._err, caps, "hidden" if options.quiet else options.reasoning, options.sanitize
        )
        self._running = RunningTools(
            self._err,
            width,
            self._say,
            enabled=options.tools and not options.quiet,
            rewrite=self._status is not None,
            unicode=caps.unicode,
            clock=clock,
        )
        self._said_waiting: Optional[str] = None
        self._block_open = False  # reasoning or tool lines stand right above
        self._draw: Dict[type, Callable[..., None]] = {
            ConversationOpened: self._conversation,
            StreamStart: self._stream_start,
            ReasoningChunk: self._reasoning_chunk,
            ToolUseStart: self._tool_use_start,
            ToolUse: self._tool_use,
            ToolStarted: lambda event: self._running.start(event.id, event.title),
            ToolProgress: lambda event: self._running.progress(event.id, event.text),
            ToolEnded: lambda event: self._running.end(event.id),
            ToolResult: self._tool_result,
            Complete: self._complete,
            TokenUpdate: self._token_update,
            Error: self._error,
            Result: self._result,
            Notice: self._notice,
            Waiting: self._waiting,
        }

    def show(self, event: TurnEvent) -> None:
        """Draw ``event`` if it is for stderr."""
        draw = self._draw.get(type(event))
        if draw is not None:
            draw(event)

    def name(self, model: str, style: str = DIM) -> None:
        """Say which model answers, above what it says."""
        self._block_open = False
        self._stop_status()
        self._line(one_line(model, mode=self._options.sanitize), style)

    def make_way(self) -> None:
        """The answer goes on: nothing moves, and it begins on a line of its own.

        On a terminal that shows both, a blank line is between.
        """
        if self._status is not None:
            self._status.stop()
        if self._block_open:
            self._end_reasoning()
            self._block_open = False
            if self._printer.shared and self._caps.terminal:
                self._err.blank_line()

    def tick(self) -> Optional[float]:
        """Move the status line; seconds until the next move."""
        waits = [self._running.tick(), None if self._status is None else self._status.tick()]
        return min((wait for wait in waits if wait is not None), default=None)

    def pause(self) -> None:
        """Leave a terminal at the start of a line; the status line returns at the next tick."""
        if self._caps.terminal:
            self._err.yield_line()

    def close(self) -> None:
        """Erase what moves and end the line."""
        if self._status is not None:
            self._status.stop()
        self._end_reasoning()
        if not self._printer.shared:
            self._err.end_line()

    def _conversation(self, event: ConversationOpened) -> None:
        if self._options.verbose and event.id is not None:
            self._say(f"conversation {event.id}, {event.model}")

    def _stream_start(self, event: StreamStart) -> None:
        if self._options.verbose and event.model:
            self._say(f"answered by {event.model}")

    def _reasoning_chunk(self, event: ReasoningChunk) -> None:
        if not event.text or self._options.quiet:
            return
        label = self._reasoning.label_after(event.text)
        if label is None:
            if self._reasoning.is_over:
                return
            self._stop_status()
            self._reasoning.write(event.text, event.index)
            self._block_open = True
        elif self._status is not None:
            self._status.relabel(label)

    def _tool_use_start(self, event: ToolUseStart) -> None:
        if self._status is not None and self._options.tools:
            self._end_reasoning()
            self._status.start(f"Waiting for the call of {event.name}")

    def _tool_use(self, event: ToolUse) -> None:
        line = call_line(
            self._marks,
            event.name,
            event.arguments,
            self._options.sanitize,
            title=self._options.tool_title(event.name, event.arguments),
            style=self._options.tool_arguments,
        )
        self._tool_line(line, YELLOW if self._options.chat else BOLD)

    def _tool_result(self, event: ToolResult) -> None:
        mode = self._options.sanitize
        head = result_line(self._marks, event.name, event.is_error, mode)
        self._tool_line(head, RED if event.is_error else "")
        for line in result_lines(self._marks, event.content, self._result_limit, mode):
            self._tool_line(line, DIM)
        if event.full_output is not None:
            link = output_link(event.full_output, self._options.tool_link, self._caps.rewrite)
            self._tool_line("  " + link if link else "", DIM)

    def _tool_line(self, line: str, style: str) -> None:
        self._stop_status()
        if self._options.quiet or not self._options.tools or not line:
            return
        self._end_reasoning()
        self._line(line, style)
        self._block_open = True

    def _complete(self, event: Complete) -> None:
        self._stop_status()
        self._end_reasoning()

    def _token_update(self, event: TokenUpdate) -> None:
        if self._options.verbose:
            self._say("cycle: " + usage_words(event.usage))

    def _result(self, event: Result) -> None:
        self._stop_status()
        self._end_reasoning()
        if self._options.usage:
            self._say(usage_words(event.usage) + cost_words(event.usage, event.cost))

    def _error(self, event: Error) -> None:
        self._stop_status()
        self._end_reasoning()
        lines = error_lines(event.message, event.where, event.hint, self._options.sanitize)
        self._line(lines[0], RED)
        for line in lines[1:]:
            self._line(line)

    def _notice(self, event: Notice) -> None:
        self._end_reasoning()
        self._say(event.text)

    def _waiting(self, event: Waiting) -> None:
        if self._status is not None:
            self._status.start(f"Waiting for {event.what}", event.seconds)
        elif self._caps.terminal and event.what != self._said_waiting:
            self._said_waiting = event.what
            self._say(f"waiting for {event.what}")

    def _say(self, text: str) -> None:
        """One line with our name before it; a status line goes on below it."""
        if not self._options.quiet:
            self._line(own_line(text, self._options.sanitize))

    def _line(self, line: str, style: str = "") -> None:
        self._err.end_line()
        self._err.write(styled(line, style, self._caps.colour) + "\n")

    def _end_reasoning(self) -> None:
        self._reasoning.end()

    def _stop_status(self) -> None:
        if self._status is not None:
            self._status.stop()


def usage_words(usage: Usage) -> str:
    """``12 tokens in, 34 out``; what was not reported is not mentioned."""
    known = [
        (usage.input_tokens, "in"),
        (usage.output_tokens, "out"),
        (usage.reasoning_tokens, "of them reasoning"),
        (usage.cache_read_tokens, "read from cache"),
        (usage.cache_write_tokens, "written to cache"),
    ]
    words = [f"{count} {what}" for count, what in known if count is not None]
    return "tokens: " + (", ".join(words) or "not reported")


def cost_words(usage: Usage, cost: Optional[float]) -> str:
    """``, 0.0123 USD``; nothing where no tokens were reported that could have a price."""
    if cost is None:
        return ", price unknown" if usage != Usage() else ""
    return ", less than 0.0001 USD" if 0 < cost < 0.0001 else f", {cost:.4f} USD"
