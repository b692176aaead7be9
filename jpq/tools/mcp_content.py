"""What MCP servers hand back, for a model: text, and the pictures and PDFs that go with it."""

from __future__ import annotations

from typing import Any, List, Optional

from jpq.conversation.attachment import Attachment
from jpq.mcp.content import decoded, part_text, resource_bytes
from jpq.mcp.protocol import table, text_of
from jpq.tools.media import medium

# All of one result; as base64 that is what Google takes in one request.
_TOGETHER_BYTES = 15_000_000
_LONGEST_NAME = 100


class Parts:
    """Says the parts of one result in words, and keeps in ``attachments`` what a model may be
    given as it is. The words mention each by its name. One thread."""

    def __init__(self) -> None:
        self.attachments: List[Attachment] = []
        self._left = _TOGETHER_BYTES

    def text(self, part: Any) -> str:
        """``part`` in words."""
        fields = table(part)
        kind = fields.get("type")
        if kind == "image":
            told = self._kept(decoded(fields.get("data")), "")
        elif kind == "resource":
            resource = table(fields.get("resource"))
            is_text = isinstance(resource.get("text"), str)
            uri = text_of(resource.get("uri"))
            told = None if is_text else self._kept(resource_bytes(resource), uri)
        else:
            told = None
        return part_text(part) if told is None else told

    def _kept(self, data: Optional[bytes], uri: str) -> Optional[str]:
        if data is None or len(data) > self._left:
            return None
        attached = medium("", data)
        if attached is None:
            return None
        attached = attached._replace(name=self._name(uri, attached.kind))
        self.attachments.append(attached)
        self._left -= len(data)
        where = f"the resource {uri}, " if uri else ""
        return f"[{attached.name}: {where}{attached.media_type}, {len(data)} bytes]"

    def _name(self, uri: str, kind: str) -> str:
        """A name that no other attachment of this result has."""
        last = uri.rstrip("/").rpartition("/")[2][-_LONGEST_NAME:]
        name = "".join(char if char.isprintable() else "_" for char in last)
        taken = {each.name for each in self.attachments}
        if not name or name in taken:
            number = len(taken) + 1
            name = f"{name}-{number}" if name else f"image-{number}.{kind}"
        return name
