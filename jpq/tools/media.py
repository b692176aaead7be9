"""Pictures and PDFs in tools' results: which of them are passed on to the model as they are."""

from __future__ import annotations

from typing import Optional

from jpq.conversation.attachment import Attachment, recognised

# As base64 this is 5 MB, which is what Anthropic takes of one picture, the least of the APIs.
MEDIUM_BYTES = 3_750_000


def medium(name: str, data: bytes) -> Optional[Attachment]:
    """``data`` as an attachment of a result; None for text, for kinds that no API takes, and
    for what is too large."""
    if len(data) > MEDIUM_BYTES:
        return None
    known = recognised(name, data)
    return None if known is None or known.kind == "text" else known
