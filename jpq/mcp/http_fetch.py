"""Plain HTTP exchanges around a server: its authorization's documents, forms and tokens."""

from __future__ import annotations

import threading
from typing import Any, Mapping, Optional

from jpq.errors import StreamError
from jpq.events import json_depth
from jpq.mcp.http_failure import from_transport
from jpq.mcp.protocol import Json
from jpq.named import NamedTuple
from jpq.wire.connection import Wire
from jpq.wire.message import HttpRequest
from jpq.wire.transport import Transport

_LIMIT_S = 15.0


class Reply(NamedTuple):
    """A whole reply."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Optional[Json]:
        """The object that it holds, if it was granted and holds one."""
        if self.status not in (200, 201):
            return None
        try:
            value: Any = json_depth.loads(self.body)
        except ValueError:
            return None
        return value if isinstance(value, dict) else None


class Fetcher:
    """Makes requests, each within a few seconds. Any thread; raises McpError."""

    def __init__(self, ca_bundle: Optional[str] = None, where: str = "") -> None:
        self._connections = Transport()
        self._ca_bundle = ca_bundle
        self._where = where

    def get(self, url: str, headers: Mapping[str, str]) -> Reply:
        """What a GET gives."""
        return self._fetch(HttpRequest(url, headers, {}, "GET"))

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """What a POST gives."""
        return self._fetch(HttpRequest(url, headers, body))

    def close(self) -> None:
        """Close the idle connections."""
        self._connections.close()

    def _fetch(self, request: HttpRequest) -> Reply:
        wire = Wire()
        timer = threading.Timer(_LIMIT_S, wire.abort)
        timer.daemon = True
        timer.start()
        try:
            with self._connections.open(request, wire, ca_bundle=self._ca_bundle) as reply:
                body = b"".join(reply.chunks())
                return Reply(reply.status, reply.headers, body)
        except StreamError as error:
            raise from_transport(error, error.where or self._where) from error
        finally:
            timer.cancel()
            timer.join()
