"""HttpTransport: a server behind a URL, over Streamable HTTP.

Each request is one POST on a thread of its own, which reads the answer: one message, or a
stream of them. Any thread can hang up on it.
"""

from __future__ import annotations

import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from jpq.errors import StreamError
from jpq.mcp.failure import McpClosed, McpError, McpSessionLost
from jpq.mcp.headers import Mark
from jpq.mcp.http_endpoint import Authorizer, Endpoint, is_stream
from jpq.mcp.http_failure import from_transport, refusal, shown
from jpq.mcp.http_stream import Listener, StreamEnd, read_stream
from jpq.mcp.message_size import one_message
from jpq.mcp.protocol import Id, Json, decode, own_id
from jpq.mcp.transport import Log, Receiver, Transport
from jpq.wire.connection import Wire
from jpq.wire.transport import Response
from jpq.wire.transport import Transport as Connections

_SEND_LIMIT_S = 10.0
_FAREWELL_S = 2.0
_NOTICES_S = 1.0
_JOIN_S = 2.0


class HttpTransport(Transport):
    """Speaks with the server at ``url``. ``headers`` go with every request."""

    http = True

    def __init__(
        self,
        url: str,
        *,
        headers: Optional[Mapping[str, str]] = None,
        ca_bundle: Optional[str] = None,
        authorizer: Optional[Authorizer] = None,
        where: str = "",
        log: Log = lambda line: None,
        connect_timeout_s: float = 10.0,
    ) -> None:
        self.where = where or url.partition("?")[0]
        self._log = log
        self._endpoint = Endpoint(
            url,
            headers or {},
            authorizer or Authorizer(),
            Connections(connect_timeout_s),
            ca_bundle=ca_bundle,
            where=self.where,
            log=log,
        )
        self._receiver: Optional[Receiver] = None
        self._lock = threading.Lock()  # guards _running, _threads and _notices
        self._running: Dict[Id, Wire] = {}
        self._threads: List[threading.Thread] = []
        self._notices: List[threading.Thread] = []
        self._closing = threading.Event()
        self._listener: Optional[Listener] = None

    def start(self, receiver: Receiver) -> None:
        """Nothing is connected before there is something to say."""
        self._receiver = receiver

    def start_again(self, receiver: Receiver) -> bool:
        """False: each request has a connection of its own."""
        return False

    def agreed(self, version: str, modern: bool) -> None:
        """Say ``version`` with each request from now on."""
        self._endpoint.version, self._endpoint.modern = version, modern

    def mirror(self, tool: str, marks: Sequence[Mark]) -> None:
        """Repeat these arguments of ``tool`` in headers."""
        self._endpoint.marks[tool] = marks

    def ready(self) -> None:
        """Open the stream on which an older server speaks unasked, before the first call:
        what it says earlier would be lost."""
        if self._endpoint.version == "2024-11-05":
            return  # that revision's HTTP has no such stream
        if self._listener is not None:
            self._listener.close()
        self._listener = Listener(self._endpoint.stream, self._take, self._log)
        self._listener.start()

    def exchange(self, message: Json) -> None:
        """Send a request on a thread of its own."""
        if self._closing.is_set():
            raise McpClosed("The connection was closed.", where=self.where)
        wire = Wire()
        with self._lock:
            self._running[message["id"]] = wire
        self._on_a_thread(self._threads, self._exchange, message, wire)

    def send(self, message: Json) -> None:
        """POST a notification or an answer. Raises McpError."""

        def post(wire: Wire) -> None:
            with self._endpoint.post(message, wire) as reply:
                if reply.status >= 400:
                    raise refusal(reply.status, b"".join(reply.chunks()), self.where)
                reply.finish()

        self._within(_SEND_LIMIT_S, post)

    def abandon(self, message: Json, notice: Json) -> None:
        """Hang up, which is all that the modern era wants; an older server is told, too."""
        with self._lock:
            wire = self._running.pop(message["id"], None)
        if wire is not None:
            wire.abort()
        if not self._endpoint.modern and message["method"] != "initialize":
            self._on_a_thread(self._notices, self._send_quietly, notice)

    def forget(self, session: str) -> bool:
        """``session`` is over; False if another one has begun since."""
        if self._endpoint.session != session:
            return False
        self._endpoint.session = None
        return True

    def close(self) -> None:
        """Hang up on everything, and say goodbye where there is a session."""
        if self._closing.is_set():
            return
        self._closing.set()
        with self._lock:
            wires, threads = list(self._running.values()), list(self._threads)
            notices = list(self._notices)
        for wire in wires:
            wire.abort()
        for thread in notices:
            thread.join(_NOTICES_S)
        if self._listener is not None:
            self._listener.close()
        if self._endpoint.session is not None:
            self._farewell()
        for thread in (*threads, *notices):
            thread.join(_JOIN_S)
        self._endpoint.close()

    # One exchange, on its thread.

    def _exchange(self, message: Json, wire: Wire) -> None:
        id = message["id"]
        assert self._receiver is not None
        try:
            self._answered(message, wire)
        except StreamError as error:
            self._receiver.failed(id, from_transport(error, self.where))
        except Exception as error:  # a thread's top: who waits is told
            self._receiver.failed(id, error)
        finally:
            with self._lock:
                self._running.pop(id, None)

    def _answered(self, message: Json, wire: Wire) -> None:
        """Send the request and hand on all that comes of it. Raises McpError, StreamError."""
        endpoint, id = self._endpoint, message["id"]
        session = None if endpoint.modern else endpoint.session
        with endpoint.accepted(message, wire, self._closing) as reply:
            if not endpoint.modern and reply.headers.get("Mcp-Session-Id"):
                endpoint.session = reply.headers["Mcp-Session-Id"]
            if reply.status == 404 and session is not None:
                raise McpSessionLost(session, self.where)
            if not is_stream(reply):
                self._whole(reply, id, session)
                return
            end = self._streamed(reply, id, StreamEnd())
        # Only the older era can go on with a stream that has ended.
        while not end.answered:
            if endpoint.modern or end.last_id is None or self._closing.wait(end.wait_s):
                raise McpClosed(
                    f"The stream ended before the answer to {message['method']}.",
                    where=self.where,
                    hint="Whether the server did it is not known.",
                )
            with endpoint.stream(wire, end.last_id) as reply:
                if not is_stream(reply):
                    raise refusal(reply.status, b"".join(reply.chunks()), self.where)
                end = self._streamed(reply, id, end)

    def _streamed(self, reply: Response, id: Id, before: StreamEnd) -> StreamEnd:
        return read_stream(reply, id, self._take, self._log, before, self.where)

    def _whole(self, reply: Response, id: Id, session: Optional[str]) -> None:
        """Hand on the one message that a reply is; raises what it is instead."""
        body = one_message(reply.chunks(), self.where)
        # Servers built after the SDK's examples have this for a session they do not know.
        if reply.status == 400 and session is not None and b"session" in body.lower():
            raise McpSessionLost(session, self.where)
        try:
            messages = decode(body) if body.strip() else []
        except ValueError:
            messages = []
        for message in messages:
            if "method" not in message and own_id(message.get("id")) in (None, id):
                self._take({**message, "id": id}, id)
                return
        if reply.status < 400:
            raise McpError(f"The server sent no answer: {shown(body)!r}.", where=self.where)
        raise refusal(reply.status, body, self.where)

    def _take(self, message: Json, exchange: Optional[Id]) -> None:
        assert self._receiver is not None
        self._receiver.receive(message, exchange)

    def _send_quietly(self, message: Json) -> None:
        try:
            self.send(message)
        except McpError as error:
            self._log(f"{message['method']} was not delivered: {error.message}")

    def _farewell(self) -> None:
        """End the session; a server that does not answer is not waited for."""
        try:
            self._within(_FAREWELL_S, self._endpoint.end_session)
        except McpError as error:
            self._log(f"no goodbye: {error.message}")

    def _within(self, seconds: float, body: Callable[[Wire], None]) -> None:
        """Run ``body``, whose wire is cut after so long. Raises McpError."""
        wire = Wire()
        timer = threading.Timer(seconds, wire.abort)
        timer.daemon = True
        timer.start()
        try:
            body(wire)
        except StreamError as error:
            raise from_transport(error, self.where) from error
        finally:
            timer.cancel()
            timer.join()

    def _on_a_thread(
        self, others: List[threading.Thread], body: Callable[..., None], *args: Any
    ) -> None:
        """Run ``body`` beside ``others``, of which those that have ended are forgotten."""
        thread = threading.Thread(target=body, args=args, name="jpq-mcp-http", daemon=True)
        with self._lock:
            others[:] = [*filter(threading.Thread.is_alive, others), thread]
            thread.start()
