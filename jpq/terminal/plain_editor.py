"""PlainEditor: lines as the terminal's own driver edits them, where there is no readline."""

from __future__ import annotations

import codecs
import contextlib
import re
import sys
from typing import Any, Iterator, Optional

from jpq.terminal.line_editor import Complete, write_all
from jpq.terminal.modes import watched
from jpq.terminal.tty import Device

# A terminal that can put these around a pasted text is asked to.
_MARK_PASTES, _MARK_NO_PASTES = "\x1b[?2004h", "\x1b[?2004l"
# Arrow keys and the like, which mean nothing here.
_KEYS = re.compile("\x1b(?:\\[[A-DHF]|O[A-DHF]|\\[[0-9]+~)")
_PASTE, _PASTE_END = "\x1b[200~", "\x1b[201~"
# A signal that comes just before a wait begins does not end it.
_LONGEST_WAIT_S = 0.1
# Lines that follow each other sooner than anybody types are pasted, too.
_BURST_S = 0.03


class PlainEditor:
    """Implements ``jpq.terminal.line_editor.LineEditor`` without history and completion.

    ``smart`` is False for a terminal that obeys no control sequence.
    """

    def __init__(self, device: Device, smart: bool) -> None:
        self._device = device
        self._smart = smart
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._typed = ""  # read from the device, not yet handed out
        self.waits = False

    def read(self, prompt: str) -> Optional[str]:
        """A line; lines that came in one burst are one."""
        # What was typed before the prompt is shown was typed line by line.
        ahead = "\n" in self._typed or self._is_ready(0.0)
        with self._marked_pastes(), watched(lambda: None, lambda: self._show_again(prompt)):
            # From before the prompt is seen on, so that no press that answers it is too early.
            self.waits = True
            try:
                write_all(self._device, prompt)
                line = self._lines(ahead)
            finally:
                self.waits = False
            if line is None:
                with contextlib.suppress(OSError):
                    self.write("\n")
                return None
        return _KEYS.sub("", line.replace(_PASTE, "").replace(_PASTE_END, ""))

    def typed(self) -> Optional[str]:
        """The driver does not tell."""
        return None

    def remember(self, text: str) -> None:
        """Nothing: the driver has no history."""

    def complete_with(self, complete: Complete) -> None:
        """Nothing: the driver completes nothing."""

    def write(self, text: str) -> None:
        """Show ``text``."""
        write_all(self._device, text)

    def columns(self) -> int:
        """The width of the terminal."""
        return self._device.columns()

    def close(self) -> None:
        """Give the terminal back."""
        self._device.close()

    def _lines(self, ahead: bool) -> Optional[str]:
        """The next line, with those that follow it at once; None at the end of the input."""
        line = self._next()
        if line is None:
            return None
        while _PASTE in line and _PASTE_END not in line.rpartition(_PASTE)[2]:
            more = self._next()
            if more is None:
                break
            line += "\n" + more
        while not ahead and self._is_ready(_BURST_S):
            more = self._next()
            if more is None:
                break
            line += "\n" + more
        return line

    def _next(self) -> Optional[str]:
        while "\n" not in self._typed:
            data = self._waited()
            if not data:
                rest, self._typed = self._typed, ""
                return rest or None
            self._typed += self._decoder.decode(data)
        line, self._typed = self._typed.split("\n", 1)
        return line.rstrip("\r")

    def _waited(self) -> bytes:
        """What is typed next; empty at the end."""
        try:
            while not self._device.wait(_LONGEST_WAIT_S):
                pass
            return self._device.read()
        except OSError:  # hung up
            return b""

    def _is_ready(self, seconds: float) -> bool:
        if "\n" in self._typed:
            return True
        # The console of Windows cannot tell whether a whole line is there.
        return sys.platform != "win32" and self._device.wait(seconds)

    def _show_again(self, prompt: str) -> None:
        with contextlib.suppress(OSError):
            self._device.write(f"\r{prompt}".encode("utf-8", "replace"))

    @contextlib.contextmanager
    def _marked_pastes(self) -> Iterator[None]:
        if not self._smart:
            yield
            return
        write_all(self._device, _MARK_PASTES)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                write_all(self._device, _MARK_NO_PASTES)


def open_editor(device: Device, smart: bool) -> Any:
    """A PlainEditor."""
    return PlainEditor(device, smart)
