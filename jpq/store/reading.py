"""Reading a conversation's folder: tolerant, without the lock, and without writing anything."""

from __future__ import annotations

import os
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from jpq.conversation.entry import decode_entry, encode_entry, is_blank, parse_json_line
from jpq.conversation.event import Entry
from jpq.conversation.stream import ConversationStream
from jpq.errors import BadInputError
from jpq.named import NamedTuple
from jpq.store.files import read_file
from jpq.store.inflight import Recovery, recover

METADATA = "metadata.json"
BASE_CONFIG = "base_config.json"
EVENTS = "events.jsonl"
INFLIGHT = "inflight.jsonl"

SCHEMA = 1

# A writer that commits while we read makes us read again; it is never that quick for long.
_ATTEMPTS = 10


class SavedConversation(NamedTuple):
    """A conversation as it was found, for reading only.

    ``stream`` ends with what a cycle that still runs, or was killed, has received so far;
    ``recovered`` says how many entries that is. ``notices`` are lines for the person.
    """

    id: str
    folder: str
    metadata: Mapping[str, Any]
    stream: ConversationStream
    recovered: int
    notices: Tuple[str, ...]


class Contents(NamedTuple):
    """``events.jsonl`` as a stream, and what ``inflight.jsonl`` adds to it.

    ``torn`` is how many bytes at the end of ``events.jsonl`` are only the beginning of an
    entry that the recovery has whole: a kill in the middle of a write leaves such.
    """

    stream: ConversationStream
    recovery: Recovery
    torn: int
    notices: Tuple[str, ...]


def read_conversation(folder: str, clock: Callable[[], float] = time.time) -> SavedConversation:
    """The conversation in ``folder``. Raises BadInputError when it cannot be read at all."""
    contents = read_contents(folder, clock)
    stream = contents.stream
    committed = len(stream.entries)
    adopt(stream, contents.recovery)
    return SavedConversation(
        id=os.path.basename(folder),
        folder=folder,
        metadata=read_object(os.path.join(folder, METADATA)),
        stream=stream,
        recovered=len(stream.entries) - committed,
        notices=contents.notices,
    )


def read_contents(folder: str, clock: Callable[[], float] = time.time) -> Contents:
    """Both files of ``folder``, read so that they belong together."""
    try:
        events, inflight = _read_together(folder)
        base_config = read_object(os.path.join(folder, BASE_CONFIG))
        schema = read_object(os.path.join(folder, METADATA)).get("schema")
    except OSError as error:
        raise BadInputError(
            f"The conversation cannot be read: {error.strerror or error}.", where=folder
        ) from error
    stream = ConversationStream(base_config, clock)
    unread = _read_entries(events, stream)
    recovery = recover(inflight, stream.entries)
    torn = _torn_bytes(events, recovery)
    unread -= 1 if torn else 0
    notices: List[str] = []
    if is_newer(schema):
        notices.append(
            f"The conversation was written by a newer jpq (schema {schema}); what this one does "
            "not know is kept and passed over."
        )
    if unread:
        lines = "1 line" if unread == 1 else f"{unread} lines"
        notices.append(
            f"{lines} of {os.path.join(folder, EVENTS)} cannot be read; left as it is. "
            f"Look at it with: jpq conversation repair --dry-run {os.path.basename(folder)}"
        )
    return Contents(stream, recovery, torn, tuple(notices))


class FilesState(NamedTuple):
    """What tells whether the files of a conversation changed: inode, size and time of each."""

    events: Optional[Tuple[int, int, int]]
    inflight: Optional[Tuple[int, int, int]]
    base_config: Optional[Tuple[int, int, int]]


def files_state(folder: str) -> FilesState:
    """The state of the files in ``folder`` now."""
    names = (EVENTS, INFLIGHT, BASE_CONFIG)
    return FilesState(*(_file_state(os.path.join(folder, name)) for name in names))


def _file_state(path: str) -> Optional[Tuple[int, int, int]]:
    try:
        state = os.stat(path)
    except OSError:
        return None
    return state.st_ino, state.st_size, state.st_mtime_ns


def is_newer(schema: Any) -> bool:
    """Whether ``schema``, of a conversation's metadata, is one that this version does not know."""
    return isinstance(schema, int) and schema > SCHEMA


def adopt(stream: ConversationStream, recovery: Recovery) -> List[Entry]:
    """Insert what was recovered and return it."""
    whole = [stream.adopt(entry) for entry in recovery.entries]
    return whole + [stream.append(draft) for draft in recovery.drafts]


def read_object(path: str) -> Dict[str, Any]:
    """The JSON object in ``path``; empty when there is none that can be read."""
    value = parse_json_line(read_file(path))
    return value if isinstance(value, dict) else {}


def _read_together(folder: str) -> Tuple[bytes, bytes]:
    """``events.jsonl`` and the ``inflight.jsonl`` that belongs to it.

    A commit appends to the one and then removes the other; if the in-flight file is
    still the same one after ``events.jsonl`` was read, no commit has come in between.
    """
    inflight_path = os.path.join(folder, INFLIGHT)
    events = inflight = b""
    for _ in range(_ATTEMPTS):
        before = _identity(inflight_path)
        events = read_file(os.path.join(folder, EVENTS))
        inflight, after = _read_identified(inflight_path)
        if before == after:
            break
    return events, inflight


def _read_identified(path: str) -> Tuple[bytes, Optional[int]]:
    try:
        with open(path, "rb") as file:
            return file.read(), os.fstat(file.fileno()).st_ino
    except FileNotFoundError:
        return b"", None


def _identity(path: str) -> Optional[int]:
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return None


def _read_entries(data: bytes, stream: ConversationStream) -> int:
    """Insert the entries of ``data`` and return how many lines are none."""
    unread = 0
    for line in data.split(b"\n"):
        entry = decode_entry(line)
        if entry is not None:
            stream.adopt(entry)
        elif not is_blank(line):
            unread += 1
    return unread


def _torn_bytes(data: bytes, recovery: Recovery) -> int:
    tail = data[data.rfind(b"\n") + 1 :]
    if tail and recovery.entries and encode_entry(recovery.entries[0]).startswith(tail):
        return len(tail)
    return 0
