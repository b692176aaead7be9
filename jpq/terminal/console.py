"""The console of Windows: CONIN$ and CONOUT$."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any, BinaryIO

_NO_KEY = "\0"  # which no question takes

if sys.platform == "win32":
    import msvcrt

    from colorama.winterm import enable_vt_processing

    def enable_escapes(file: BinaryIO) -> bool:
        """Make the console obey control sequences; False where it is too old for that."""
        return bool(enable_vt_processing(file.fileno()))

    class ConsoleDevice:
        """The console's two files, owned. Implements ``jpq.terminal.tty.Device``.

        Lines are read through CONIN$; single keys come from ``msvcrt``, which needs no
        change of modes.
        """

        def __init__(self, source: BinaryIO, target: BinaryIO) -> None:
            self._source = source
            self._target = target
            self._by_key = False

        def write(self, data: bytes) -> None:
            """All of ``data``."""
            while data:
                data = data[self._target.write(data) :]

        def read(self) -> bytes:
            """A line with ``\\n`` at its end, or a key; empty at the end (Ctrl+Z)."""
            if self._by_key:
                return self._read_key().encode("utf-8", "surrogatepass")
            line = self._source.readline().replace(b"\r\n", b"\n")
            return b"" if line.startswith(b"\x1a") else line

        def wait(self, timeout_s: float) -> bool:
            """Whether a key was typed. A line is always waited for in ``read``."""
            if not self._by_key or msvcrt.kbhit():
                return True
            time.sleep(timeout_s)  # there is nothing to wait on that only keys end
            return bool(msvcrt.kbhit())

        def modes(self) -> Any:
            """Whether keys are read one by one."""
            return self._by_key

        def set_modes(self, modes: Any) -> None:
            """Read lines or keys."""
            self._by_key = modes

        def key_mode(self) -> None:
            """Read keys."""
            self._by_key = True

        def drop_input(self) -> None:
            """Forget typed keys."""
            while msvcrt.kbhit():
                msvcrt.getwch()

        def columns(self) -> int:
            """The width of its lines."""
            return os.get_terminal_size(self._target.fileno()).columns

        def in_foreground(self) -> bool:
            """There are no background jobs there."""
            return True

        def keep_output(self, keep: bool) -> bool:
            """It loses nothing."""
            return False

        def close(self) -> None:
            """Close both files."""
            self._source.close()
            self._target.close()

        def _read_key(self) -> str:
            key = msvcrt.getwch()
            if key == "\x03":  # no signal while keys are read; whoever handles one gets it
                signal.raise_signal(signal.SIGINT)
                return _NO_KEY
            # A special key comes as two characters; as one escape sequence it stays one key.
            return "\x1bO" + msvcrt.getwch() if key in "\x00\xe0" else key

    def open_device() -> ConsoleDevice:
        """The console; OSError when there is none."""
        source = open("CONIN$", "rb", buffering=0)  # noqa: SIM115 - owned by the device
        try:
            return ConsoleDevice(source, open("CONOUT$", "wb", buffering=0))
        except OSError:
            source.close()
            raise
