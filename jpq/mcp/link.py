"""Link: JSON-RPC over a transport. Requests wait here for their answers."""

from __future__ import annotations

import itertools
import threading
from typing import Any, Callable, Dict, Mapping, Optional

from jpq.interrupt.cancel import CancelToken
from jpq.mcp import protocol
from jpq.mcp.failure import McpCancelled, McpClosed, McpError, McpTimedOut
from jpq.mcp.host import Host
from jpq.mcp.protocol import Id, Json, own_id, table, text_of
from jpq.mcp.transport import Log, Transport

_LONGEST_WAIT_S = 100_000.0

# Called with the params of a progress notification. Any thread.
OnProgress = Callable[[Json], None]


class Pending:
    """A request that waits for its answer. ``settle`` on any thread, ``result`` on its own."""

    def __init__(
        self, message: Json, host: Optional[Host], on_progress: Optional[OnProgress]
    ) -> None:
        self.message = message
        self.host = host
        self.on_progress = on_progress
        self.settled = threading.Event()
        self._lock = threading.Lock()  # the answer and a cancellation may come at once
        self._told: Optional[threading.Event] = None
        self._value: Json = {}
        self._error: Optional[Exception] = None

    @property
    def succeeded(self) -> bool:
        """Whether a result has come."""
        return self.settled.is_set() and self._error is None

    def tell(self, event: threading.Event) -> None:
        """Set ``event``, too, once this is settled."""
        with self._lock:
            self._told = event
            if self.settled.is_set():
                event.set()

    def settle(self, value: Json, error: Optional[Exception] = None) -> None:
        """The first answer counts."""
        with self._lock:
            if not self.settled.is_set():
                self._value, self._error = value, error
                self.settled.set()
                if self._told is not None:
                    self._told.set()

    def result(self) -> Json:
        """The result; raises why there is none. Once it is settled."""
        if self._error is not None:
            raise self._error
        return self._value


class Link:
    """One connection. Any thread may call.

    ``host`` answers what the server asks, unless the request that it is about brings its
    own. ``on_notification`` is given what is neither progress nor an answer.
    """

    def __init__(
        self,
        transport: Transport,
        host: Host,
        on_notification: Callable[[str, Json], None],
        log: Log,
    ) -> None:
        self._transport = transport
        self._host = host
        self._on_notification = on_notification
        self._log = log
        self._ids = itertools.count(1)
        self._lock = threading.Lock()  # guards _pending and _lost
        self._pending: Dict[Id, Pending] = {}
        self._lost: Optional[Exception] = None

    @property
    def lost_error(self) -> Optional[Exception]:
        """Why the connection is gone; None while it is not."""
        return self._lost

    def start_again(self) -> bool:
        """Forget that the connection was lost, if it can be made anew. Raises McpError."""
        with self._lock:
            self._lost = None
        return self._transport.start_again(self)

    def begin(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        host: Optional[Host] = None,
        on_progress: Optional[OnProgress] = None,
    ) -> Pending:
        """Send a request. Raises McpError where it cannot be sent."""
        id = next(self._ids)
        message = protocol.request(id, method, params)
        if on_progress is not None:
            meta = table(message["params"].get("_meta"))
            message["params"]["_meta"] = {**meta, "progressToken": id}
        pending = Pending(message, host, on_progress)
        with self._lock:
            if self._lost is not None:
                raise self._lost
            self._pending[id] = pending
        try:
            self._transport.exchange(message)
        except BaseException:
            self._forget(pending)
            raise
        return pending

    def wait(
        self, pending: Pending, timeout_s: Optional[float], cancel: Optional[CancelToken] = None
    ) -> Json:
        """The request's result. Raises McpError: the server's, McpTimedOut or McpCancelled.

        A request that is given up is taken back from the server, without waiting for it.
        """
        if cancel is None:
            pending.settled.wait(_LONGEST_WAIT_S if timeout_s is None else timeout_s)
        else:
            with cancel.calling(lambda: pending.settle({}, self._cancelled(pending))):
                pending.settled.wait(_LONGEST_WAIT_S if timeout_s is None else timeout_s)
        if not pending.settled.is_set():
            pending.settle({}, self._timed_out(pending, timeout_s))
        try:
            return pending.result()
        except (McpTimedOut, McpCancelled) as error:
            self.give_up(pending, error.message)
            raise

    def give_up(self, pending: Pending, reason: str) -> None:
        """Take a request back, if it still waits."""
        if not self._forget(pending):
            return
        message = pending.message
        notice = protocol.notification(
            protocol.CANCELLED, {"requestId": message["id"], "reason": reason}
        )
        self._transport.abandon(message, notice)

    def notify(self, method: str, params: Optional[Mapping[str, Any]] = None) -> None:
        """Send a notification. Raises McpError."""
        self._transport.send(protocol.notification(method, params))

    # What the transport hands on, on its threads.

    def receive(self, message: Json, exchange: Optional[Id] = None) -> None:
        """Give an answer to who waits for it; serve a request; pass a notification on."""
        method = message.get("method")
        if not isinstance(method, str):
            self._settle(message)
        elif "id" in message:
            host = self._host_for(exchange)
            threading.Thread(
                target=self._serve, args=(message, host), name="jpq-mcp-asked", daemon=True
            ).start()
        else:
            self._notified(method, table(message.get("params")))

    def failed(self, id: Id, error: Exception) -> None:
        """The request ``id`` will have no answer."""
        with self._lock:
            pending = self._pending.pop(id, None)
        if pending is not None:
            pending.settle({}, error)

    def lost(self, error: Exception) -> None:
        """No request will have an answer any more."""
        with self._lock:
            self._lost = self._lost or error
            waiting, self._pending = list(self._pending.values()), {}
        for pending in waiting:
            pending.settle({}, error)

    def close(self) -> None:
        """Nothing is sent any more, and who waits is told."""
        self.lost(McpClosed("The connection was closed.", where=self._transport.where))

    def _settle(self, message: Json) -> None:
        id = own_id(message.get("id"))
        with self._lock:
            pending = self._pending.pop(id, None) if isinstance(id, (int, str)) else None
        if pending is None:
            self._log(f"an answer to nothing that waits: id {id!r}")
        elif "error" in message:
            pending.settle({}, self._error_of(table(message["error"])))
        else:
            pending.settle(table(message.get("result")))

    def _error_of(self, error: Json) -> McpError:
        code = error.get("code")
        return McpError(
            text_of(error.get("message")) or "The server gave no reason.",
            code=code if isinstance(code, int) else protocol.INTERNAL_ERROR,
            data=error.get("data"),
            where=self._transport.where,
        )

    def _notified(self, method: str, params: Json) -> None:
        if method != protocol.PROGRESS:
            self._on_notification(method, params)
            return
        token = own_id(params.get("progressToken"))
        with self._lock:
            pending = self._pending.get(token) if isinstance(token, (int, str)) else None
        if pending is not None and pending.on_progress is not None:
            pending.on_progress(params)

    def _host_for(self, exchange: Optional[Id]) -> Host:
        """Who answers a request that came with ``exchange``; over stdio nothing says which
        of the running requests it is about, so the youngest that brings a host is taken."""
        with self._lock:
            about = self._pending.get(exchange) if exchange is not None else None
            candidates = [about] if about is not None else list(self._pending.values())
        hosts = [pending.host for pending in candidates if pending and pending.host is not None]
        return hosts[-1] if hosts else self._host

    def _serve(self, message: Json, host: Host) -> None:
        """Answer a server's request. A thread's whole job."""
        id, method = message["id"], message["method"]
        try:
            reply = protocol.result(id, host.answer(method, table(message.get("params"))))
        except McpError as error:
            code = protocol.INTERNAL_ERROR if error.code is None else error.code
            reply = protocol.failure(id, code, error.message)
        except Exception as error:  # a thread's top: the server is told instead of waiting
            reply = protocol.failure(id, protocol.INTERNAL_ERROR, str(error))
        try:
            self._transport.send(reply)
        except McpError as error:
            self._log(f"the answer to {method} was lost: {error.message}")

    def _forget(self, pending: Pending) -> bool:
        with self._lock:
            return self._pending.pop(pending.message["id"], None) is not None

    def _timed_out(self, pending: Pending, timeout_s: Optional[float]) -> McpTimedOut:
        method = pending.message["method"]
        return McpTimedOut(
            f"No answer to {method} within {timeout_s or 0:g} seconds.",
            where=self._transport.where,
        )

    def _cancelled(self, pending: Pending) -> McpCancelled:
        return McpCancelled(
            f"{pending.message['method']} was cancelled.", where=self._transport.where
        )
