"""What servers hand back, as text: parts that are none are named in words, never dropped."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any, Callable, Iterable, Iterator, Optional, Tuple

from jpq.events import json_depth
from jpq.mcp.protocol import Json, table, text_of

# One part of a result or message in words.
Say = Callable[[Any], str]

_SHOWN = 500
_TEXTUAL = ("application/json", "application/xml", "application/javascript", "image/svg+xml")


def result_text(result: Json, say: Optional[Say] = None) -> Tuple[str, bool]:
    """A tool's result as text, and whether it is an error. ``say`` is what one part is in
    words; without it, as in ``part_text``."""
    parts = list(map(say or part_text, _items(result.get("content"))))
    if "structuredContent" in result:
        value = result["structuredContent"]
        # Servers repeat it as text for clients that do not know it.
        if not any(_is_json_of(part, value) for part in parts):
            parts.append(json.dumps(value, ensure_ascii=False))
    return "\n\n".join(part for part in parts if part), result.get("isError") is True


def part_text(part: Any) -> str:
    """One part of a result or message."""
    part = table(part)
    kind = text_of(part.get("type"))
    if kind == "text":
        return text_of(part.get("text"))
    if kind in ("image", "audio"):
        return f"[{kind}: {_medium(part)}, {_size(part.get('data'))}, not shown here]"
    if kind == "resource":
        return resource_text(table(part.get("resource")))
    if kind == "resource_link":
        said = [text_of(part.get(key)) for key in ("title", "name", "description", "mimeType")]
        about = ", ".join(dict.fromkeys(text for text in said if text))
        return f"[link to the resource {part.get('uri')}{': ' + about if about else ''}]"
    shown = json.dumps(part, ensure_ascii=False)
    shown = shown if len(shown) <= _SHOWN else shown[: _SHOWN - 3] + "..."
    return f"[a part of the unknown kind {kind!r}: {shown}]"


def resource_text(resource: Json) -> str:
    """A resource's contents, under its address."""
    address = f"[resource {resource.get('uri')}]"
    text = resource.get("text")
    if isinstance(text, str):
        return f"{address}\n{text}"
    data = resource_bytes(resource)
    if data is not None and _is_textual(text_of(resource.get("mimeType"))):
        return f"{address}\n{data.decode('utf-8', 'replace')}"
    return f"{address[:-1]}: {_medium(resource)}, {_size(resource.get('blob'))}, not shown here]"


def resource_bytes(resource: Json) -> Any:
    """The bytes of a resource's contents; None where they cannot be read."""
    text = resource.get("text")
    if isinstance(text, str):
        return text.encode("utf-8", "replace")
    return decoded(resource.get("blob"))


def message_texts(messages: Any, say: Say = part_text) -> Iterator[Tuple[str, str]]:
    """The role, ``user`` or ``assistant``, and the text of each message that says something."""
    for message in map(table, _items(messages)):
        role = "assistant" if message.get("role") == "assistant" else "user"
        content = message.get("content")
        parts = content if isinstance(content, list) else [content]
        text = "\n\n".join(filter(str.strip, map(say, parts)))
        if text:
            yield role, text


def progress_text(params: Json) -> str:
    """A progress notification as a line: how far, and with what."""
    done, total = params.get("progress"), params.get("total")
    numbers = f"{_number(done)}/{_number(total)}" if _is_number(total) else _number(done)
    message = text_of(params.get("message"))
    return f"{numbers} {message}".strip()


def _items(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list) else ()


def _is_json_of(text: str, value: Any) -> bool:
    try:
        return bool(json_depth.loads(text) == value)
    except ValueError:
        return False


def _medium(part: Json) -> str:
    return text_of(part.get("mimeType")) or "of no named type"


def _is_textual(medium: str) -> bool:
    plain = medium.partition(";")[0].strip().lower()
    return plain.startswith("text/") or plain in _TEXTUAL or plain.endswith(("+json", "+xml"))


def decoded(data: Any) -> Any:
    """The bytes that base64 stands for; None where it is none."""
    try:
        return base64.b64decode(data, validate=False) if isinstance(data, str) else None
    except (ValueError, binascii.Error):
        return None


def _size(data: Any) -> str:
    read = decoded(data)
    return "unreadable" if read is None else f"{len(read)} bytes"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _number(value: Any) -> str:
    return f"{value:g}" if _is_number(value) else ""
