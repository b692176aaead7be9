"""ReadlineEditor: lines as GNU readline (or libedit under its name) edits them.

Loaded late: readline is missing in some Pythons, and importing it sets the terminal up.
"""

from __future__ import annotations

import contextlib
import os
import re
import readline
import signal
import sys
import termios
import time
from typing import Any, Iterator, List, Optional, Sequence

from jpq.terminal.line_editor import Complete, own_descriptor, write_all
from jpq.terminal.modes import watched
from jpq.terminal.tty import Device

_STDIN, _STDOUT = 0, 1
_COLOURS = re.compile("\x1b\\[[0-9;]*m")
_MARK_PASTES, _MARK_NO_PASTES = "\x1b[?2004h", "\x1b[?2004l"
# What separates words: not the characters of file names and of PROVIDER/MODEL.
_DELIMITERS = " \t\n"
_IS_LIBEDIT = "libedit" in (readline.__doc__ or "")
# Libedit knows no pasted text; lines that come sooner than anybody types are one.
_BURST_S = 0.03
_LONGEST_WAIT_S = 0.2
_SENT_AGAIN_S = 2.0  # by then at the latest, see SignalRouter.surely


class ReadlineEditor:
    """Implements ``jpq.terminal.line_editor.LineEditor``. Readline is the process's: one of
    these at a time."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._complete: Optional[Complete] = None
        self._candidates: Sequence[str] = ()
        self.waits = False
        sys.stdin.reconfigure(errors="replace")  # type: ignore[union-attr]
        readline.set_auto_history(False)
        readline.set_completer_delims(_DELIMITERS)
        readline.set_completer(self._candidate)
        if _IS_LIBEDIT:
            readline.parse_and_bind("bind ^I rl_complete")
        else:
            readline.parse_and_bind("tab: complete")
            readline.parse_and_bind("set enable-bracketed-paste on")

    def read(self, prompt: str) -> Optional[str]:
        """A line, which may be a pasted text."""
        # Readline must know what of the prompt takes no column.
        marked = _COLOURS.sub("\x01\\g<0>\x02", prompt)
        with _stdout_on_terminal(), _put_back_when_stopped(prompt), _short_waits():
            self.waits = True
            try:
                line = input(marked)
                while _IS_LIBEDIT and self._device.wait(_BURST_S):
                    line += "\n" + input()
            except EOFError:
                # Some versions end the line, and some leave the prompt there.
                with contextlib.suppress(OSError):
                    self.write("\r\x1b[K")
                return None
            except KeyboardInterrupt as error:
                # input()'s own stands for what a handler raised and the collection of garbage
                # dropped (seen in CPython 3.12 and 3.13). That signal is sent again.
                if error.__traceback__ is not None and error.__traceback__.tb_next is None:
                    time.sleep(_SENT_AGAIN_S)
                raise
            except SystemError as error:
                # input() attends to a second signal while what the first one raised is set, and
                # takes that for a fault of the second handler (seen in CPython 3.8).
                if error.__cause__ is None:
                    raise
                raise error.__cause__ from None
            finally:
                self.waits = False
        return line.replace("\r\n", "\n").replace("\r", "\n")

    def typed(self) -> Optional[str]:
        """What stands on the line."""
        return readline.get_line_buffer()

    def remember(self, text: str) -> None:
        """Add ``text`` to the history, unless it is the newest there already."""
        newest = readline.get_current_history_length()
        if text and (not newest or readline.get_history_item(newest) != text):
            with contextlib.suppress(ValueError):  # a NUL, or what the locale cannot say
                readline.add_history(text)

    def complete_with(self, complete: Complete) -> None:
        """Have the Tab key ask ``complete``."""
        self._complete = complete

    def write(self, text: str) -> None:
        """Show ``text``."""
        write_all(self._device, text)

    def columns(self) -> int:
        """The width of the terminal."""
        return self._device.columns()

    def close(self) -> None:
        """Give the terminal back."""
        readline.set_completer(None)
        self._device.close()

    def _candidate(self, word: str, state: int) -> Optional[str]:
        """What readline asks for until it is None. Whatever goes wrong, nothing is completed."""
        if state == 0:
            line = readline.get_line_buffer()[: readline.get_endidx()]
            self._candidates = list(self._complete(line, word)) if self._complete else []
        return self._candidates[state] if state < len(self._candidates) else None


def open_editor(device: Device, smart: bool) -> Any:
    """A ReadlineEditor."""
    return ReadlineEditor(device)


@contextlib.contextmanager
def _stdout_on_terminal() -> Iterator[None]:
    """Let descriptor 1 be stdin's terminal: elsewhere Python does without readline, and the
    prompt must not go into the answers."""
    if os.isatty(_STDOUT):
        yield
        return
    terminal = own_descriptor()
    kept = os.dup(_STDOUT)
    try:
        os.dup2(terminal, _STDOUT)
        yield
    finally:
        os.dup2(kept, _STDOUT)
        os.close(kept)
        os.close(terminal)


@contextlib.contextmanager
def _short_waits() -> Iterator[None]:
    """Wake readline up now and then: a signal that comes just before it waits for a key does
    not end that wait, and Python would attend to it at the next key only."""
    previous = signal.signal(signal.SIGALRM, lambda signum, frame: None)
    signal.setitimer(signal.ITIMER_REAL, _LONGEST_WAIT_S, _LONGEST_WAIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


@contextlib.contextmanager
def _put_back_when_stopped(prompt: str) -> Iterator[None]:
    """Let the shell have its terminal back while Ctrl+Z stops the process; afterwards show
    again what stood there."""
    before = termios.tcgetattr(_STDIN)
    readlines: List[Any] = []

    def put_back() -> None:
        with contextlib.suppress(OSError, termios.error):
            readlines[:] = termios.tcgetattr(_STDIN)
            termios.tcsetattr(_STDIN, termios.TCSANOW, before)
            os.write(_STDOUT, _MARK_NO_PASTES.encode())

    def take_again() -> None:
        with contextlib.suppress(OSError, termios.error):
            termios.tcsetattr(_STDIN, termios.TCSANOW, readlines)
            # Readline thinks that all of this is still on the screen.
            shown = f"{_MARK_PASTES}\r{prompt}{readline.get_line_buffer()}"
            os.write(_STDOUT, shown.encode("utf-8", "replace"))

    with watched(put_back, take_again):
        yield
