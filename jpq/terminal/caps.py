"""What each output channel can do, as a pure function of the environment and a few facts."""

from __future__ import annotations

import codecs
import importlib
import os
import sys
from typing import BinaryIO, Mapping, Optional

from jpq.named import NamedTuple

DEFAULT_WIDTH = 80


class ChannelFacts(NamedTuple):
    """What was seen of a channel: whether it is a terminal, and the encoding it is written in.

    ``obeys_escapes`` is False on an old Windows console, which prints them.
    """

    is_terminal: bool
    encoding: str = "utf-8"
    obeys_escapes: bool = True


class ChannelCaps(NamedTuple):
    """What may be done on a channel.

    ``colour``: SGR sequences are understood and wanted. ``rewrite``: a line may be drawn
    over (a spinner); where a terminal cannot, words are written once instead.
    ``columns`` is the width that the environment insists on, None to ask the terminal.
    """

    terminal: bool = False
    colour: bool = False
    rewrite: bool = False
    encoding: str = "utf-8"
    columns: Optional[int] = None

    @property
    def unicode(self) -> bool:
        """Whether signs outside ASCII can be relied on."""
        return self.encoding.startswith("utf")


class Caps(NamedTuple):
    """Both channels. ``pretty``: the answer is formatted for a person at a terminal."""

    stdout: ChannelCaps = ChannelCaps()
    stderr: ChannelCaps = ChannelCaps()
    pretty: bool = False


def find_caps(
    environ: Mapping[str, str],
    stdout: ChannelFacts,
    stderr: ChannelFacts,
    format: str = "auto",
    color: str = "auto",
) -> Caps:
    """The capabilities under ``environ``, ``--format`` and ``--color`` (auto, always, never)."""
    return Caps(
        stdout=_channel_caps(environ, stdout, color),
        stderr=_channel_caps(environ, stderr, color),
        pretty=stdout.is_terminal and not _is_dumb(environ) and format == "auto",
    )


def caps_of(
    environ: Mapping[str, str],
    stdout: Optional[BinaryIO],
    stderr: Optional[BinaryIO],
    format: str = "auto",
    color: str = "auto",
) -> Caps:
    """``find_caps`` for the files that are written to. They have the encodings that Python
    chose for stdout and stderr, or one of their own (``--output``)."""
    own = stdout if hasattr(stdout, "encoding") else sys.stdout
    return find_caps(
        environ,
        observe(stdout, getattr(own, "encoding", None)),
        observe(stderr, getattr(sys.stderr, "encoding", None)),
        format,
        color,
    )


def observe(file: Optional[BinaryIO], encoding: Optional[str]) -> ChannelFacts:
    """The facts about ``file``; None and a closed file are no terminal.

    ``encoding`` is the one Python chose for the channel; an unknown one becomes UTF-8.
    """
    try:
        name = codecs.lookup(encoding or "utf-8").name
    except LookupError:
        name = "utf-8"
    try:
        if file is None or not file.isatty():
            return ChannelFacts(False, name)
        return ChannelFacts(True, name, _obeys_escapes(file))
    except ValueError:  # isatty() of a closed file
        return ChannelFacts(False, name)


def terminal_width(caps: ChannelCaps, file: Optional[BinaryIO]) -> int:
    """Columns of the channel now; asked each time because a window can be resized."""
    if caps.columns is not None:
        return caps.columns
    try:
        columns = os.get_terminal_size(file.fileno()).columns if file is not None else 0
    except (OSError, ValueError):
        columns = 0
    return columns or DEFAULT_WIDTH  # a serial line says 0


def _channel_caps(environ: Mapping[str, str], facts: ChannelFacts, color: str) -> ChannelCaps:
    smart = facts.is_terminal and facts.obeys_escapes and not _is_dumb(environ)
    return ChannelCaps(
        terminal=facts.is_terminal,
        colour=_wants_colour(environ, smart, color),
        rewrite=smart and not _is_on(environ, "ACCESSIBLE"),
        encoding=facts.encoding,
        columns=_columns(environ),
    )


def _wants_colour(environ: Mapping[str, str], smart: bool, color: str) -> bool:
    if color != "auto":
        return color == "always"
    if environ.get("NO_COLOR"):
        return False
    if _is_on(environ, "FORCE_COLOR") or _is_on(environ, "CLICOLOR_FORCE"):
        return True
    return smart


def _obeys_escapes(file: BinaryIO) -> bool:
    if sys.platform == "win32":
        # Only Windows has to be told, and only there can the module be loaded.
        console = importlib.import_module("jpq.terminal.console")
        return bool(console.enable_escapes(file))
    return True


def _is_dumb(environ: Mapping[str, str]) -> bool:
    return environ.get("TERM") == "dumb"


def _is_on(environ: Mapping[str, str], name: str) -> bool:
    return environ.get(name, "") not in ("", "0")


def _columns(environ: Mapping[str, str]) -> Optional[int]:
    value = environ.get("COLUMNS", "")
    # Python refuses to read thousands of digits.
    return int(value) or None if value.isdecimal() and len(value) < 10 else None
