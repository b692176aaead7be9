"""``--edit``: the last question of a conversation asked in other words."""

from __future__ import annotations

import importlib
from typing import List

from jpq.cli.environment import Environment
from jpq.conversation.effective import effective
from jpq.conversation.event import ChatRequest, Compaction, Draft, Entry
from jpq.conversation.stream import ConversationStream
from jpq.errors import BadInputError, UsageError
from jpq.store.reading import SavedConversation


def edit_last(saved: SavedConversation, env: Environment, asks: bool) -> str:
    """The last question as the person changed it in the editor. Blocks until that ends.

    Raises BadInputError or UsageError.
    """
    last = _last_turn(saved.stream)[0].event
    assert isinstance(last, ChatRequest)
    # What starts programs costs start-up time, and few runs edit anything.
    editor = importlib.import_module("jpq.terminal.editor")
    command = editor.editor_command(env.environ)
    if command is None or not asks:
        raise UsageError(
            "There is no editor to change the question in.",
            hint="Set VISUAL or EDITOR, or give the new words: jpq --edit QUESTION",
        )
    text: str = editor.edit_text(last.content, ".md", command)
    if not text.strip():
        raise BadInputError("The question is empty now, so nothing was asked.")
    return text.rstrip("\n")


def in_place_of_last(stream: ConversationStream, question: Draft) -> List[Draft]:
    """The entries that put ``question`` in the place of the last turn, which stays stored.

    What was attached to the old question stays with the new one unless that has its own.
    """
    turn = _last_turn(stream)
    replaced = Draft(Compaction(turn[0].event_id, turn[-1].event_id, summary=""))
    return [replaced, Draft(question.event, {**turn[0].metadata, **question.metadata})]


def _last_turn(stream: ConversationStream) -> List[Entry]:
    """What counts of the last turn; its request is first."""
    turn = stream.last_turn()
    ids = {entry.event_id for entry in effective(stream.entries)}
    entries = [entry for entry in turn.entries if entry.event_id in ids] if turn else []
    if not entries or not isinstance(entries[0].event, ChatRequest):
        raise BadInputError(
            "There is no question to edit yet.", hint="Ask one with: jpq -c QUESTION"
        )
    return entries
