"""The prompt: the words, then what stdin holds, each as a block of its own."""

from __future__ import annotations

import importlib
import os
import select
import sys
import time
from typing import BinaryIO, Callable, List, Mapping, Optional, Sequence

from jpq.errors import BadInputError, UsageError

_TELL_AFTER_S = 2.0
_READ_BYTES = 65536
_MOST_BYTES = 100 << 20  # more than any model takes; /dev/zero and yes have no end
USAGE_HINT = 'Say what you want to know: jpq "question", or pipe it in. jpq --help shows more.'


def gather_prompt(
    words: Sequence[str],
    stdin: Optional[BinaryIO],
    *,
    wait_s: float,
    environ: Mapping[str, str],
    interactive: bool,
    tell: Callable[[str], None],
    tell_after_s: float = _TELL_AFTER_S,
    may_be_blank: bool = False,
) -> str:
    """The text to send; never blank, unless that is allowed.

    With words given, a pipe that stays silent is given up after ``wait_s`` seconds; the
    word ``-`` waits for stdin without limit. ``tell`` gets lines for the person, one of
    them when reading takes longer than ``tell_after_s``. Raises UsageError when there is
    nothing to ask.
    """
    explicit = "-" in words
    text = joined_words([word for word in words if word != "-"], tell)
    piped = ""
    if stdin is not None and (explicit or not stdin.isatty()):
        limit = None if explicit or not text.strip() else wait_s
        piped = decoded(_Pipe(stdin, tell, tell_after_s).read(limit), "stdin holds", tell)
    blocks = [block for block in (text, piped) if block.strip()]
    if not blocks and not explicit and interactive and (stdin is None or stdin.isatty()):
        blocks = [_ask(stdin, environ, tell)]
    prompt = "\n\n".join(block.strip("\n") for block in blocks)
    if not prompt.strip() and not may_be_blank:
        raise UsageError("There is no question.", hint=USAGE_HINT)
    return prompt


def joined_words(words: Sequence[str], tell: Callable[[str], None]) -> str:
    """The words of a command line with blanks between, as the bytes that they are in UTF-8.

    Python hands what its locale cannot read on as halves of surrogate pairs.
    """
    text = " ".join(words)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return decoded(os.fsencode(text), "The words hold", tell)
    return text


def read_stdin(stdin: BinaryIO, tell: Callable[[str], None]) -> bytes:
    """All that stdin holds, however long that takes. Raises BadInputError."""
    return _Pipe(stdin, tell, _TELL_AFTER_S).read(None)


class _Pipe:
    """Reads stdin to its end and says after ``tell_after_s`` seconds what it waits for."""

    def __init__(self, file: BinaryIO, tell: Callable[[str], None], tell_after_s: float) -> None:
        self._descriptor = file.fileno()
        self._tell = tell
        self._tell_at: Optional[float] = time.monotonic() + tell_after_s
        if os.isatty(self._descriptor):
            self._tell_at = None  # the person who types knows
            tell("Reading from the terminal; Ctrl+D ends it.")

    def read(self, limit_s: Optional[float]) -> bytes:
        """All of it; b"" when neither its first byte nor its end comes within ``limit_s``.

        Raises BadInputError for a stdin that cannot be read, or has more than a question can.
        """
        if limit_s is not None and not self._ready(limit_s):
            self._tell(f"Nothing came on stdin in {limit_s:g} s; going on without it. - waits.")
            return b""
        pieces: List[bytes] = []
        left = _MOST_BYTES
        try:
            while left >= 0:
                self._ready(None)
                piece = os.read(self._descriptor, _READ_BYTES)
                if not piece:
                    return b"".join(pieces)
                pieces.append(piece)
                left -= len(piece)
        except OSError as error:
            raise BadInputError(
                f"stdin cannot be read: {error.strerror}.",
                hint="Use < /dev/null if nothing is to be read from it.",
            ) from error
        raise BadInputError(
            f"stdin holds more than {_MOST_BYTES >> 20} MiB, which no model takes.",
            hint="Send a part of it, as with: head -c 100000 FILE | jpq ...",
        )

    def _ready(self, seconds: Optional[float]) -> bool:
        """Whether a byte or the end comes within ``seconds`` (None: wait for it)."""
        if sys.platform == "win32":  # select there takes sockets only; reading just waits
            return True
        end = None if seconds is None else time.monotonic() + seconds
        if self._tell_at is not None and (end is None or self._tell_at < end):
            if self._readable_by(self._tell_at):
                return True
            self._tell_at = None
            self._tell("Waiting for stdin to end; it is a pipe that is still open.")
        return self._readable_by(end)

    def _readable_by(self, end: Optional[float]) -> bool:
        left = None if end is None else max(0.0, end - time.monotonic())
        return bool(select.select([self._descriptor], [], [], left)[0])


def decoded(data: bytes, what_holds: str, tell: Callable[[str], None]) -> str:
    """``data`` as text. ``tell`` is told where it is not UTF-8; ``what_holds`` begins that."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        tell(f"{what_holds} bytes that are not UTF-8; they are sent as U+FFFD.")
        return data.decode("utf-8", "replace")


def _ask(stdin: Optional[BinaryIO], environ: Mapping[str, str], tell: Callable[[str], None]) -> str:
    """What the person writes in their editor, else one line on the terminal."""
    editor = importlib.import_module("jpq.terminal.editor")  # only here is it needed
    command = editor.editor_command(environ)
    if command is not None:
        return str(editor.edit_text("", ".md", command))
    if stdin is None:
        raise UsageError("There is no question.", hint=USAGE_HINT)
    tell("Your question (one line; Ctrl+C leaves):")
    return decoded(stdin.readline(), "The line holds", tell)
