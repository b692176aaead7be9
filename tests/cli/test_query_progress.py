"""What is shown on stderr while something long happens before the turn."""

from __future__ import annotations

import fcntl
import io
import os
import struct
import termios
from typing import Iterator, Tuple

import pytest

from jpq.cli.environment import Environment
from jpq.cli.progress import StderrProgress


@pytest.fixture
def terminal() -> Iterator[Tuple[Environment, int]]:
    read, side = os.openpty()
    with os.fdopen(side, "wb", buffering=0) as stderr:
        yield Environment({"TERM": "xterm"}, "/", None, None, stderr), read
    os.close(read)


def shown(read: int, environ: Environment) -> str:
    """What came to the terminal, up to a mark that is written last."""
    environ.tell_raw("|END")
    text = ""
    while not text.endswith("|END"):
        text += os.read(read, 4096).decode()
    return text[: -len("|END")].replace("\r\n", "\n")


def test_a_terminal_sees_one_line_that_is_drawn_over(terminal: Tuple[Environment, int]) -> None:
    environ, read = terminal
    progress = StderrProgress(environ)
    progress.update("Fetching", 0, 4 * 1024 * 1024)
    progress.update("Fetching", 2 * 1024 * 1024, 4 * 1024 * 1024)
    progress.update("Fetching", 2 * 1024 * 1024, 4 * 1024 * 1024)
    progress.notice("Starting it.")
    progress.end()
    half = f"Fetching [{'#' * 15}{'-' * 15}] 2.0 of 4.0 MiB"
    begin = f"Fetching [{'-' * 30}] 0.0 of 4.0 MiB"
    blank = " " * len(half)
    assert shown(read, environ) == f"\r{begin}\r{half}\r{blank}\rjpq: Starting it.\n"


def test_the_line_fits_the_terminal_also_when_that_gets_narrower(
    terminal: Tuple[Environment, int],
) -> None:
    environ, read = terminal
    size = 4 * 1024 * 1024
    progress = StderrProgress(environ)
    drawn = []
    for columns in (40, 20, 5):
        fcntl.ioctl(read, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        progress.update("Fetching", columns * 1024 * 1024 // 20, size)
        drawn.append(shown(read, environ))
    assert drawn == ["\rFetching 2.0 of 4.0 MiB", "\rFetching 1.0 of 4.0", "\rFetc"]
    progress.end()
    assert shown(read, environ) == "\r    \r"


def test_a_size_that_is_not_known(terminal: Tuple[Environment, int]) -> None:
    environ, read = terminal
    progress = StderrProgress(environ)
    progress.update("Fetching", 1536 * 1024, None)
    assert shown(read, environ) == "\rFetching 1.5 MiB"


@pytest.mark.parametrize("quiet", [False, True])
def test_elsewhere_there_are_only_the_notices(quiet: bool) -> None:
    stderr = io.BytesIO()
    progress = StderrProgress(Environment({}, "/", None, None, stderr), quiet=quiet)
    progress.update("Fetching", 1, 2)
    progress.notice("Starting it.")
    progress.end()
    assert stderr.getvalue() == (b"" if quiet else b"jpq: Starting it.\n")
