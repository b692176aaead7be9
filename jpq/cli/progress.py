"""Progress of something long that happens before or outside a turn, on stderr."""

from __future__ import annotations

from typing import Optional

from jpq.cli.environment import Environment
from jpq.terminal.caps import caps_of

_BAR = 30
_MIB = 1024 * 1024


class StderrProgress:
    """A ``jpq.provider.base.Progress``: one rewritten line on a terminal, and nothing but
    the notices elsewhere. Main thread. Call ``end`` before anything else is written."""

    def __init__(self, env: Environment, quiet: bool = False) -> None:
        caps = caps_of(env.environ, env.stdout, env.stderr).stderr
        self._rewrites = caps.rewrite and not quiet
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
        line = f"{label} {done / _MIB:.1f} MiB"
        if total:
            filled = min(_BAR, _BAR * done // total)
            bar = "#" * filled + "-" * (_BAR - filled)
            line = f"{label} [{bar}] {done / _MIB:.1f} of {total / _MIB:.1f} MiB"
        if line != self._shown:
            self._env.tell_raw("\r" + line.ljust(len(self._shown)))
            self._shown = line

    def end(self) -> None:
        """Take the line off the screen."""
        if self._shown:
            self._env.tell_raw("\r" + " " * len(self._shown) + "\r")
            self._shown = ""
