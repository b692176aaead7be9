"""How long a message of a server may be, so that none without end fills our memory."""

from __future__ import annotations

from typing import Iterable, Iterator, List

from jpq.mcp.failure import McpClosed

MAX_MESSAGE_BYTES = 64 * 1024 * 1024

_BLANK_LINES = (b"\n\n", b"\r\n\r\n", b"\r\r")


def is_too_long(size: int) -> bool:
    """Whether no message may have ``size`` bytes."""
    return size > MAX_MESSAGE_BYTES


def too_long(where: str) -> McpClosed:
    """The error for a message of the server ``where``."""
    limit = MAX_MESSAGE_BYTES // (1024 * 1024)
    return McpClosed(f"The server sent a message of over {limit} MiB.", where=where)


def one_message(chunks: Iterable[bytes], where: str) -> bytes:
    """All of ``chunks``, as one message. Raises McpClosed."""
    parts: List[bytes] = []
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if is_too_long(size):
            raise too_long(where)
        parts.append(chunk)
    return b"".join(parts)


def events_in_bounds(chunks: Iterable[bytes], where: str) -> Iterator[bytes]:
    """``chunks`` of a stream of events as they come. Raises McpClosed for one without end."""
    size = 0
    for chunk in chunks:
        end = max(chunk.rfind(blank) for blank in _BLANK_LINES)
        size = size + len(chunk) if end < 0 else len(chunk) - end
        if is_too_long(size):
            raise too_long(where)
        yield chunk
