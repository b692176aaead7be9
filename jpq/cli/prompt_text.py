"""The prompt: the words, then what stdin holds, each as a block of its own."""

from __future__ import annotations

import importlib
import os
import select
import sys
from typing import BinaryIO, Callable, List, Mapping, Optional, Sequence

from jpq.errors import UsageError

_TELL_AFTER_S = 2.0
_READ_BYTES = 65536
USAGE_HINT = 'Say what you want to know: jpq "question", or pipe it in. jpq --help shows more.'


def gather_prompt(
    words: Sequence[str],
    stdin: Optional[BinaryIO],
    *,
    wait_s: float,
    environ: Mapping[str, str],
    interactive: bool,
    tell: Callable[[str], None],
) -> str:
    """The text to send; never blank.

    With words given, a pipe that stays silent is given up after ``wait_s`` seconds; the
    word ``-`` waits for stdin without limit. ``tell`` gets lines for the person. Raises
    UsageError when there is nothing to ask.
    """
    explicit = "-" in words
    text = " ".join(word for word in words if word != "-")
    piped = ""
    if stdin is not None and (explicit or not stdin.isatty()):
        limit = None if explicit or not text.strip() else wait_s
        piped = _decode(_read_all(stdin, limit, tell), tell)
    blocks = [block for block in (text, piped) if block.strip()]
    if not blocks and not explicit and interactive and (stdin is None or stdin.isatty()):
        blocks = [_ask(stdin, environ, tell)]
    prompt = "\n\n".join(block.strip("\n") for block in blocks)
    if not prompt.strip():
        raise UsageError("There is no prompt.", hint=USAGE_HINT)
    return prompt


def _read_all(stdin: BinaryIO, limit_s: Optional[float], tell: Callable[[str], None]) -> bytes:
    """All of stdin; b"" when its first byte or end does not come within ``limit_s``."""
    descriptor = stdin.fileno()
    if sys.platform != "win32":  # select there takes sockets only; reading just waits
        if not _readable(descriptor, _first_wait(limit_s)):
            tell("Waiting for stdin (an open pipe); the prompt's words alone would do.")
            rest = None if limit_s is None else limit_s - _TELL_AFTER_S
            if not _readable(descriptor, rest):
                tell(f"Nothing came on stdin in {limit_s:g} s; going on without. Use - to wait.")
                return b""
    pieces: List[bytes] = []
    while True:
        piece = os.read(descriptor, _READ_BYTES)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)


def _first_wait(limit_s: Optional[float]) -> float:
    return _TELL_AFTER_S if limit_s is None else min(_TELL_AFTER_S, limit_s)


def _readable(descriptor: int, seconds: Optional[float]) -> bool:
    if seconds is not None and seconds < 0:
        return False
    return bool(select.select([descriptor], [], [], seconds)[0])


def _decode(data: bytes, tell: Callable[[str], None]) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        tell("stdin holds bytes that are not UTF-8; they are sent as U+FFFD.")
        return data.decode("utf-8", "replace")


def _ask(stdin: Optional[BinaryIO], environ: Mapping[str, str], tell: Callable[[str], None]) -> str:
    """What the person writes in their editor, else one line on the terminal."""
    editor = importlib.import_module("jpq.terminal.editor")  # only here is it needed
    command = editor.editor_command(environ)
    if command is not None:
        return str(editor.edit_text("", ".md", command))
    if stdin is None:
        raise UsageError("There is no prompt.", hint=USAGE_HINT)
    tell("Your question (one line; Ctrl+C leaves):")
    return _decode(stdin.readline(), tell)
