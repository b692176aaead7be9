"""Voice: what a chat itself says, in colour where there is any."""

from __future__ import annotations

import textwrap
from typing import Iterable, List, Optional, Tuple

from jpq.cli.environment import Environment
from jpq.errors import JpqError
from jpq.render.lines import error_lines, one_line, own_line
from jpq.render.sanitize import sanitize
from jpq.render.theme import BOLD, CYAN, DIM, RED, YELLOW, find_look, styled
from jpq.render.views import make_markdown
from jpq.terminal.caps import ChannelCaps
from jpq.terminal.line_editor import LineEditor

YOU, MORE = "You: ", "...  "
_WIDEST = 80
_LEAST = 10  # columns that are reckoned with at least
_NARROWEST = 30  # columns for what a name means, beside it


class Voice:
    """Speaks on the person's terminal, else on stderr; never on stdout, which has answers.

    Main thread, while the renderer rests. ``quiet`` leaves what was asked for, and errors.
    """

    def __init__(
        self, env: Environment, caps: ChannelCaps, editor: Optional[LineEditor], quiet: bool
    ) -> None:
        self._env = env
        self._caps = caps
        self._colour = caps.colour
        self._unicode = caps.unicode
        self._look = find_look(env.environ, caps)
        self._editor = editor
        self._quiet = quiet

    @property
    def prompt(self) -> str:
        """What stands before a message."""
        return self.styled(YOU, BOLD + CYAN)

    @property
    def more(self) -> str:
        """What stands before another line of it."""
        return self.styled(MORE, DIM)

    def styled(self, text: str, style: str) -> str:
        """``text`` in ``style``, as far as the terminal has colours."""
        body = text.rstrip()
        return styled(body, style, self._colour) + text[len(body) :]

    def repeat(self, message: str) -> None:
        """Show a message as if it had been typed, where there is a prompt."""
        if self.is_heard:
            self.write(self.prompt + sanitize(message) + "\n")

    def say(self, text: str, style: str = "") -> None:
        """A text that the person asked for, on lines of its own, broken between words."""
        lines = sanitize(text).rstrip("\n").split("\n")
        self.write(
            "".join(self.styled(row, style) + "\n" for line in lines for row in self._rows(line))
        )

    def list(self, rows: Iterable[Tuple[str, str]]) -> None:
        """Names and what they mean, side by side where there is room for that."""
        pairs = list(rows)
        width = max((len(name) for name, _ in pairs), default=0) + 4
        beside = self.columns >= width + _NARROWEST
        for name, meaning in pairs:
            head = self.styled(f"  {name}", CYAN)
            if beside:
                lines = textwrap.wrap(meaning, self.columns - 1 - width) or [""]
                gap = " " * (width - 2 - len(name))
                self.write(f"{head}{gap}" + ("\n" + " " * width).join(lines) + "\n")
            else:
                self.write(f"{head}\n")
                self.say(f"      {meaning}")

    @property
    def columns(self) -> int:
        """The width of what is written to."""
        return _WIDEST if self._editor is None else max(_LEAST, self._editor.columns())

    def _rows(self, line: str) -> List[str]:
        if self._editor is None or len(line) < self.columns:
            return [line]
        indent = " " * (len(line) - len(line.lstrip()))
        return textwrap.wrap(
            line,
            self.columns - 1,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )

    def mention(self, text: str, style: str = DIM) -> None:
        """A line that nobody asked for."""
        if not self._quiet:
            self.say(one_line(text), style)

    def warn(self, text: str) -> None:
        """A line about something that is not as it was wished."""
        self.say(own_line(text), YELLOW)

    def tell_error(self, error: JpqError) -> None:
        """What went wrong, where, and what to do."""
        lines = error_lines(error.message, error.where, error.hint)
        self.say(lines[0], RED)
        for line in lines[1:]:
            self.say(line)

    def separate(self) -> None:
        """A line between two turns, on a terminal."""
        if self.is_heard and not self._quiet:
            width = min(_WIDEST, self.columns - 1)
            self.say(("\u2500" if self._unicode else "-") * width, DIM)

    @property
    def is_heard(self) -> bool:
        """Whether a person talks, and not a pipe."""
        return self._editor is not None

    @property
    def can_clear(self) -> bool:
        """Whether the screen can be made empty."""
        return self._editor is not None and self._caps.rewrite

    def show_markdown(self, text: str) -> None:
        """``text`` as an answer is shown."""
        if self._editor is None or not self._caps.rewrite:
            self.say(text)
            return
        formatter = make_markdown(self._look, self._editor.columns, "strip")
        shown = formatter.feed(text) + formatter.close()
        self.write(shown if shown.endswith("\n") else shown + "\n")

    def write(self, text: str) -> None:
        """``text`` as it is. A terminal that is gone takes nothing."""
        if self._editor is None:
            self._env.tell_raw(text)
            return
        try:
            self._editor.write(text)
        except OSError:
            pass  # the next line that is read tells
