"""Terminal: the controlling terminal, opened apart from stdin, stdout and stderr.

Menus and prompts go through it, so that they work while all three are pipes.
"""

from __future__ import annotations

import codecs
import contextlib
import importlib
import re
import sys
from typing import Any, Callable, Iterator, Mapping, Optional, Protocol

from jpq.terminal.modes import watched

# The devices need modules that exist on one platform only, so each is loaded by name.
_DEVICE = "jpq.terminal.console" if sys.platform == "win32" else "jpq.terminal.device"

# How often a wait for a key lets others work, and looks whether Ctrl+C was pressed.
_MEANWHILE_S = 0.02

# What a terminal that knows how puts around a pasted text, and how it is asked to.
PASTE, PASTE_END = "\x1b[200~", "\x1b[201~"
_MARK_PASTES, _MARK_NO_PASTES = b"\x1b[?2004h", b"\x1b[?2004l"

# The rest of a special key's sequence follows sooner, even over a slow line.
_SEQUENCE_S = 0.05
_BEGUN = r"\x1b(\[[0-?]*[ -/]*)?"
_KEY = r"(?s)\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|[^\x1b])?|."


class Device(Protocol):
    """The terminal as bytes. Errors are OSError."""

    def write(self, data: bytes) -> None:
        """All of ``data``."""

    def read(self) -> bytes:
        """What was typed: a line, or single keys in key mode. Empty at its end."""

    def wait(self, timeout_s: float) -> bool:
        """Whether ``read`` would return at once, waiting up to ``timeout_s`` for it."""

    def modes(self) -> Any:
        """Its present modes."""

    def set_modes(self, modes: Any) -> None:
        """Modes that ``modes`` returned."""

    def key_mode(self) -> None:
        """Hand out each key at once and do not show it; Ctrl+C stays a signal."""

    def drop_input(self) -> None:
        """Forget what was typed and not yet read."""

    def columns(self) -> int:
        """The width of its lines."""

    def in_foreground(self) -> bool:
        """Whether this process may use it, or would be stopped for it."""

    def keep_output(self, keep: bool) -> bool:
        """Have it show what it was sent although Ctrl+C is pressed; whether that is new."""

    def close(self) -> None:
        """Give it back."""


class Terminal:
    """The controlling terminal. One thread at a time: whoever holds the renderer's lease.

    Reading blocks; a signal handler that raises ends it, and so does ``meanwhile``, which is
    called several times a second while nothing is typed. A terminal that is gone (hang-up,
    closed window) reads as the end of input.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self.meanwhile: Optional[Callable[[], None]] = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._typed = ""  # read from the device, not yet handed out
        self._line = ""  # shown last, and not ended
        self._reads_keys = False

    @classmethod
    def open(cls) -> Terminal:
        """The process's controlling terminal; OSError when it has none."""
        return cls(open_device())

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the terminal back. Modes are restored by ``saved_modes``, not here."""
        self._device.close()

    def write(self, text: str) -> None:
        """Show ``text``; OSError when the terminal is gone."""
        self._line = (self._line + text).rpartition("\n")[2]
        self._device.write(text.encode("utf-8", "replace"))

    def erase_line(self, columns: Optional[int] = None) -> None:
        """Erase the line shown last, however many rows it takes; OSError as ``write``.

        It is ``columns`` wide, or holds one column for each character.
        """
        width = len(self._line) if columns is None else columns
        rows_above = max(0, width - 1) // max(1, self._device.columns())
        up = f"\x1b[{rows_above}A" if rows_above else ""
        self._device.write(f"\r{up}\x1b[J".encode())
        self._line = ""

    def read_line(self) -> Optional[str]:
        """The next line without its end; None at the end of input (Ctrl+D, hang-up)."""
        with watched(lambda: None, self.show_line_again):
            while "\n" not in self._typed:
                if not self._read_more():
                    rest, self._typed = self._typed, ""
                    return rest or None
        line, self._typed = self._typed.split("\n", 1)
        return line.rstrip("\r")

    def read_key(self) -> Optional[str]:
        """The next key: a character, or the escape sequence of a special key; None at the end."""
        with self.by_key():
            while not self._typed:
                if not self._read_more():
                    return None
            while re.fullmatch(_BEGUN, self._typed) and self._device.wait(_SEQUENCE_S):
                if not self._read_more():
                    break
        found = re.match(_KEY, self._typed)
        assert found is not None  # any character matches
        self._typed = self._typed[found.end() :]
        return found.group()

    @contextlib.contextmanager
    def by_key(self) -> Iterator[None]:
        """Until the end of the ``with`` each key can be read at once, and is not shown.

        ``read_key`` does so by itself; a question is shown within it, so that a key typed
        right after it is seen is neither echoed nor taken for the end of a line's input.
        Raises OSError when the terminal is gone already.
        """
        if self._reads_keys:
            yield
            return
        self._reads_keys = True
        try:
            with self.saved_modes(), self._key_mode():
                yield
        finally:
            self._reads_keys = False

    @contextlib.contextmanager
    def marked_pastes(self) -> Iterator[None]:
        """Until the end of the ``with`` a pasted text is between ``PASTE`` and ``PASTE_END``.

        Only for a terminal that obeys control sequences. Raises OSError when it is gone.
        """

        def mark_no_more() -> None:
            with contextlib.suppress(OSError):
                self._device.write(_MARK_NO_PASTES)

        def mark_again() -> None:
            with contextlib.suppress(OSError):
                self._device.write(_MARK_PASTES)

        with watched(mark_no_more, mark_again):
            self._device.write(_MARK_PASTES)
            try:
                yield
            finally:
                mark_no_more()

    def follows(self, seconds: float) -> bool:
        """Whether more has been typed, waiting up to ``seconds`` for it."""
        try:
            return bool(self._typed) or self._device.wait(seconds)
        except OSError:
            return False

    def drop_typed_ahead(self) -> None:
        """Forget what was typed so far: it cannot answer a question not yet shown."""
        self._typed = ""
        self._decoder.reset()
        with contextlib.suppress(OSError):
            self._device.drop_input()

    @contextlib.contextmanager
    def saved_modes(self) -> Iterator[None]:
        """Restore the terminal's modes at the end, however it is reached.

        Raises OSError when the terminal is gone already.
        """
        modes = self._device.modes()
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                self._device.set_modes(modes)

    @contextlib.contextmanager
    def _key_mode(self) -> Iterator[None]:
        modes = self._device.modes()

        def put_back() -> None:
            with contextlib.suppress(OSError):
                self._device.set_modes(modes)

        def take_again() -> None:
            with contextlib.suppress(OSError):
                self._device.key_mode()
            self.show_line_again()

        with watched(put_back, take_again):
            self._device.key_mode()
            yield

    def show_line_again(self) -> None:
        """After somebody else has written where the line was, such as the shell."""
        with contextlib.suppress(OSError):
            self._device.write(("\r" + self._line).encode("utf-8", "replace"))

    def show_line_anew(self) -> None:
        """After somebody may have written there; a line of several rows begins on a new one, so
        that it is not mixed with itself."""
        wide = len(self._line) > self._device.columns()
        with contextlib.suppress(OSError):
            self._device.write(
                (("\n" if wide else "") + "\r" + self._line).encode("utf-8", "replace")
            )

    def _read_more(self) -> bool:
        while self.meanwhile is not None and not self._device.wait(_MEANWHILE_S):
            self.meanwhile()
        try:
            data = self._device.read()
        except OSError:  # EIO: hung up, or a background process of an orphaned group
            data = b""
        self._typed += self._decoder.decode(data)
        return bool(data)


def open_device() -> Device:
    """The controlling terminal's device; OSError without one."""
    device: Device = importlib.import_module(_DEVICE).open_device()
    return device


def in_foreground() -> bool:
    """Whether the process may use its terminal; False without one, too."""
    try:
        device = open_device()
    except OSError:
        return False
    try:
        return device.in_foreground()
    finally:
        device.close()


def interactive(environ: Mapping[str, str], non_interactive: bool) -> bool:
    """Whether a person can be asked: there is a terminal, and nothing forbids it."""
    if non_interactive or environ.get("CI", "").lower() == "true":
        return False
    try:
        Terminal.open().close()
    except OSError:
        return False
    return True
