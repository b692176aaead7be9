"""/title, /fork, /tokens, /cost, /save, /show and /clear: the conversation itself."""

from __future__ import annotations

import os
from typing import Any, Optional

from jpq.cli.chat.place import Done, Place, no_words
from jpq.cli.chat.transcript import draw
from jpq.cli.conversation_show import formatted
from jpq.cli.conversation_text import last_turns
from jpq.cli.conversation_totals import totals_of
from jpq.conversation.stream import ConversationStream
from jpq.conversation.thread import build_thread
from jpq.conversation.tokens import estimate_tokens
from jpq.errors import BadInputError, UsageError
from jpq.provider.window import context_window
from jpq.render.aside import cost_words, usage_words
from jpq.store.files import write_named
from jpq.store.fork import fork as fork_conversation
from jpq.store.reading import SavedConversation

_FORMATS = {
    "": "markdown",
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".json": "json",
    ".jsonl": "jsonl",
    ".html": "html",
    ".htm": "html",
}
# The screen alone: what has scrolled off it, from before the chat too, is not ours to take.
_CLEAR_SCREEN = "\x1b[H\x1b[2J"


def title(place: Place, words: str) -> Done:
    """Show the title, or change it."""
    chat = place.chat
    if words:
        chat.title = " ".join(words.split())
        if chat.journal is not None:
            chat.journal.set_title(chat.title)
    told = chat.title if chat.journal is None else chat.journal.metadata.get("title")
    place.voice.say(str(told or "The conversation has no title yet."))
    return None


def fork(place: Place, words: str) -> Done:
    """Go on with a copy; the conversation stays as it is now."""
    no_words(words, "fork")
    chat = place.chat
    journal = _journal(place)
    if journal.id is None:
        raise BadInputError("The conversation is not saved, so there is nothing to copy.")
    copy = fork_conversation(chat.library, journal.id)
    chat.journal = copy
    journal.close()
    place.voice.say(f"This is {copy.id} now, a copy; {journal.id} stays as it was.")
    return None


def tokens(place: Place, words: str) -> Done:
    """Show how long the conversation is, and what it took so far."""
    no_words(words, "tokens")
    chat, voice = place.chat, place.voice
    stream = _stream(place)
    size = estimate_tokens(build_thread(stream.entries))
    window = context_window(chat.model, chat.config, chat.env.paths.cache, chat.env.environ)
    of = "" if window is None else f" of the model's {window:,}"
    voice.say(f"The conversation is about {size:,} tokens long{of}.")
    voice.say(f"Until now: {usage_words(totals_of(stream, chat.env).usage)}")
    return None


def cost(place: Place, words: str) -> Done:
    """Show what the conversation has cost so far."""
    no_words(words, "cost")
    totals = totals_of(_stream(place), place.chat.env)
    turns = "1 turn" if totals.turns == 1 else f"{totals.turns} turns"
    told = cost_words(totals.usage, totals.cost) or ", price unknown"  # no tokens were reported
    place.voice.say(turns + told)
    return None


def save(place: Place, words: str) -> Done:
    """Write the conversation to a file, in the format that the file's name asks for."""
    chat, voice = place.chat, place.voice
    if not words:
        folder = None if chat.journal is None else chat.journal.folder
        if folder is None:
            voice.say("Nothing is saved yet. /save FILE writes the conversation to a file.")
        else:
            voice.say(f"Everything is saved in {folder}; /save FILE writes a file of its own.")
        return None
    path = os.path.join(chat.env.cwd, os.path.expanduser(words))
    format = _FORMATS.get(os.path.splitext(path)[1].lower())
    if format is None:
        raise UsageError(
            "A conversation cannot be written to a file of that kind.",
            where=words,
            hint="Names end with .md, .txt, .json, .jsonl or .html.",
        )
    data = formatted(_saved(place), format).encode("utf-8", "replace")
    write_named(path, data)
    voice.say(f"Written to {path}")
    return None


def show(place: Place, words: str) -> Done:
    """Show what was said, or the last turns of it."""
    if words and not (words.isdecimal() and len(words) < 10):
        raise UsageError("/show takes a number of turns.", hint="As in: /show 3")
    draw(last_turns(_saved(place), int(words) if words else None).stream, place)
    return None


def clear(place: Place, words: str) -> Done:
    """Begin a new conversation; the one so far stays saved."""
    no_words(words, "clear")
    chat, voice = place.chat, place.voice
    old, chat.journal = chat.journal, None
    chat.title, chat.unsaid, chat.attached = None, [], []
    if old is not None:
        old.close()
    if voice.can_clear:
        voice.write(_CLEAR_SCREEN)
    kept = None if old is None or not old.stream.entries else old.id
    voice.say("A new conversation." + (f" The one before is {kept}." if kept else ""))
    return None


def _journal(place: Place) -> Any:
    if place.chat.journal is None:
        raise BadInputError("Nothing was said yet.", hint="Ask something first.")
    return place.chat.journal


def _stream(place: Place) -> ConversationStream:
    stream: ConversationStream = _journal(place).stream
    return stream


def _saved(place: Place) -> SavedConversation:
    """The conversation as commands that read saved ones take it."""
    journal = _journal(place)
    folder: Optional[str] = journal.folder
    return SavedConversation(
        id=journal.id or "",
        folder=folder or "",
        metadata=journal.metadata,
        stream=journal.stream,
        recovered=0,
        notices=(),
    )
