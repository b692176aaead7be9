"""/help and /exit."""

from __future__ import annotations

from typing import Tuple

from jpq.cli.chat.commands import COMMANDS, SLASH, find_command
from jpq.cli.chat.place import Done, Leave, Place, no_words

_END = (
    "\n"
    'A line is a message. Several lines: put """ before and after them, or \\ at the end of '
    "each line, or paste them. A message that begins with a slash is typed with two.\n"
    "Ctrl+C clears the line, and interrupts an answer. Ctrl+D leaves."
)


def tell_help(place: Place, words: str) -> Done:
    """List the commands, or tell of one."""
    if words:
        place.voice.list([_row(find_command(words.lstrip(SLASH))[0])])
        return None
    place.voice.list(_row(name) for name in COMMANDS)
    place.voice.say(_END)
    return None


def leave(place: Place, words: str) -> Done:
    """End the chat."""
    no_words(words, "exit")
    return Leave()


def _row(name: str) -> Tuple[str, str]:
    command = COMMANDS[name]
    return f"{SLASH}{name} {command.words}".rstrip(), command.help
