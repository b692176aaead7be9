"""/retry, /edit, /undo and /attach: the question that was last, or is next."""

from __future__ import annotations

import importlib
import os
import shlex
from typing import List

from jpq.cli.chat.past import last_counting, question_of, text_of, without
from jpq.cli.chat.place import Ask, Done, Place, no_words
from jpq.conversation.event import ChatRequest
from jpq.errors import BadInputError, UsageError

_LAST = "last"
_OFF = "off"


def retry(place: Place, words: str) -> Done:
    """Ask the last question again: an unfinished turn goes on, a whole one is replaced."""
    no_words(words, "retry")
    chat = place.chat
    if chat.unsaid:
        return Ask(chat.asking(chat.unsaid, text_of(chat.unsaid[-1])))
    stream = None if chat.journal is None else chat.journal.stream
    turn = last_counting(stream)
    assert stream is not None
    newest = stream.last_turn()
    is_newest = newest is not None and newest.entries[0] is turn.entries[0]
    if is_newest and turn.unfinished:
        return Ask(chat.asking([]))
    return Ask(chat.asking([without(turn), question_of(turn)]))


def edit(place: Place, words: str) -> Done:
    """Write the next message in the editor, or the last question anew."""
    chat = place.chat
    if words != _LAST:
        text = _edited(place, words)
        place.remember(text)
        return Ask(chat.question(text))
    drafts = chat.unsaid
    if not drafts:
        turn = last_counting(None if chat.journal is None else chat.journal.stream)
        drafts = [without(turn), question_of(turn)]
    text = _edited(place, text_of(drafts[-1]))
    drafts = [*drafts[:-1], drafts[-1]._replace(event=ChatRequest(text))]
    place.remember(text)
    return Ask(chat.asking(drafts, text))


def _edited(place: Place, text: str) -> str:
    if not place.voice.is_heard:
        raise UsageError("There is no terminal for an editor here.")
    editor = importlib.import_module("jpq.terminal.editor")  # it starts programs
    command = editor.editor_command(place.chat.env.environ)
    if command is None:
        raise UsageError(
            "There is no editor: VISUAL and EDITOR are not set.",
            hint='Several lines go between lines of three quotes: """',
        )
    edited: str = editor.edit_text(text and text + "\n", ".md", command).rstrip("\n")
    if not edited.strip():
        raise BadInputError("The message is empty, so nothing was sent.")
    return edited


def undo(place: Place, words: str) -> Done:
    """Take the last question and its answer out of what is sent."""
    no_words(words, "undo")
    chat = place.chat
    turn = last_counting(None if chat.journal is None else chat.journal.stream)
    assert chat.journal is not None
    chat.journal.commit([without(turn)])
    text = text_of(question_of(turn))
    place.remember(text)
    first = text.strip().split("\n")[0]
    place.voice.say(f"Taken back, and not sent any more: {first[:60]}")
    return None


def attach(place: Place, words: str) -> Done:
    """Attach files or URLs to the next message, list what is, or attach nothing."""
    chat, voice = place.chat, place.voice
    if words == _OFF:
        chat.attached = []
        voice.say("Nothing is attached.")
        return None
    if words:
        with place.interruptible():
            attached = chat.read(_sources(place, words), voice.say)
        chat.attached = [*chat.attached, *attached]
    if not chat.attached:
        voice.say("Nothing is attached. /attach FILE attaches it to the next message.")
        return None
    names = ", ".join(f"{each.name} ({each.media_type})" for each in chat.attached)
    voice.say(f"Attached to the next message: {names}")
    return None


def _sources(place: Place, words: str) -> List[str]:
    if os.path.exists(os.path.join(place.chat.env.cwd, os.path.expanduser(words))):
        return [words]  # a name with blanks in it
    try:
        return shlex.split(words)
    except ValueError as error:
        raise UsageError(f"These names cannot be told apart: {error}.", where=words) from error
