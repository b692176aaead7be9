"""The bytes that the benchmark's server sends: OpenAI-style chunks, each its own HTTP chunk."""

from __future__ import annotations

import json

HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
)
LAST_CHUNK = b"0\r\n\r\n"


def http_chunk(data: bytes) -> bytes:
    """``data`` as one HTTP chunk."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(text: str, finish: str = "") -> bytes:
    """A streamed completion chunk of about 230 bytes that carries ``text``."""
    value = {
        "id": "chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxYz012",
        "object": "chat.completion.chunk",
        "created": 1767225600,
        "model": "test",
        "system_fingerprint": "fp_0123456789",
        "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish or None}],
    }
    return b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n"


def end() -> bytes:
    """A reply's last bytes: the finish reason, the end mark and the last HTTP chunk."""
    return http_chunk(event("", "stop")) + http_chunk(b"data: [DONE]\n\n") + LAST_CHUNK


def word(number: int) -> str:
    """The text of chunk ``number`` in a reply that is sent as fast as possible."""
    return f"word{number % 10} "
