"""Bytes as they arrive to server-sent events, through sseclient-py.

sseclient parses; this module hands it its bytes in a form it is right and quick on:

* whole events only. The tail after the last blank line is held back in a list that is
  joined once, because sseclient joins piece by piece, which is quadratic.
* LF line ends only. CR and CRLF, also when they are split over two reads, become LF.
* without the byte order mark, and with bytes that are not UTF-8 replaced.

Where it differs from the standard, on purpose:

* the last event is handed out without its blank line: a finish reason may be in it;
* an event named ``message`` is an event without a name, which the standard treats alike;
* what is not an event but an error in its place becomes an event named ``error``: an
  ``error: {...}`` line (llama.cpp and its relatives) and a bare JSON error object between
  events (Vertex AI), both of which the standard drops unseen;
* an ``id`` in a block without data is not remembered; no provider's stream relies on it.
"""

from __future__ import annotations

import json
import re
from typing import Any, Iterable, Iterator, List, Match, Optional, Tuple

import sseclient

from jpq.events import json_depth
from jpq.wire.message import Message

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Patterns are compiled when they are first used, which most runs never do.
_ERROR_LINE = rb"(?m)^error:(.*)$"
_BARE_JSON = rb"(?m)^[{\[].*(?:\n.+)*"
# How a line begins that one of them may find.
_ODD = (b"error:", b"{", b"[")
_ODD_LINES = tuple(b"\n" + start for start in _ODD)


def messages(chunks: Iterable[bytes]) -> Iterator[Message]:
    """The events in ``chunks``, each as soon as its blank line has come.

    Events without data are not handed out. Errors raised by ``chunks`` pass through, and
    an event that is unfinished by then is dropped.
    """
    last_id: Optional[str] = None
    for event in sseclient.SSEClient(_whole_events(chunks)).events():
        name = event.event
        if event.id is not None and "\0" not in event.id:
            last_id = event.id
        yield Message("" if name == "message" else name, event.data, last_id)


def resumable(chunks: Iterable[bytes]) -> Iterator[Tuple[Message, Optional[int]]]:
    """As ``messages``, each with the wait in ms before a reconnection that it asks for, if any."""
    for event in sseclient.SSEClient(_whole_events(chunks)).events():
        retry = event.retry or ""
        is_number = retry.isdecimal() and retry.isascii() and len(retry) < 10
        wait_ms = int(retry) if is_number else None
        yield Message(event.event, event.data, event.id), wait_ms


def _whole_events(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Blocks that end with a blank line, except for the last one."""
    held: List[bytes] = []
    after_line_end = False
    for chunk in _line_feeds_only(chunks):
        end = chunk.rfind(b"\n\n") + 2
        if end == 1:  # none; the blank line may have begun in the chunk before
            end = 1 if after_line_end and chunk.startswith(b"\n") else 0
        if not end:
            held.append(chunk)
        elif end == len(chunk) and not held:
            yield _parseable(chunk)
        else:
            held.append(chunk[:end])
            yield _parseable(b"".join(held))
            held = [chunk[end:]] if end < len(chunk) else []
        after_line_end = chunk.endswith(b"\n")
    if held:
        yield _parseable(b"".join(held))


def _line_feeds_only(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The chunks that are not empty, with LF as the only line end and no byte order mark."""
    start: Optional[bytes] = b""  # what may yet become a byte order mark; None once decided
    after_cr = False
    for chunk in chunks:
        if start is not None:
            start += chunk
            if len(start) < len(_BYTE_ORDER_MARK) and _BYTE_ORDER_MARK.startswith(start):
                continue
            marked = start.startswith(_BYTE_ORDER_MARK)
            chunk, start = start[len(_BYTE_ORDER_MARK) :] if marked else start, None
        if not chunk:
            continue
        follows_cr, after_cr = after_cr, chunk.endswith(b"\r")
        if follows_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]  # the second half of a CRLF whose CR was taken as a line end
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if chunk:
            yield chunk
    if start:
        yield start


def _parseable(block: bytes) -> bytes:
    """``block`` as valid UTF-8, with errors that are not events made into events."""
    try:
        block.decode()
    except UnicodeDecodeError:
        block = block.decode("utf-8", "replace").encode()
    # This runs for every event of every stream, and most are one line, where a look at its
    # beginning will do.
    inner = b"\n" in block[:-2] and any(start in block for start in _ODD_LINES)
    if inner or block.startswith(_ODD):
        block = re.sub(_ERROR_LINE, rb"\n\nevent: error\ndata:\1\n\n", block)
        block = re.sub(_BARE_JSON, _as_event, block)
    return block


def _as_event(found: Match[bytes]) -> bytes:
    """Bare JSON as an ``error`` event if it is an error, else as it came."""
    text = found.group().decode()
    try:
        json_depth.refuse_deep(text)
        value, _ = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return found.group()
    if not _is_error(value):
        return found.group()
    return b"\n\nevent: error\ndata: " + json.dumps(value).encode() + b"\n\n"


def _is_error(value: Any) -> bool:
    if isinstance(value, list) and value:
        value = value[0]
    return isinstance(value, dict) and bool(value.get("error"))
