"""What a person sees: a real terminal emulator (tmux) that runs a command and shows its screen."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import tempfile
import time
from typing import Iterator, Mapping, Optional, Sequence

WAIT_S = 30.0
POLL_S = 0.02
HAS_TMUX = shutil.which("tmux") is not None


class Screen:
    """A terminal of ``columns`` and ``rows`` in a server of its own. Any one thread."""

    def __init__(self, socket: str) -> None:
        self._tmux = ["tmux", "-S", socket, "-f", os.devnull]

    def text(self, *, styles: bool = False, history: bool = False) -> str:
        """What stands on the screen; ``styles`` as escape sequences, ``history`` above it."""
        options = [*(["-e"] if styles else []), *(["-S", "-"] if history else [])]
        shown = self.tmux("capture-pane", "-p", *options)
        return "\n".join(line.rstrip() for line in shown.rstrip("\n").split("\n"))

    def wait_for(self, words: str, times: int = 1) -> str:
        """The screen with its history that has ``words``, wrapped or not, so many times."""
        deadline = time.monotonic() + WAIT_S
        while (text := self.text(history=True)).replace("\n", " ").count(words) < times:
            assert time.monotonic() < deadline, f"{words!r} never came:\n{text}"
            time.sleep(POLL_S)
        return text

    def type(self, *keys: str) -> None:
        """Press keys, by tmux's names for them or as text."""
        self.tmux("send-keys", *keys)

    def tmux(self, *command: str) -> str:
        done = subprocess.run(
            [*self._tmux, *command], check=True, capture_output=True, timeout=WAIT_S
        )
        return done.stdout.decode()


@contextlib.contextmanager
def screen(
    command: Sequence[str],
    environ: Mapping[str, str],
    *,
    columns: int = 80,
    rows: int = 24,
    cwd: Optional[str] = None,
) -> Iterator[Screen]:
    """``command`` on a new screen, which stays when it has ended. It sees ``environ`` alone."""
    with tempfile.TemporaryDirectory() as folder:
        shown = Screen(os.path.join(folder, "socket"))
        given = [f"{name}={value}" for name, value in environ.items()]
        script = os.path.join(folder, "script")  # tmux takes no command as long as this may be
        with open(script, "w", encoding="utf-8") as file:
            file.write(shlex.join(["env", "-i", *given, *command]) + "\nexec cat\n")
        size = ["-x", str(columns), "-y", str(rows)]
        where = ["-c", cwd or folder]
        shown.tmux("new-session", "-d", *size, *where, "sh", script)
        try:
            yield shown
        finally:
            shown.tmux("kill-server")
