"""Attachments: what is handed in beside a question or a tool's result, as it is stored and sent."""

from __future__ import annotations

import base64
import re
from typing import Any, Dict, List, Mapping, Optional, Sequence

from jpq.named import NamedTuple

PLAIN_TEXT = "text/plain"
PDF = "application/pdf"

# How files of each kind begin; the name of a file may say anything.
_BEGINNINGS = (
    ("image/png", rb"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", rb"\xff\xd8\xff"),
    ("image/gif", rb"GIF8[79]a"),
    ("image/webp", rb"(?s)RIFF....WEBP"),
    (PDF, rb"\s{0,16}%PDF-"),
)
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
# No text has these, whatever its encoding; ESC, backspace and form feed are found in logs.
_BINARY = rb"[\x00-\x07\x0e-\x1a\x1c-\x1f]"


class Attachment(NamedTuple):
    """A text, an image or a PDF; ``content`` is the text, or the bytes as base64."""

    name: str
    media_type: str
    content: str

    @property
    def kind(self) -> str:
        """``png``, ``jpeg``, ``gif``, ``webp``, ``pdf`` or ``text``."""
        return kind_of(self.media_type)


def kind_of(media_type: str) -> str:
    """The short word for ``media_type``."""
    return "text" if media_type == PLAIN_TEXT else media_type.rpartition("/")[2]


def recognised(name: str, data: bytes) -> Optional[Attachment]:
    """``data`` as an attachment, by what it holds; None where it is no text and no known kind.

    Bytes of a text that are not UTF-8 become U+FFFD.
    """
    for media_type, beginning in _BEGINNINGS:
        if re.match(beginning, data):
            return Attachment(name, media_type, base64.b64encode(data).decode("ascii"))
    if data.startswith(_UTF_16):
        return Attachment(name, PLAIN_TEXT, data.decode("utf-16", "replace"))
    if re.search(_BINARY, data):
        return None
    return Attachment(name, PLAIN_TEXT, data.decode("utf-8-sig", "replace"))


def as_metadata(attachments: Sequence[Attachment]) -> Dict[str, Any]:
    """The metadata of the request or result that ``attachments`` belong to."""
    return {"attachments": [a._asdict() for a in attachments]} if attachments else {}


def from_metadata(metadata: Mapping[str, Any]) -> List[Attachment]:
    """The attachments of a request or result; what is not as this version writes them is
    passed over."""
    stored = metadata.get("attachments")
    found = []
    for fields in stored if isinstance(stored, list) else ():
        values = [fields.get(n) if isinstance(fields, dict) else None for n in Attachment._fields]
        if all(isinstance(value, str) for value in values):
            attached = Attachment(*map(str, values))
            if attached.content or attached.kind == "text":
                found.append(attached)
    return found
