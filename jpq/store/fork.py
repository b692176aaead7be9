"""Forks: a new conversation that begins as a copy of another one, or of a part of it."""

from __future__ import annotations

import os
from typing import Callable, Dict, Optional, Sequence

from jpq.conversation.event import ConfigDelta, Entry
from jpq.conversation.stream import ConversationStream
from jpq.errors import BadInputError, WriteError
from jpq.store.files import make_private_folder, read_file, replace_file, write_error
from jpq.store.journal import FileJournal
from jpq.store.library import Library
from jpq.store.reading import SavedConversation

_OUTPUTS = "tool-output"


def fork(
    library: Library,
    id: str,
    last: Optional[int] = None,
    at: Optional[str] = None,
    notify: Callable[[str], None] = lambda notice: None,
) -> FileJournal:
    """A copy of the conversation ``id``, open for writing, with entries byte for byte.

    ``last`` keeps that many turns from the end, ``at`` what comes until the entry of that
    id or its beginning. The configuration is what it was at that point. ``notify`` is told
    what of the original cannot be read, and so is not in the copy. Raises BadInputError or
    WriteError.
    """
    saved = library.read(id)
    for notice in saved.notices:
        notify(notice)
    start, end = 0, len(saved.stream.entries)
    if at is not None:
        end = _position(saved, at) + 1
    if last is not None:
        turns = saved.stream.turns()
        kept = sum(len(turn.entries) for turn in turns[-last:]) if last else 0
        start = len(saved.stream.entries) - kept
    entries = saved.stream.entries
    metadata = {**saved.metadata, "forked_from": saved.id}
    metadata.pop("created_at", None)
    journal = library.create(metadata, _config_at(saved.stream, entries[:start]))
    try:
        journal.commit_copies(entries[start:end])
        _copy_outputs(saved.folder, journal.folder)
    except WriteError:
        journal.close()
        library.remove(journal.id)
        raise
    return journal


def _position(saved: SavedConversation, at: str) -> int:
    ids = [entry.event_id for entry in saved.stream.entries]
    found = [position for position, id in enumerate(ids) if at and id.startswith(at)]
    if len(found) != 1:
        number = "more than one entry" if found else "no entry"
        raise BadInputError(
            f"The conversation has {number} {at!r}.",
            where=saved.folder,
            hint=f"See the event_id of each with: jpq conversation show --format jsonl {saved.id}",
        )
    return found[0]


def _config_at(stream: ConversationStream, before: Sequence[Entry]) -> Dict[str, object]:
    """The configuration after the entries ``before``."""
    values: Dict[str, object] = dict(stream.base_config)
    for entry in before:
        if isinstance(entry.event, ConfigDelta):
            values.update(entry.event.changes)
    return values


def _copy_outputs(source: str, target: str) -> None:
    """Copy the long outputs of tools, which entries name by their path in the folder."""
    try:
        names = os.listdir(os.path.join(source, _OUTPUTS))
    except OSError:
        return  # there are none
    folder = os.path.join(target, _OUTPUTS)
    try:
        make_private_folder(folder)
        for name in names:
            whole = os.path.join(source, _OUTPUTS, name)
            if os.path.isfile(whole):
                replace_file(os.path.join(folder, name), read_file(whole), durable=False)
    except OSError as error:
        raise write_error("copy the tools' outputs", error, folder) from error
