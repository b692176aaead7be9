"""How far a batch is, on stderr: a line that is rewritten, or a few lines that stay."""

from __future__ import annotations

import time
from typing import Callable, Optional

from jpq.cli.batch.run import Totals
from jpq.cli.environment import Environment
from jpq.render.aside import cost_words, usage_words
from jpq.terminal.caps import caps_of, terminal_width

_BAR, _SHORT_BAR = 24, 8
_REDRAW_S = 0.2
_SAY_S = 30.0
_LONGEST_LINE = 79
_NARROW = 60  # columns of a line in which words need the room of a long bar


class Watching:
    """Shows the totals of a batch of ``total`` lines (None: nobody knows). Main thread.

    Without ``moves`` no line is rewritten: what the terminal shows besides would be torn.
    """

    def __init__(
        self,
        env: Environment,
        total: Optional[int],
        quiet: bool,
        moves: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._caps = caps_of(env.environ, env.stdout, env.stderr).stderr
        self._rewrites = self._caps.rewrite and moves and not quiet
        self._env = env
        self._total = total
        self._quiet = quiet
        self._clock = clock
        self._began = clock()
        self._next = self._began + (_REDRAW_S if self._rewrites else _SAY_S)
        self._shown = ""

    def show(self, totals: Totals) -> None:
        """Show ``totals`` if it is time to."""
        now = self._clock()
        if now < self._next or self._quiet:
            return
        line = self._line(totals, now)
        if self._rewrites:
            self._next = now + _REDRAW_S
            line = line[: self._room()]
            if line != self._shown:
                self._env.tell_raw("\r" + line.ljust(min(len(self._shown), self._room())))
                self._shown = line
        else:
            self._next = now + _SAY_S
            self._env.notice(line)

    def tell(self, text: str) -> None:
        """A line for the person, which stays."""
        self.clear()
        if not self._quiet:
            self._env.notice(text)

    def clear(self) -> None:
        """Take the rewritten line off the screen."""
        if self._shown:
            self._env.tell_raw("\r" + " " * min(len(self._shown), self._room()) + "\r")
            self._shown = ""

    def sum_up(self, totals: Totals) -> None:
        """What the batch came to."""
        words = [f"{totals.answered} answered"]
        if totals.failed:
            counts = sorted(totals.failures.items(), key=lambda item: (-item[1], item[0]))
            kinds = ", ".join(f"{word} {count}" for word, count in counts)
            words.append(f"{totals.failed} failed ({kinds})")
        if totals.skipped:
            words.append(f"{totals.skipped} answered before")
        spent = ""
        if totals.answered or totals.failed:
            spent = f"; {usage_words(totals.usage)}{cost_words(totals.usage, totals.cost)}"
        self.tell(f"{', '.join(words)}{spent}.")

    def _line(self, totals: Totals, now: float) -> str:
        done = totals.answered + totals.failed
        seen = done + totals.skipped
        failed = f", {totals.failed} failed" if totals.failed else ""
        rate = done / max(now - self._began, 0.001)
        speed = f", {rate:.1f} a second" if done else ""
        if not self._total:
            return f"{seen} answered{failed}, {totals.running} running{speed}"
        share = min(1.0, seen / self._total)
        size = _BAR if self._room() >= _NARROW else _SHORT_BAR
        filled = int(size * share)
        bar = f"[{'#' * filled}{'-' * (size - filled)}] " if self._rewrites else ""
        left = ""
        if done and seen < self._total:
            left = f", {_duration((self._total - seen) / rate)} left"
        return f"{bar}{seen} of {self._total}{failed}{speed}{left}"

    def _room(self) -> int:
        """The columns of a line that is rewritten: one that wraps would stay."""
        return min(_LONGEST_LINE, max(1, terminal_width(self._caps, self._env.stderr) - 1))


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
