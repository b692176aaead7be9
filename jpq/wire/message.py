"""Message: one event of a stream, as its framing hands it out."""

from __future__ import annotations

from typing import NamedTuple, Optional


class Message(NamedTuple):
    """One server-sent event (or one NDJSON line, with ``event`` empty)."""

    event: str
    data: str
    id: Optional[str] = None
