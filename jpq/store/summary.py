"""Summary: what ``conversation ls`` says of a conversation, read without parsing its bodies."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, Optional, Tuple

from jpq.conversation.entry import decode_entry, is_blank, parse_json_line
from jpq.conversation.event import ChatRequest, TurnEnd
from jpq.errors import BadInputError
from jpq.named import NamedTuple
from jpq.store.files import read_file
from jpq.store.reading import EVENTS, INFLIGHT, METADATA, read_conversation

# How jpq begins each line; a line that begins otherwise is parsed as a whole.
_HEAD = re.compile(rb'\{"event_id":"[^"\\]*","timestamp":"([^"\\]*)","type":"([^"\\]*)"[,}]')
_TITLE_LENGTH = 60
_ANSWERS = frozenset({"chat_response", "tool_call_request", "tool_call_response"})


class Summary(NamedTuple):
    """One row of ``conversation ls``; what the files do not say is empty or None.

    ``size`` is that of its files in bytes; ``problem`` says what is damaged, if anything.
    """

    id: str
    title: Optional[str]
    created_at: str
    updated_at: str
    workspace: str
    model: Optional[str]
    turns: int
    status: str
    size: int = 0
    problem: str = ""


class _Outline(NamedTuple):
    turns: int
    first_request: Optional[bytes]  # the line
    end: Optional[bytes]  # the line of the last turn's end, when nothing came after it
    updated_at: str
    unread: int  # lines that are no entry


def summarize(folder: str) -> Summary:
    """The summary of the conversation in ``folder``. Raises FileNotFoundError if it is gone."""
    try:
        summary = _summarize(folder)
        if os.path.exists(os.path.join(folder, INFLIGHT)):
            summary = _with_inflight(summary, folder)
        return summary
    except OSError as error:
        if not os.path.isdir(folder):
            raise FileNotFoundError(folder) from error
        nothing = Summary(os.path.basename(folder), None, "", "", "", None, 0, "error")
        return nothing._replace(problem=error.strerror or str(error))


def _summarize(folder: str) -> Summary:
    about = read_file(os.path.join(folder, METADATA))
    events = read_file(os.path.join(folder, EVENTS))
    parsed = parse_json_line(about)
    metadata = parsed if isinstance(parsed, dict) else {}
    outline = _outline(events)
    problem = _problem(folder, outline, events)
    if not problem and not isinstance(parsed, dict):
        problem = f"{METADATA} cannot be read"
    created_at = _text(metadata, "created_at")
    return Summary(
        id=os.path.basename(folder),
        title=_title(metadata, outline),
        created_at=created_at,
        updated_at=outline.updated_at or created_at,
        workspace=_text(metadata, "workspace"),
        model=_text(metadata, "model") or None,
        turns=outline.turns,
        status=_status(outline),
        size=len(about) + len(events),
        problem=problem,
    )


def _with_inflight(summary: Summary, folder: str) -> Summary:
    """With what a process that runs, or was killed, has not committed, as ``show`` has it."""
    try:
        stream = read_conversation(folder).stream
    except BadInputError:
        return summary
    last = stream.last_turn()
    return (
        summary if last is None else summary._replace(turns=len(stream.turns()), status=last.status)
    )


def _problem(folder: str, outline: _Outline, events: bytes) -> str:
    unread = outline.unread
    if unread and not events.endswith(b"\n") and os.path.exists(os.path.join(folder, INFLIGHT)):
        unread -= 1  # a write that was cut; the in-flight file has it whole
    if not unread:
        return ""
    return f"{unread} line{'s' if unread > 1 else ''} of {EVENTS} cannot be read"


def _outline(data: bytes) -> _Outline:
    turns, unread, updated_at = 0, 0, ""
    first_request: Optional[bytes] = None
    end: Optional[bytes] = None
    for line in data.split(b"\n"):
        timestamp, kind = _head(line)
        if kind is None:
            unread += not is_blank(line)
            continue
        updated_at = timestamp or updated_at
        if kind == "chat_request":
            turns += 1
            end = None
            first_request = first_request or line
        elif kind == "turn_end":
            end = line
        elif kind in _ANSWERS:
            end = None
    return _Outline(turns, first_request, end, updated_at, unread)


def _head(line: bytes) -> Tuple[str, Optional[str]]:
    """Timestamp and type of ``line``; empty where it has none, None where it is no entry."""
    head = _HEAD.match(line)
    if head and line.endswith(b"}"):  # what a crash cut off ends otherwise
        return head.group(1).decode("utf-8", "replace"), head.group(2).decode("utf-8", "replace")
    fields = parse_json_line(line) if line else None
    if not isinstance(fields, dict):
        return "", None
    return _text(fields, "timestamp"), _text(fields, "type")


def _status(outline: _Outline) -> str:
    if not outline.turns:
        return "empty"
    entry = decode_entry(outline.end) if outline.end else None
    if entry is None or not isinstance(entry.event, TurnEnd):
        return "interrupted"
    return entry.event.status


def _title(metadata: Dict[str, Any], outline: _Outline) -> Optional[str]:
    if metadata.get("title") == "":
        return ""  # it is to have none
    return _text(metadata, "title") or _first_words(outline.first_request)


def _first_words(line: Optional[bytes]) -> Optional[str]:
    """The beginning of the first request, which stands in for a title."""
    entry = decode_entry(line) if line else None
    if entry is None or not isinstance(entry.event, ChatRequest):
        return None
    words = " ".join(entry.event.content[: 4 * _TITLE_LENGTH].split())
    return words if len(words) <= _TITLE_LENGTH else words[: _TITLE_LENGTH - 1] + "\u2026"


def _text(fields: Dict[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""
