"""Endpoint: the requests that an MCP server behind a URL is sent, and who they come from."""

from __future__ import annotations

import threading
from typing import Dict, Mapping, Optional, Sequence

from jpq.mcp.failure import McpClosed, McpUnauthorized
from jpq.mcp.headers import Mark, request_headers
from jpq.mcp.protocol import Json, encode
from jpq.mcp.transport import Log
from jpq.wire.connection import Wire
from jpq.wire.message import HttpRequest
from jpq.wire.transport import Response, Transport

_BOTH = "application/json, text/event-stream"
_STREAM = "text/event-stream"
_JSON = "application/json"
_GREETINGS = ("server/discover", "initialize")
# Answers that a moment's wait may change; each request is repeated once.
_PASSING = (429, 502, 503, 504)
_PASSING_WAIT_S = 0.5
_LONGEST_PASSING_WAIT_S = 5.0


class Authorizer:
    """Says who asks. This one says nothing. Any thread."""

    def headers(self) -> Mapping[str, str]:
        """What to send along."""
        return {}

    def refused(self, status: int, challenge: str) -> bool:
        """The server wants (more) authorization; whether the request is worth repeating.
        Blocks while that is settled. Raises McpError."""
        return False

    def close(self) -> None:
        """Give back what it holds."""


class Endpoint:
    """One server's URL. Any thread; ``close`` when no request runs any more.

    ``version`` and ``session`` are sent once they are known, and ``marks`` say which
    arguments of which tool are repeated in headers. Every method raises StreamError.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        authorizer: Authorizer,
        connections: Transport,
        *,
        ca_bundle: Optional[str],
        where: str,
        log: Log,
    ) -> None:
        self.version = ""
        self.modern = True
        self.session: Optional[str] = None
        self.marks: Dict[str, Sequence[Mark]] = {}
        self._url = url
        self._headers = dict(headers)
        self._authorizer = authorizer
        self._connections = connections
        self._ca_bundle = ca_bundle
        self._where = where
        self._log = log

    def post(self, message: Json, wire: Wire) -> Response:
        """The reply to a message."""
        headers = {**self._common_headers(), "Accept": _BOTH}
        if self.modern and "method" in message:
            headers.update(request_headers(message, self.marks))
        return self._open(HttpRequest(self._url, headers, encode(message)), wire)

    def accepted(self, message: Json, wire: Wire, closing: threading.Event) -> Response:
        """The reply to a message, after authorization and after what a moment's wait removes.

        Raises McpError, too.
        """
        waited = False
        while True:
            reply = self.post(message, wire)
            if reply.status in (401, 403):
                challenge = reply.headers.get("WWW-Authenticate", "")
                reply.close()
                if not self._authorizer.refused(reply.status, challenge):
                    raise McpUnauthorized(
                        f"The server refuses the request: HTTP {reply.status}.",
                        where=self._where,
                        hint="Check its headers, or log in: jpq mcp login NAME",
                    )
            elif not waited and self._may_pass(reply, message):
                waited = True
                wait_s = _retry_after(reply.headers.get("Retry-After", ""))
                reply.close()
                self._log(f"HTTP {reply.status}, tried again in {wait_s:g} s")
                if closing.wait(wait_s):
                    raise McpClosed("The connection was closed.", where=self._where)
            else:
                return reply

    def _may_pass(self, reply: Response, message: Json) -> bool:
        """Whether a moment's wait may change the reply. A 404 that is no message comes from
        what stands before the server; for a greeting it says what the server is, and for a
        session that it is over."""
        if reply.status != 404:
            return reply.status in _PASSING
        greets = message.get("method") in _GREETINGS
        has_session = self.session is not None and not self.modern
        return not (greets or has_session) and _kind(reply) != _JSON

    def stream(self, wire: Wire, last_id: Optional[str]) -> Response:
        """The reply to a GET: a stream, if the server has one for us."""
        headers = {**self._common_headers(), "Accept": _STREAM}
        if last_id is not None:
            headers["Last-Event-ID"] = last_id
        return self._open(HttpRequest(self._url, headers, {}, "GET"), wire)

    def end_session(self, wire: Wire) -> None:
        """Say goodbye."""
        self._open(HttpRequest(self._url, self._common_headers(), b"", "DELETE"), wire).finish()

    def close(self) -> None:
        """Close the idle connections."""
        self._connections.close()
        self._authorizer.close()

    def _open(self, request: HttpRequest, wire: Wire) -> Response:
        return self._connections.open(request, wire, where=self._where, ca_bundle=self._ca_bundle)

    def _common_headers(self) -> Dict[str, str]:
        headers = {**self._headers, **self._authorizer.headers()}
        if self.version:
            headers["MCP-Protocol-Version"] = self.version
        if self.session is not None and not self.modern:
            headers["Mcp-Session-Id"] = self.session
        return headers


def is_stream(reply: Response) -> bool:
    """Whether a reply is a stream of events."""
    return reply.status == 200 and _kind(reply) == _STREAM


def _kind(reply: Response) -> str:
    return reply.headers.get("Content-Type", "").partition(";")[0].strip().lower()


def _retry_after(text: str) -> float:
    wait_s = float(text) if text.strip().isdecimal() else _PASSING_WAIT_S
    return min(wait_s, _LONGEST_PASSING_WAIT_S)
