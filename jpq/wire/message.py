"""What goes over a connection: one request, and one event of the stream that answers it."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Union

from jpq.named import NamedTuple


class HttpRequest(NamedTuple):
    """One request as its receiver wants it; ``url`` is whole.

    ``body`` is a JSON value, or bytes that are sent as they are; a GET sends neither.
    """

    url: str
    headers: Mapping[str, str]
    body: Union[Mapping[str, Any], bytes]
    method: str = "POST"


class Message(NamedTuple):
    """One server-sent event (or one NDJSON line, with ``event`` empty)."""

    event: str
    data: str
    id: Optional[str] = None
