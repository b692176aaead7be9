"""Keeps what is on its way to the terminal when Ctrl+C is pressed.

Where it makes a signal of the key, the terminal's driver throws away what it was sent and has
not handed on yet (termios, NOFLSH): an answer that goes on afterwards would have a hole in it.
"""

from __future__ import annotations

import contextlib
from typing import Iterator

from jpq.terminal.modes import watched
from jpq.terminal.tty import Device, open_device


@contextlib.contextmanager
def kept_output() -> Iterator[None]:
    """Until the end of the ``with`` the terminal loses nothing. Main thread.

    Only this one mode is changed, and changed back: other programs may have the terminal too.
    """
    try:
        device = open_device()
    except OSError:
        yield
        return
    try:
        if not _keep(device, True):
            yield
            return
        with watched(lambda: _quietly(device, False), lambda: _quietly(device, True)):
            try:
                yield
            finally:
                _quietly(device, False)
    finally:
        device.close()


def _keep(device: Device, keep: bool) -> bool:
    """Whether the mode was changed; in the background that would stop the process."""
    return device.in_foreground() and device.keep_output(keep)


def _quietly(device: Device, keep: bool) -> None:
    with contextlib.suppress(OSError):
        _keep(device, keep)
