"""The commands of a chat: what begins with a slash."""

from __future__ import annotations

from typing import Callable, Dict

from jpq.cli.chat import ask_commands, compact_command, conversation_commands, settings_commands
from jpq.cli.chat.place import Ask, Done, Leave, Place, no_words
from jpq.config.lookup import nearest_of
from jpq.errors import UsageError
from jpq.named import NamedTuple

SLASH = "/"


class Command(NamedTuple):
    """``words`` is what may follow the name; ``help`` is one line."""

    words: str
    help: str
    run: Callable[[Place, str], Done]


def run_line(place: Place, text: str) -> Done:
    """Do what a message says: a command, or a question for the model. Raises JpqError."""
    if text.startswith(2 * SLASH):
        return Ask(place.chat.question(text[1:]))
    # A pasted text may well begin with a slash.
    if not text.startswith(SLASH) or "\n" in text:
        return Ask(place.chat.question(text))
    name, _, words = text[1:].partition(" ")
    command = COMMANDS.get(_ALIASES.get(name, name))
    if command is None:
        raise _unknown(name)
    return command.run(place, words.strip())


def _help(place: Place, words: str) -> Done:
    voice = place.voice
    name = words.lstrip(SLASH)
    if name:
        command = COMMANDS.get(_ALIASES.get(name, name))
        if command is None:
            raise _unknown(name)
        voice.list([(_usage(_ALIASES.get(name, name)), command.help)])
        return None
    voice.list((_usage(each), command.help) for each, command in COMMANDS.items())
    voice.say(_HELP_END)
    return None


def _usage(name: str) -> str:
    return f"{SLASH}{name} {COMMANDS[name].words}".rstrip()


def _exit(place: Place, words: str) -> Done:
    no_words(words, "exit")
    return Leave()


def _unknown(name: str) -> UsageError:
    nearest = nearest_of(name, [*COMMANDS, *_ALIASES])
    guess = f"Did you mean /{nearest}? " if nearest else "/help lists the commands. "
    return UsageError(
        f"There is no command /{name}.",
        hint=guess + "A message that begins with a slash is typed with two.",
    )


_HELP_END = (
    "\n"
    'A line is a message. Several lines: put """ before and after them, or \\ at the end of '
    "each line, or paste them. A message that begins with a slash is typed with two.\n"
    "Ctrl+C clears the line, and interrupts an answer. Ctrl+D leaves."
)

COMMANDS: Dict[str, Command] = {
    "help": Command("[COMMAND]", "what can be done here", _help),
    "model": Command("[MODEL]", "show or choose the model", settings_commands.model),
    "system": Command(
        "[TEXT|@FILE|off]", "show or choose the system prompt", settings_commands.system
    ),
    "tools": Command("[NAME ...|off]", "show or choose the tools", settings_commands.tools),
    "attach": Command("[FILE|URL ...|off]", "attach to the next message", ask_commands.attach),
    "retry": Command("", "ask the last question again", ask_commands.retry),
    "edit": Command(
        "[last]", "write a message in the editor; last: the last one anew", ask_commands.edit
    ),
    "undo": Command("", "take the last question and answer back", ask_commands.undo),
    "fork": Command("", "go on with a copy", conversation_commands.fork),
    "compact": Command("[summary]", "send less of what was said", compact_command.compact),
    "title": Command("[TEXT]", "show or set the title", conversation_commands.title),
    "tokens": Command("", "how long the conversation is", conversation_commands.tokens),
    "cost": Command("", "what it has cost", conversation_commands.cost),
    "save": Command("[FILE]", "write it to a file", conversation_commands.save),
    "show": Command("[N]", "show what was said", conversation_commands.show),
    "clear": Command("", "begin a new conversation", conversation_commands.clear),
    "exit": Command("", "leave, as Ctrl+D does", _exit),
}
_ALIASES = {"quit": "exit", "?": "help"}
