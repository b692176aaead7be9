"""What goes over a connection: one request, and one event of the stream that answers it."""

# Annotations are no strings here: typing compiles every one of a NamedTuple's at import.

from typing import Any, Mapping, NamedTuple, Optional, Union


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
