"""The protocol's own words: revisions, reserved names, error codes, JSON-RPC messages.

From the Model Context Protocol's specification, revisions 2026-07-28 and 2025-11-25.
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, Optional, Union

from jpq.events import json_depth

# Revisions without a handshake, and those that begin with ``initialize``; newest first.
MODERN = ("2026-07-28",)
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")

# Reserved names of ``_meta``.
META = "io.modelcontextprotocol/"

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022
# Only a server of the modern era sends these.
MODERN_CODES = (HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION)
# Older servers that want a web page visited before they go on (2025-11-25 only).
URL_ELICITATION_REQUIRED = -32042

CANCELLED = "notifications/cancelled"
PROGRESS = "notifications/progress"
LOG_MESSAGE = "notifications/message"
TOOLS_CHANGED = "notifications/tools/list_changed"

Json = Dict[str, Any]
Id = Union[int, str]


def request(id: Id, method: str, params: Mapping[str, Any]) -> Json:
    """A request."""
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": dict(params)}


def notification(method: str, params: Optional[Mapping[str, Any]] = None) -> Json:
    """A notification."""
    message: Json = {"jsonrpc": "2.0", "method": method}
    if params:
        message["params"] = dict(params)
    return message


def result(id: Id, value: Mapping[str, Any]) -> Json:
    """The answer to a server's request."""
    return {"jsonrpc": "2.0", "id": id, "result": dict(value)}


def failure(id: Id, code: int, message: str) -> Json:
    """The answer to a server's request that failed."""
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}


def encode(message: Mapping[str, Any]) -> bytes:
    """``message`` as one line of UTF-8, without its end."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    # Text that was cut out of a pipe may hold half a character, which no server could read.
    return text.encode("utf-8", "replace")


def decode(data: Union[bytes, str]) -> List[Json]:
    """The messages in ``data``: one, or several where an older server sends them together.

    Raises ValueError for what is not a message.
    """
    text = data if isinstance(data, str) else data.decode("utf-8-sig", "replace")
    value = json_depth.loads(text)
    messages = value if isinstance(value, list) else [value]
    if not messages or not all(map(_is_message, messages)):
        raise ValueError("not a JSON-RPC message")
    return messages


def own_id(value: Any) -> Any:
    """``value`` as we write ids. Servers give ours, which are integers, back as text (``"1"``)
    or with a fraction (``1.0``)."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return isinstance(value.get("method"), str) or "result" in value or "error" in value


def table(value: Any) -> Json:
    """``value`` if it is an object, else an empty one: servers send anything."""
    return value if isinstance(value, dict) else {}


def text_of(value: Any) -> str:
    """``value`` if it is text, else nothing."""
    return value if isinstance(value, str) else ""
