"""The commands of a chat: what begins with a slash."""

from __future__ import annotations

import importlib
from typing import Dict, Tuple

from jpq.cli.chat.place import Ask, Done, Place
from jpq.config.lookup import nearest_of
from jpq.errors import UsageError
from jpq.named import NamedTuple

SLASH = "/"
_ALIASES = {"quit": "exit", "?": "help"}


class Command(NamedTuple):
    """``words`` is what may follow the name, ``help`` is one line, and ``target`` what is
    called: "module:function", loaded when the command is given."""

    words: str
    help: str
    target: str


COMMANDS: Dict[str, Command] = {
    "help": Command("[COMMAND]", "what can be done here", "plain_commands:tell_help"),
    "model": Command("[MODEL]", "show or choose the model", "settings_commands:model"),
    "system": Command(
        "[TEXT|@FILE|off]", "show or choose the system prompt", "settings_commands:system"
    ),
    "tools": Command("[NAME ...|off]", "show or choose the tools", "settings_commands:tools"),
    "attach": Command("[FILE|URL ...|off]", "attach to the next message", "ask_commands:attach"),
    "retry": Command("", "ask the last question again", "ask_commands:retry"),
    "edit": Command(
        "[last]", "write in the editor; last: change the last one", "ask_commands:edit"
    ),
    "undo": Command("", "take the last question and answer back", "ask_commands:undo"),
    "fork": Command("", "go on with a copy", "conversation_commands:fork"),
    "compact": Command("[summary]", "send less of what was said", "compact_command:compact"),
    "title": Command("[TEXT]", "show or set the title", "conversation_commands:title"),
    "tokens": Command("", "how long the conversation is", "conversation_commands:tokens"),
    "cost": Command("", "what it has cost", "conversation_commands:cost"),
    "save": Command("[FILE]", "write it to a file", "conversation_commands:save"),
    "show": Command("[N]", "show what was said", "conversation_commands:show"),
    "clear": Command("", "begin a new conversation", "conversation_commands:clear"),
    "exit": Command("", "leave, as Ctrl+D does", "plain_commands:leave"),
}


def run_line(place: Place, text: str) -> Done:
    """Do what a message says: a command, or a question for the model. Raises JpqError."""
    # A pasted text may well begin with a slash.
    if not text.startswith(SLASH) or "\n" in text:
        return Ask(place.chat.question(text))
    if text.startswith(2 * SLASH):
        return Ask(place.chat.question(text[1:]))
    name, _, words = text[1:].partition(" ")
    module, _, function = find_command(name)[1].target.partition(":")
    run = getattr(importlib.import_module(f"jpq.cli.chat.{module}"), function)
    done: Done = run(place, words.strip())
    return done


def find_command(name: str) -> Tuple[str, Command]:
    """The command that is called ``name``, with its usual name. Raises UsageError."""
    name = _ALIASES.get(name, name)
    if name in COMMANDS:
        return name, COMMANDS[name]
    nearest = nearest_of(name, [*COMMANDS, *_ALIASES])
    guess = f"Did you mean /{nearest}? " if nearest else "/help lists the commands. "
    raise UsageError(
        f"There is no command /{name}.",
        hint=guess + "A message that begins with a slash is typed with two.",
    )
