"""The controlling terminal of POSIX systems: /dev/tty."""

from __future__ import annotations

import contextlib
import os
import select
import termios
from typing import Any, Iterator

_CONTROLLING_TERMINAL = "/dev/tty"
_READ_SIZE = 4096  # the longest line a terminal takes
_STUCK_S = 1.0
_COLUMNS = 80  # where the terminal does not say, as on a serial line

_LOCAL_FLAGS = 3
_CONTROL_CHARS = 6


class PosixDevice:
    """A terminal's descriptor, owned. Implements ``jpq.terminal.tty.Device``.

    It does not block by itself: a terminal that takes nothing must not hold anybody up.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def write(self, data: bytes) -> None:
        """All of ``data``; TimeoutError where the terminal takes nothing for a second."""
        while data:
            if not select.select([], [self._fd], [], _STUCK_S)[1]:
                raise TimeoutError("the terminal takes nothing")
            with contextlib.suppress(BlockingIOError):  # it became full in between
                data = data[os.write(self._fd, data) :]

    def read(self) -> bytes:
        """A line, or what keys there are; empty at the end."""
        while True:
            select.select([self._fd], [], [])
            with contextlib.suppress(BlockingIOError):  # somebody else took it
                return os.read(self._fd, _READ_SIZE)

    def wait(self, timeout_s: float) -> bool:
        """Whether something can be read; a terminal that is gone can."""
        return bool(select.select([self._fd], [], [], timeout_s)[0])

    def modes(self) -> Any:
        """The terminal's attributes."""
        with _os_errors():
            return termios.tcgetattr(self._fd)

    def set_modes(self, modes: Any) -> None:
        """Set attributes; what is typed already is kept."""
        with _os_errors():
            termios.tcsetattr(self._fd, termios.TCSANOW, modes)

    def key_mode(self) -> None:
        """No lines and no echo; signals as before."""
        modes = self.modes()
        modes[_LOCAL_FLAGS] &= ~(termios.ICANON | termios.ECHO)
        modes[_CONTROL_CHARS][termios.VMIN] = 1
        modes[_CONTROL_CHARS][termios.VTIME] = 0
        self.set_modes(modes)

    def drop_input(self) -> None:
        """Forget typed input."""
        with _os_errors():
            termios.tcflush(self._fd, termios.TCIFLUSH)

    def columns(self) -> int:
        """The width of its lines."""
        try:
            return os.get_terminal_size(self._fd).columns or _COLUMNS
        except OSError:
            return _COLUMNS

    def in_foreground(self) -> bool:
        """Whether this process may use it; one that is gone stops nobody."""
        try:
            return os.tcgetpgrp(self._fd) == os.getpgrp()
        except OSError:
            return True

    def keep_output(self, keep: bool) -> bool:
        """Set or clear NOFLSH; False where it was so already."""
        modes = self.modes()
        if bool(modes[_LOCAL_FLAGS] & termios.NOFLSH) == keep:
            return False
        modes[_LOCAL_FLAGS] ^= termios.NOFLSH
        self.set_modes(modes)
        return True

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self._fd)


def open_device() -> PosixDevice:
    """The controlling terminal; OSError when there is none."""
    return PosixDevice(os.open(_CONTROLLING_TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK))


@contextlib.contextmanager
def _os_errors() -> Iterator[None]:
    try:
        yield
    except termios.error as error:  # no OSError, for historical reasons
        raise OSError(*error.args) from error
