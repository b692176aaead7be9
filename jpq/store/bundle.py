"""Bundles: conversations as one stream of lines, which is what ``export`` writes.

A conversation is a header line, a JSON object with ``jpq`` = ``conversation``, and the
lines of its ``events.jsonl`` as they are. Any number of them follow each other.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional

from jpq.conversation.entry import (
    decode_entry,
    encode_entry,
    is_blank,
    parse_json_line,
    to_json_bytes,
)
from jpq.conversation.event import Entry
from jpq.named import NamedTuple
from jpq.store.reading import SavedConversation

_KIND = "conversation"


class Incoming(NamedTuple):
    """A conversation from elsewhere. ``source`` names it where it comes from, so that it is
    taken in only once; ``id`` is the one it would like to have; ``unread`` counts the lines
    that cannot be read, as the last one of a file that was cut."""

    source: str
    id: Optional[str]
    metadata: Mapping[str, Any]
    base_config: Mapping[str, Any]
    entries: List[Entry]
    unread: int = 0


def write_bundle(saved: SavedConversation) -> bytes:
    """The header and the lines of one conversation."""
    header = {
        "jpq": _KIND,
        "id": saved.id,
        "metadata": saved.metadata,
        "base_config": saved.stream.base_config,
    }
    lines = [to_json_bytes(header), *map(encode_entry, saved.stream.entries)]
    return b"".join(line.rstrip(b"\r") + b"\n" for line in lines)


def is_bundle(data: bytes) -> bool:
    """Whether ``data`` begins with a header."""
    return _header(data.split(b"\n", 1)[0]) is not None


def read_bundle(data: bytes) -> Iterator[Incoming]:
    """The conversations of a bundle; lines that are no entry are passed over and counted."""
    header: Optional[Dict[str, Any]] = None
    lines: List[bytes] = []
    for line in data.split(b"\n"):
        found = _header(line)
        if found is None:
            lines.append(line)
            continue
        if header is not None:
            yield _incoming(header, lines)
        header, lines = found, []
    if header is not None:
        yield _incoming(header, lines)


def unread_lines(lines: Iterable[bytes]) -> int:
    """How many of ``lines`` hold something that is no entry."""
    return sum(not is_blank(line) and decode_entry(line) is None for line in lines)


def _header(line: bytes) -> Optional[Dict[str, Any]]:
    if b'"jpq"' not in line:
        return None
    value = parse_json_line(line)
    return value if isinstance(value, dict) and value.get("jpq") == _KIND else None


def _incoming(header: Dict[str, Any], lines: List[bytes]) -> Incoming:
    entries = [entry for entry in map(decode_entry, lines) if entry is not None]
    id, metadata, base = (header.get(name) for name in ("id", "metadata", "base_config"))
    return Incoming(
        source=f"jpq:{id}",
        id=id if isinstance(id, str) else None,
        metadata=metadata if isinstance(metadata, dict) else {},
        base_config=base if isinstance(base, dict) else {},
        entries=entries,
        unread=0 if len(entries) == len(lines) else unread_lines(lines),
    )
