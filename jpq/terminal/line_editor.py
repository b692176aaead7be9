"""Lines that a person types at a prompt, and where the prompt is shown."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Callable, Mapping, Optional, Protocol, Sequence

from jpq.terminal.tty import Device, open_device

# What could stand in the place of a word: of the whole line and of the word itself.
Complete = Callable[[str, str], Sequence[str]]


class LineEditor(Protocol):
    """Reads what is typed on stdin's terminal. Main thread; a signal handler that raises ends
    a wait, with the terminal as it was before. ``waits``: it may be ended so just now."""

    waits: bool

    def read(self, prompt: str) -> Optional[str]:
        """The next line without its end; a pasted text is one line that has line ends in it.
        None when the input ends (Ctrl+D, hang-up); what is shown next then begins a line.
        ``prompt`` may hold colours."""

    def typed(self) -> Optional[str]:
        """What stands on the line that is being read; None where that cannot be known. For
        signal handlers, too."""

    def remember(self, text: str) -> None:
        """Let ``text`` be found with the arrow keys from now on."""

    def complete_with(self, complete: Complete) -> None:
        """Have the Tab key ask ``complete``."""

    def write(self, text: str) -> None:
        """Show ``text``. OSError when the terminal is gone."""

    def columns(self) -> int:
        """The width of the terminal."""

    def close(self) -> None:
        """Give the terminal back."""


def open_line_editor(environ: Mapping[str, str]) -> LineEditor:
    """The best editor that stdin's terminal and this Python can have; OSError without one."""
    device = _open_device()
    smart = environ.get("TERM", "dumb") != "dumb"
    # Readline reads and writes the descriptors that Python's own streams have.
    usable = smart and sys.stdin is not None and sys.stdout is not None
    name = "jpq.terminal.readline_editor" if usable else "jpq.terminal.plain_editor"
    try:
        # Readline must not be loaded where it is of no use, and is missing in some Pythons.
        module = importlib.import_module(name)
    except ImportError as error:
        if error.name not in ("readline", "termios"):  # Windows may have the one only
            raise
        module = importlib.import_module("jpq.terminal.plain_editor")
    editor: LineEditor = module.open_editor(device, smart)
    return editor


def write_all(device: Device, text: str) -> None:
    """Show ``text``, however long the person holds the terminal (Ctrl+S)."""
    data = text.encode("utf-8", "replace")
    for start in range(0, len(data), _PIECE):
        piece = data[start : start + _PIECE]
        while True:
            try:
                device.write(piece)
                break
            except TimeoutError:
                continue


_STDIN = 0
# A terminal takes so much at once or nothing of it, once it has room for anything.
_PIECE = 256


def _open_device() -> Device:
    try:
        return open_device()
    except OSError:
        if sys.platform == "win32":
            raise
        # A terminal that is not the controlling one, as in a container's shell.
        device: Device = importlib.import_module("jpq.terminal.device").PosixDevice(
            own_descriptor()
        )
        return device


def own_descriptor() -> int:
    """A new descriptor of stdin's terminal, to read and to write. OSError without one."""
    try:
        return os.open(os.ttyname(_STDIN), os.O_RDWR | getattr(os, "O_NOCTTY", 0))
    except OSError:
        return os.dup(_STDIN)  # a name that leads nowhere here; most can be written, too
