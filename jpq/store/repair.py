"""Repairing a conversation's files: what would change, and changing it with a copy kept.

Nothing but ``jpq conversation repair`` writes these changes; everybody else makes the same
ones each time, in memory.
"""

from __future__ import annotations

import os
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

from jpq.conversation.effective import ambiguous_ids, references
from jpq.conversation.entry import (
    decode_entry,
    encode_entry,
    is_blank,
    parse_json_line,
    to_json_bytes,
    without_padding,
)
from jpq.conversation.event import Entry
from jpq.conversation.identity import new_event_id
from jpq.conversation.json_splice import with_field
from jpq.conversation.sanitize import sanitize
from jpq.conversation.stream import ConversationStream
from jpq.errors import BadInputError
from jpq.named import NamedTuple
from jpq.store.files import keep_damaged, read_file, replace_file, write_error
from jpq.store.reading import BASE_CONFIG, EVENTS, METADATA, SCHEMA, is_newer


class Change(NamedTuple):
    """One change of a file: why, the number of the line (0 for one that is put in), what
    goes and what comes."""

    reason: str
    number: int
    removed: Optional[bytes]
    added: Optional[bytes]


class FileRepair(NamedTuple):
    """What becomes of the file ``path``; there is something in ``changes``."""

    path: str
    changes: Sequence[Change]
    data: bytes


def plan_repair(folder: str) -> List[FileRepair]:
    """What has to change in the conversation in ``folder``; empty for a sound one.

    Reads only. Raises BadInputError where a newer version wrote it, because what looks
    damaged may be what this version does not know, and where it cannot be read.
    """
    try:
        files = {name: read_file(os.path.join(folder, name)) for name in _FILES}
    except OSError as error:
        raise BadInputError(
            f"The conversation cannot be read: {error.strerror or error}.", where=folder
        ) from error
    metadata = parse_json_line(files[METADATA])
    if isinstance(metadata, dict) and is_newer(metadata.get("schema")):
        raise BadInputError(
            "The conversation was written by a newer jpq, and only that can repair it.",
            where=folder,
            hint="It can still be read and gone on with.",
        )
    data, changes = _repaired_events(files[EVENTS])
    plan = [FileRepair(os.path.join(folder, EVENTS), changes, data)]
    if not isinstance(metadata, dict):
        plan.append(_rebuilt(os.path.join(folder, METADATA), files[METADATA], _about(data)))
    if files[BASE_CONFIG] and not isinstance(parse_json_line(files[BASE_CONFIG]), dict):
        plan.append(_rebuilt(os.path.join(folder, BASE_CONFIG), files[BASE_CONFIG], {}))
    return [repair for repair in plan if repair.changes]


def write_repair(plan: Sequence[FileRepair]) -> List[str]:
    """Write what ``plan`` says; the paths of the copies that were kept. The conversation is
    open in a journal, so that nobody else writes it. Raises WriteError."""
    copies: List[str] = []
    for repair in plan:
        try:
            copies.append(keep_damaged(repair.path))
            replace_file(repair.path, repair.data)
        except OSError as error:
            raise write_error("repair the conversation", error, repair.path) from error
    return copies


_FILES = (EVENTS, METADATA, BASE_CONFIG)


class _Lines:
    """The lines of ``events.jsonl``, repaired one by one."""

    def __init__(self, data: bytes) -> None:
        self.changes: List[Change] = []
        self.numbers: Dict[str, int] = {}  # event id -> line number
        self.stream = ConversationStream()
        for number, line in enumerate(data.split(b"\n"), 1):
            self._read(number, line)

    def _read(self, number: int, line: bytes) -> None:
        entry = decode_entry(line)
        if entry is None:
            if not is_blank(line):
                self.changes.append(Change("It is no entry.", number, line, None))
            return
        bare = without_padding(line)
        if bare != line.strip():
            self._change("There is something around the entry.", number, line, bare)
            line = bare
        adopted = self.stream.adopt(entry._replace(line=line))
        self.numbers[adopted.event_id] = number

    def settle_identity(self) -> List[Entry]:
        """The entries with the ids they count by, and marks on what refers to others."""
        repeated = ambiguous_ids(self.stream.entries)
        return [self._settled(entry, repeated) for entry in self.stream.entries]

    def _settled(self, entry: Entry, repeated: Set[str]) -> Entry:
        number, line = self.numbers[entry.event_id], entry.line or b""
        read = decode_entry(line)
        if read is not None and read.event_id != entry.event_id:
            new = with_field(line, "event_id", entry.event_id) or line
            reason = "Another entry has its id." if entry.repeated_id else "It has no id."
            line = self._change(reason, number, line, new)
        if repeated.intersection(references(entry)) and not entry.metadata.get("ambiguous"):
            new = with_field(line, "metadata", {**entry.metadata, "ambiguous": True}) or line
            line = self._change("More than one entry has the id in it.", number, line, new)
        return entry._replace(line=line, repeated_id=None)

    def _change(self, reason: str, number: int, old: bytes, new: bytes) -> bytes:
        self.changes.append(Change(reason, number, old, new))
        return new


def _repaired_events(data: bytes) -> Tuple[bytes, List[Change]]:
    """``events.jsonl`` with every fault mended, and the changes in the order of their lines."""
    lines = _Lines(data)
    entries = lines.settle_identity()
    taken = {entry.event_id for entry in entries}
    sound, repairs = sanitize(entries)
    written: Dict[int, bytes] = {}  # id() of an entry that is put in -> its line
    repaired: List[bytes] = []
    timestamp = entries[0].timestamp if entries else ""
    for entry in sound:
        if not entry.event_id:
            event_id = new_event_id(taken)
            taken.add(event_id)
            whole = entry._replace(event_id=event_id, timestamp=timestamp)
            written[id(entry)] = encode_entry(whole)
            repaired.append(written[id(entry)])
            continue
        timestamp = entry.timestamp or timestamp
        repaired.append(encode_entry(entry))
    for reason, removed, added in repairs:
        if removed is added:
            continue  # only moved: results are kept in the order in which tools ended
        number = lines.numbers[removed.event_id] if removed else 0
        old = encode_entry(removed) if removed else None
        new = None if added is None else written.get(id(added)) or encode_entry(added)
        lines.changes.append(Change(reason, number, old, new))
    if not lines.changes:
        return data, []
    return b"".join(line + b"\n" for line in repaired), lines.changes


def _rebuilt(path: str, damaged: bytes, fields: Dict[str, Any]) -> FileRepair:
    data = to_json_bytes(fields)
    reason = "It cannot be read." if damaged.strip(b"\x00 \t\r\n") else "It is missing."
    return FileRepair(path, [Change(reason, 1, damaged or None, data)], data + b"\n")


def _about(events: bytes) -> Dict[str, Any]:
    """Metadata as far as the entries tell them."""
    first = decode_entry(events.split(b"\n", 1)[0])
    created_at = first.timestamp if first is not None else ""
    return {"title": None, "created_at": created_at, "workspace": "", "schema": SCHEMA}
