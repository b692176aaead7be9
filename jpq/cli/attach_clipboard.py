"""``-a clipboard:``: what was copied last, through the system's own program for that."""

from __future__ import annotations

import shutil
import subprocess
from typing import List, Mapping, Sequence, Tuple

from jpq.errors import BadInputError
from jpq.named import NamedTuple

CLIPBOARD = "clipboard:"
WAIT_S = 10.0  # a program that answers its owner's windows no more must not keep us
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
        hint=f"Install one that suits your screen ({names}), or paste into a pipe: -a -",
    )


def _output(command: List[str], environ: Mapping[str, str]) -> bytes:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(environ),
            timeout=WAIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        problem = f"it did not answer within {WAIT_S:g} s"
    except OSError as error:
        problem = f"it cannot be run: {error.strerror}"
    else:
        if done.returncode == 0:
            return done.stdout
        lines = done.stderr.decode("utf-8", "replace").split("\n")
        said = next((line.strip() for line in lines if line.strip()), "")
        problem = said or f"it ended with status {done.returncode}"
    raise BadInputError(
        f"The clipboard cannot be read: {problem.rstrip('.')}.",
        where=command[0],
        hint="Copy something first; it may be empty.",
    )
