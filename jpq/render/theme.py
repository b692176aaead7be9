"""The colours: plain SGR sequences, so that a style costs a string and no library."""

from __future__ import annotations

RESET = "\x1b[0m"
DIM = "\x1b[2m"
BOLD = "\x1b[1m"
RED = "\x1b[31m"


def styled(text: str, style: str, colour: bool) -> str:
    """``text`` in ``style``, reset at its end, so that a cut stream never leaves it on.

    Line ends stay last, where the channel looks for them.
    """
    body = text.rstrip("\n")
    if not (colour and style and body):
        return text
    return style + body + RESET + text[len(body) :]
