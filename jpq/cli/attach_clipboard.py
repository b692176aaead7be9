"""``-a clipboard:``: what was copied last, through the system's own program for that."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from typing import List, Mapping, Optional, Sequence, Tuple

from jpq.errors import BadInputError
from jpq.named import NamedTuple

CLIPBOARD = "clipboard:"
WAIT_S = 10.0  # a program that answers its owner's windows no more must not keep us
MOST_BYTES = 15_000_000  # what may be attached
_MOST_SAID = 4096  # bytes of its errors, of which a line is shown
_PNG = "image/png"
_TEXT = ("text", "utf8_string", "string")


class _Way(NamedTuple):
    """A program: ``variable`` must be set for it to be of use; then what it is called with to
    name the types that were copied, for the text, and for a picture; () where it cannot."""

    program: str
    variable: str
    types: Tuple[str, ...]
    text: Tuple[str, ...]
    image: Tuple[str, ...]


_XCLIP = ("-selection", "clipboard", "-o")
_UTF_8 = "[Console]::OutputEncoding = [Text.Encoding]::UTF8; Get-Clipboard -Raw"
_POWERSHELL = ("-NoProfile", "-Command", _UTF_8)
_WAYS = (
    _Way("wl-paste", "WAYLAND_DISPLAY", ("--list-types",), ("--no-newline",), ("--type", _PNG)),
    _Way("xclip", "DISPLAY", (*_XCLIP, "-t", "TARGETS"), _XCLIP, (*_XCLIP, "-t", _PNG)),
    _Way("xsel", "DISPLAY", (), ("--clipboard", "--output"), ()),
    _Way("pbpaste", "", (), (), ()),
    _Way("powershell.exe", "", (), _POWERSHELL, ()),  # in the Linux of Windows, too
)


def read_clipboard(environ: Mapping[str, str]) -> bytes:
    """The text that was copied, or the picture where there is no text. Raises BadInputError."""
    way, program = _chosen(environ)
    arguments: Sequence[str] = way.text
    if way.types:
        types = _output([program, *way.types], environ).decode("utf-8", "replace").lower().split()
        if _PNG in types and not any(each.startswith(_TEXT) for each in types):
            arguments = way.image
    return _output([program, *arguments], environ)


def _chosen(environ: Mapping[str, str]) -> Tuple[_Way, str]:
    for way in _WAYS:
        program = shutil.which(way.program, path=environ.get("PATH"))
        if program is not None and (not way.variable or environ.get(way.variable)):
            return way, program
    names = ", ".join(way.program for way in _WAYS)
    raise BadInputError(
        "There is no program here that reads the clipboard.",
        hint=f"Install one for your display ({names}), or paste into a pipe: -a -",
    )


def _output(command: List[str], environ: Mapping[str, str]) -> bytes:
    """What ``command`` writes, a byte more than ``MOST_BYTES`` if that is more."""
    with tempfile.TemporaryFile() as errors:
        try:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=dict(environ),
                start_new_session=True,
            )
        except OSError as error:
            raise _unread(command, f"it cannot be run: {error.strerror}") from error
        written = _written(child)
        if written is None:
            raise _unread(command, f"it did not answer within {WAIT_S:g} s")
        if child.returncode == 0 or len(written) > MOST_BYTES:
            return written
        errors.seek(0)
        lines = errors.read(_MOST_SAID).decode("utf-8", "replace").split("\n")
    said = next((line.strip() for line in lines if line.strip()), "")
    raise _unread(command, said or f"it ended with status {child.returncode}")


def _written(child: subprocess.Popen[bytes]) -> Optional[bytes]:
    """What ``child`` writes; None where it does not end in time. It has ended then."""
    pieces: List[bytes] = []

    def read() -> None:
        assert child.stdout is not None
        pieces.append(child.stdout.read(MOST_BYTES + 1))

    reader = threading.Thread(target=read, name="clipboard", daemon=True)
    in_time = False
    try:
        reader.start()
        reader.join(WAIT_S)
        if pieces and len(pieces[0]) <= MOST_BYTES:
            child.wait(WAIT_S)
        in_time = bool(pieces)
    except subprocess.TimeoutExpired:
        pass  # it has closed its output, and goes on
    finally:
        if reader.is_alive() or child.poll() is None:
            _kill(child)
        reader.join(WAIT_S)  # which ends with the last of those that can write
        if not reader.is_alive() and child.stdout is not None:
            child.stdout.close()
    return pieces[0] if in_time else None


def _kill(child: subprocess.Popen[bytes]) -> None:
    """With what it has started, where there are process groups."""
    if sys.platform == "win32":
        child.kill()
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _unread(command: Sequence[str], problem: str) -> BadInputError:
    return BadInputError(
        f"The clipboard cannot be read: {problem.rstrip('.')}.",
        where=command[0],
        hint="Copy something first; it may be empty.",
    )
