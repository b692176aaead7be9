"""Progress of something long that happens before or outside a turn, on stderr."""

from __future__ import annotations

from typing import Optional

from jpq.cli.environment import Environment
from jpq.terminal.caps import caps_of, terminal_width

_BAR = 30
_MIB = 1024 * 1024


class StderrProgress:
    """A ``jpq.provider.base.Progress``: one rewritten line on a terminal, and nothing but
    the notices elsewhere. Main thread. Call ``end`` before anything else is written."""

    def __init__(self, env: Environment, quiet: bool = False) -> None:
        self._caps = caps_of(env.environ, env.stdout, env.stderr).stderr
        self._rewrites = self._caps.rewrite and not quiet
        self._env = env
        self._quiet = quiet
        self._shown = ""

    def notice(self, text: str) -> None:
        """One line for the person."""
        self.end()
        if not self._quiet:
            self._env.notice(text)

    def update(self, label: str, done: int, total: Optional[int]) -> None:
        """``done`` of ``total`` bytes; total None when it is not known."""
        if not self._rewrites:
            return
        room = self._room()
        line = f"{label} {done / _MIB:.1f} MiB"
        if total:
            filled = min(_BAR, _BAR * done // total)
            bar = "#" * filled + "-" * (_BAR - filled)
            words = f"{done / _MIB:.1f} of {total / _MIB:.1f} MiB"
            line = f"{label} [{bar}] {words}"
            if len(line) > room:
                line = f"{label} {words}"
        line = line[:room]
        if line != self._shown:
            self._env.tell_raw("\r" + line.ljust(min(len(self._shown), room)))
            self._shown = line

    def end(self) -> None:
        """Take the line off the screen."""
        if self._shown:
            self._env.tell_raw("\r" + " " * min(len(self._shown), self._room()) + "\r")
            self._shown = ""

    def _room(self) -> int:
        """The columns of a line that is rewritten: one that wraps would stay."""
        return max(1, terminal_width(self._caps, self._env.stderr) - 1)
