"""Taking in conversations from elsewhere: finds out what a path is, and saves what is new."""

from __future__ import annotations

import os
import re
from typing import Any, Iterator, List, Mapping, Optional, Set

from jpq.conversation.event import ConfigDelta, Draft
from jpq.errors import BadInputError, WriteError
from jpq.store.bundle import Incoming, is_bundle, read_bundle, unread_lines
from jpq.store.files import read_file
from jpq.store.import_jp import read_jp
from jpq.store.import_llm import MAGIC, read_llm
from jpq.store.library import Library
from jpq.store.reading import EVENTS, INFLIGHT, METADATA, read_conversation, read_object

# Where in its metadata a conversation says what it was taken in from.
_SOURCE = "imported_from"
_HEAD = 16
_ID = re.compile("[0-9a-z]{1,32}$")


def incoming(path: str) -> Iterator[Incoming]:
    """The conversations at ``path``: a bundle, folders of jpq or jp, or llm's database.

    Raises BadInputError where there is nothing of the kind.
    """
    try:
        if os.path.isdir(path):
            yield from _from_folder(path)
            return
        with open(path, "rb") as file:
            head = file.read(_HEAD)
        if head == MAGIC:
            yield from read_llm(path)
            return
        data = read_file(path)
    except OSError as error:
        raise BadInputError(f"It cannot be read: {error.strerror or error}.", where=path) from error
    if not is_bundle(data):
        raise BadInputError(
            "Neither jpq, llm nor jp saved this.",
            where=path,
            hint="It takes what jpq conversation export wrote, llm's logs.db, or folders.",
        )
    yield from read_bundle(data)


def sources(library: Library) -> Set[str]:
    """What the conversations of ``library`` were taken in from."""
    found: Set[str] = set()
    for id in library.ids():
        found.add(f"jpq:{id}")
        try:
            source = read_object(os.path.join(library.path(id), METADATA)).get(_SOURCE)
        except (OSError, BadInputError):
            continue  # just removed, or not ours to read
        if isinstance(source, str):
            found.add(source)
    return found


def take_in(library: Library, new: Incoming, known: Set[str]) -> Optional[str]:
    """Save ``new`` and return its id; None when it is among the ``known`` sources.

    What it says about tools is taken back in an entry of its own: whoever wrote it must not
    decide what runs here without a question.

    Raises WriteError, and then nothing of it is left.
    """
    if new.source in known or not new.entries:
        return None
    known.add(new.source)
    metadata = {**new.metadata, _SOURCE: new.source}
    journal = library.create(metadata, new.base_config, id=_plain(new.id), is_last=False)
    try:
        journal.commit_copies(new.entries)
        allowed = _tool_settings(journal.stream.config())
        if allowed:
            journal.commit([Draft(ConfigDelta(dict.fromkeys(allowed)))])
    except WriteError:
        journal.close()
        library.remove(journal.id)
        raise
    journal.close()
    return journal.id


def _tool_settings(config: Mapping[str, Any]) -> List[str]:
    """The names of the settings that offer tools or allow them."""
    return [name for name in config if re.split(r"\W", name)[0] in ("tools", "active_tools")]


def _plain(id: Optional[str]) -> Optional[str]:
    """``id``, if it is one that jpq could have given: it becomes the name of a folder."""
    return id if id is not None and _ID.match(id) else None


def _from_folder(path: str) -> Iterator[Incoming]:
    if os.path.isfile(os.path.join(path, EVENTS)):
        saved = read_conversation(os.path.normpath(path))
        stream = saved.stream
        about = (f"jpq:{saved.id}", saved.id, saved.metadata, stream.base_config)
        data = read_file(os.path.join(path, EVENTS))
        unread = unread_lines(data.split(b"\n"))
        if unread and data[-1:] != b"\n" and os.path.exists(os.path.join(path, INFLIGHT)):
            unread -= 1  # a write that was cut; the in-flight file has it whole
        yield Incoming(*about, list(stream.entries), unread)
        return
    names = sorted(os.listdir(path))
    inner = [os.path.join(path, name) for name in names if not name.startswith(".")]
    ours = [folder for folder in inner if os.path.isfile(os.path.join(folder, EVENTS))]
    for folder in ours:
        yield from _from_folder(folder)
    found = bool(ours)
    for conversation in read_jp(path):
        found = True
        yield conversation
    if not found:
        raise BadInputError("There is no conversation in this folder.", where=path)
