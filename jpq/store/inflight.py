"""``inflight.jsonl``: what the running cycle has received so far, and how it is read back.

Three kinds of line. A header (object with ``after``) begins a cycle and names the entry
it follows. An array is a stream event. An object with ``commit`` holds the entries that
are about to be appended to ``events.jsonl``: once it is whole they count, and everything
before it in the file is done with.
"""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

from jpq.conversation.cycle_fold import CycleFold
from jpq.conversation.entry import decode_entry, parse_json_line, to_json_bytes
from jpq.conversation.event import Draft, Drafts, Entry
from jpq.conversation.json_splice import object_lines
from jpq.conversation.thread import Origin
from jpq.events.parts import (
    Finished,
    Flush,
    KeepAlive,
    MessageDelta,
    Metered,
    Opaque,
    Part,
    ReasoningDelta,
    Started,
    StreamEvent,
    ToolArgumentsDelta,
    ToolCallRequest,
    ToolCallStarted,
    coalesced,
)
from jpq.events.usage import Usage
from jpq.named import NamedTuple
from jpq.store.files import open_private, write_error


def encode_header(after: Optional[str], origin: Optional[Origin]) -> bytes:
    """The line that begins a cycle which follows the entry ``after``."""
    return to_json_bytes({"after": after, **(origin._asdict() if origin else {})}) + b"\n"


def encode_commit(lines: Iterable[bytes]) -> bytes:
    """The line that holds the entries ``lines``, each already JSON."""
    return b'{"commit":[' + b",".join(lines) + b"]}\n"


def encode_events(events: Sequence[StreamEvent]) -> bytes:
    """A line for each event that has to be kept; adjacent text of one index is one line."""
    if len(events) > 1:
        events = coalesced(events)
    return b"".join(
        to_json_bytes(_encode(event)) + b"\n" for event in events if type(event) is not KeepAlive
    )


def _encode(event: StreamEvent) -> List[Any]:
    if isinstance(event, Part):
        return _encode_part(event)
    if isinstance(event, ToolArgumentsDelta):
        return ["arguments", event.index, event.text]
    if isinstance(event, ToolCallStarted):
        return ["call_started", *event]
    if isinstance(event, Flush):
        return ["flush", event.index, dict(event.metadata)]
    if isinstance(event, Metered):
        return ["usage", event.usage.to_json()]
    if isinstance(event, Started):
        return ["started", *event]
    if isinstance(event, Finished):
        return ["finished", event.reason, dict(event.details)]
    return []


def _encode_part(part: Part) -> List[Any]:
    payload = part.payload
    if isinstance(payload, MessageDelta):
        return ["message", part.index, payload.text]
    if isinstance(payload, ReasoningDelta):
        return ["reasoning", part.index, payload.text]
    if isinstance(payload, ToolCallRequest):
        return ["call", part.index, *payload]
    return ["opaque", part.index, dict(payload.data)]


_Types = Tuple[Any, ...]
_MAYBE_TEXT = (str, type(None))

# Name -> the types that follow it in the array, and how they become the event again.
_DECODERS: Dict[str, Tuple[_Types, Callable[..., StreamEvent]]] = {
    "message": ((int, str), lambda index, text: Part(index, MessageDelta(text))),
    "reasoning": ((int, str), lambda index, text: Part(index, ReasoningDelta(text))),
    "call": (
        (int, str, str, dict, _MAYBE_TEXT),
        lambda index, *call: Part(index, ToolCallRequest(*call)),
    ),
    "opaque": ((int, dict), lambda index, data: Part(index, Opaque(data))),
    "arguments": ((int, str), ToolArgumentsDelta),
    "call_started": ((int, str, str), ToolCallStarted),
    "flush": ((int, dict), Flush),
    "usage": ((dict,), lambda counts: Metered(Usage(**counts))),
    "started": ((_MAYBE_TEXT, _MAYBE_TEXT), Started),
    "finished": ((str, dict), Finished),
}


def decode_event(value: List[Any]) -> Optional[StreamEvent]:
    """The stream event that ``value`` was written for, or None when this version knows none."""
    name, fields = (value[0], value[1:]) if value else ("", [])
    if not isinstance(name, str) or name not in _DECODERS:
        return None
    types, decode = _DECODERS[name]
    if len(fields) != len(types) or not all(map(isinstance, fields, types)):
        return None
    try:
        return decode(*fields)
    except TypeError:
        return None  # a usage with a field that another version added


class Recovery(NamedTuple):
    """What ``inflight.jsonl`` holds beyond ``events.jsonl``: whole entries, then partial ones,
    and the turn's end if the provider had said that the answer ends there.

    ``foreign`` says that there is something else in it, of a version that knows more.
    """

    entries: List[Entry]
    drafts: Drafts
    foreign: bool = False


class _Cycle:
    def __init__(self, after: Optional[str], origin: Optional[Origin]) -> None:
        self.after = after
        self.fold = CycleFold(origin)


def recover(data: bytes, stored: Sequence[Entry]) -> Recovery:
    """What the in-flight file ``data`` adds to the entries ``stored``; never raises.

    Lines that cannot be read are passed over: only a line that was being written when
    the process died can be one.
    """
    cycles: List[_Cycle] = []  # that no commit follows
    last = _Cycle(None, None)
    committed: List[Entry] = []
    foreign = False
    for line in data.split(b"\n"):
        value = parse_json_line(line)
        if isinstance(value, list):
            event = decode_event(value)
            if event is not None:
                cycles = cycles or [last]
                last.fold.feed(event)
            else:
                foreign = True
        elif isinstance(value, dict) and isinstance(value.get("commit"), list):
            committed.extend(_committed(line))
            cycles = []
        elif isinstance(value, dict) and "after" in value:
            last = _Cycle(value["after"], _origin(value))
            cycles.append(last)
        elif value is not None:
            foreign = True
    known = {entry.event_id for entry in stored}
    missing = []
    for entry in committed:
        if entry.event_id not in known:
            known.add(entry.event_id)
            missing.append(entry)
    everything = [*stored, *missing]
    drafts = [draft for cycle in cycles for draft in _uncommitted(cycle, everything)]
    return Recovery(missing, drafts + _end_of_turn(last, everything), foreign)


def _committed(line: bytes) -> List[Entry]:
    """The entries of a commit line, their bytes as they were written."""
    text = line.decode("utf-8", "surrogateescape")
    try:
        written = object_lines(text, text.index("["))
    except (ValueError, IndexError):
        return []
    read = (decode_entry(entry.encode("utf-8", "surrogateescape")) for entry in written)
    return [entry for entry in read if entry is not None]


def _uncommitted(cycle: _Cycle, entries: Sequence[Entry]) -> Drafts:
    """The cycle's drafts without those that are among the entries after its header's.

    A full disk can keep the commit line from being written and yet let entries through.
    """
    drafts = cycle.fold.drafts()
    later = [entry.event for entry in _following(cycle, entries)]
    left: List[Draft] = []
    for draft in drafts:
        if draft.event in later:
            later.remove(draft.event)
        else:
            left.append(draft)
    return left


def _end_of_turn(cycle: _Cycle, entries: Sequence[Entry]) -> Drafts:
    """The end of the turn whose last cycle this is, unless something came after the cycle."""
    end = cycle.fold.turn_end()
    if end is None or cycle.after is None:
        return []
    said = [draft.event for draft in cycle.fold.drafts()]
    over = any(entry.event not in said for entry in _following(cycle, entries))
    return [] if over else [Draft(end)]


def _following(cycle: _Cycle, entries: Sequence[Entry]) -> Sequence[Entry]:
    """The entries after the one that the cycle follows; none where that is not there."""
    if cycle.after is None:
        return entries
    for position in range(len(entries) - 1, -1, -1):
        if entries[position].event_id == cycle.after:
            return entries[position + 1 :]
    return ()


def _origin(header: Dict[str, Any]) -> Optional[Origin]:
    provider, model = header.get("provider"), header.get("model")
    if isinstance(provider, str) and isinstance(model, str):
        return Origin(provider, model)
    return None


class InflightFile:
    """The file while its conversation is open for writing. Main thread only."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor: Optional[int] = None
        self._waiting = bytearray()  # what a failed write left over
        self._exists = os.path.lexists(path)

    @property
    def holds_something(self) -> bool:
        """Whether there is something neither committed nor discarded, of whatever process."""
        return self._exists or bool(self._waiting)

    def append(self, data: bytes) -> None:
        """Write ``data`` with one system call. Raises WriteError.

        What could not be written is kept and goes first next time, so a disk that has
        room again loses nothing.
        """
        try:
            if self._descriptor is None:
                self._open()
            assert self._descriptor is not None
            if not self._waiting:
                written = os.write(self._descriptor, data)
                if written == len(data):
                    return
                data = data[written:]
            self._waiting += data
            data = b""
            while self._waiting:
                del self._waiting[: os.write(self._descriptor, self._waiting)]
        except OSError as error:
            self._waiting += data
            raise write_error("save the answer while it arrives", error, self._path) from error

    def remove(self) -> None:
        """Forget the cycle: close and remove the file, if there is one."""
        self.close()
        self._waiting.clear()
        try:
            os.unlink(self._path)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise write_error("remove what is saved already", error, self._path) from error
        self._exists = False

    def close(self) -> None:
        """Close the file and leave it where it is."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _open(self) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
        self._descriptor = open_private(self._path, flags)
        self._exists = True
        # A killed process may have left a line half written.
        if os.lseek(self._descriptor, 0, os.SEEK_END) > 0:
            self._waiting[:0] = b"\n"
