"""Conversations of jp: folders with an ``events.json``.

The format is that of jp's public repository (dcdpr/jp, crates/jp_conversation: storage.rs,
event/*.rs): an array of events, where the arguments and results of tools and all metadata
are text in base64. Signatures are left behind: they are for jp's own requests.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
from typing import Any, Dict, Iterator, List, Optional

from jpq.conversation.entry import decode_entry, parse_json_line, to_json_bytes
from jpq.conversation.event import Entry
from jpq.conversation.identity import foreign_timestamp
from jpq.store.bundle import Incoming
from jpq.store.files import read_file
from jpq.store.reading import read_object

EVENTS = "events.json"
_COPIED = frozenset(
    {
        "chat_request",
        "chat_response",
        "tool_call_request",
        "tool_call_response",
        "inquiry_request",
        "inquiry_response",
    }
)
_NOT_COPIED = ("metadata", "timestamp", "event_id")


def read_jp(folder: str) -> Iterator[Incoming]:
    """The conversation in ``folder``, or those in the folders below it. Raises OSError."""
    if os.path.isfile(os.path.join(folder, EVENTS)):
        yield _read_one(folder)
        return
    for name in sorted(os.listdir(folder)):
        inner = os.path.join(folder, name)
        if os.path.isfile(os.path.join(inner, EVENTS)):
            yield _read_one(inner)
        elif name == ".archive" and os.path.isdir(inner):
            yield from read_jp(inner)


def _read_one(folder: str) -> Incoming:
    name = os.path.basename(os.path.normpath(folder))
    value = parse_json_line(read_file(os.path.join(folder, EVENTS)))
    values: List[Any] = value if isinstance(value, list) else []
    entries = [entry for entry in map(_entry, values) if entry is not None]
    about = read_object(os.path.join(folder, "metadata.json"))
    title = about.get("title")
    return Incoming(
        source=f"jp:{name.partition('-')[0]}",
        id=None,
        metadata={
            "title": title if isinstance(title, str) else None,
            "created_at": entries[0].timestamp if entries else foreign_timestamp(None),
            "workspace": "",
        },
        base_config={},
        entries=entries,
        unread=0 if isinstance(value, list) else 1,
    )


def _entry(value: Any) -> Optional[Entry]:
    if not isinstance(value, dict) or value.get("type") not in _COPIED:
        return None
    body: Dict[str, Any] = {k: v for k, v in value.items() if k not in _NOT_COPIED}
    if body["type"] == "tool_call_request":
        body["arguments"] = _decoded(body.get("arguments"))
    elif body["type"] == "tool_call_response":
        body["content"] = _decoded(body.get("content"))
    elif body["type"] == "inquiry_request" and isinstance(body.get("question"), dict):
        body["question"] = body["question"].get("text")
    elif body["type"] == "inquiry_response" and not isinstance(body.get("answer"), str):
        body["answer"] = json.dumps(body.get("answer"))
    timestamp = foreign_timestamp(value.get("timestamp"))
    entry = decode_entry(to_json_bytes({"event_id": "", "timestamp": timestamp, **body}))
    return None if entry is None else entry._replace(line=None)


def _decoded(value: Any) -> Any:
    """``value`` with every text in it read as base64; one that is none stays."""
    if isinstance(value, dict):
        return {key: _decoded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_decoded(inner) for inner in value]
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value, validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return value
