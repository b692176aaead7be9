"""Connection: requests to one server and their results, whatever era it is of."""

from __future__ import annotations

import threading
import time
from typing import Any, Mapping, Optional, Protocol

from jpq import __version__
from jpq.interrupt.cancel import CancelToken
from jpq.mcp.era import Greeting, Server
from jpq.mcp.failure import McpClosed, McpError, McpSessionLost, McpTimedOut
from jpq.mcp.host import Host
from jpq.mcp.link import Link, OnProgress
from jpq.mcp.protocol import LOG_MESSAGE, META, Json, encode, table, text_of
from jpq.mcp.transport import Log, Transport
from jpq.named import NamedTuple

CLIENT_INFO = {"name": "jpq", "version": __version__}
TIMEOUT_S = 60.0
LOG_LEVEL = "info"

# A server that keeps asking for input is stopped there.
_MAX_ROUNDS = 16
_FIRST_PAUSE_S = 0.2  # before a request is repeated for which nothing was to be answered


class Call(NamedTuple):
    """How one request is waited for.

    ``timeout_s`` None waits as long as it takes. ``cancel`` gives the request up.
    ``host`` answers what the server asks because of it.
    """

    timeout_s: Optional[float] = TIMEOUT_S
    cancel: Optional[CancelToken] = None
    on_progress: Optional[OnProgress] = None
    host: Optional[Host] = None


PLAIN = Call()


class Recall(Protocol):
    """Remembers which revision a server spoke last."""

    def get(self) -> Optional[str]:
        """The revision, if it is known."""

    def set(self, version: Optional[str]) -> None:
        """Remember it; None forgets."""


class Connection:
    """A connection to one server. ``connect`` and ``close`` on one thread, the rest on any.

    Every method raises McpError. ``version`` holds the client to one revision, ``recall``
    guesses it; ``server`` is what the server said about itself.
    """

    def __init__(
        self,
        transport: Transport,
        host: Optional[Host] = None,
        *,
        log: Log = lambda line: None,
        version: Optional[str] = None,
        recall: Optional[Recall] = None,
    ) -> None:
        self._transport = transport
        self._host = Host() if host is None else host
        self._log = log
        self._version = version
        self._recall = recall
        self._link = Link(transport, self._host, self.notified, log)
        self._renewing = threading.Lock()  # one new session is enough for all calls that lost it
        self.server = Server("", False, {}, {})

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def closed(self) -> bool:
        """Whether the connection is gone."""
        return self._link.lost_error is not None

    @property
    def where(self) -> str:
        """The server's name for people."""
        return self._transport.where

    def connect(self, timeout_s: float = TIMEOUT_S) -> None:
        """Start the server, or reach it, and agree on how to speak. Closes after a failure."""
        try:
            self._transport.start(self._link)
            self._greet(self._version, timeout_s)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Disconnect; what waits is told. May be called again."""
        self._link.close()
        self._transport.close()

    def request(self, method: str, params: Mapping[str, Any], call: Call = PLAIN) -> Json:
        """The result of a request, after as many rounds of input as the server wants."""
        sent = dict(params)
        for round in range(_MAX_ROUNDS):
            result = self._round(method, sent, call)
            kind = result.get("resultType", "complete")
            if kind == "complete":
                return result
            if kind != "input_required":
                raise self.odd(f"a result of the unknown type {kind!r}")
            answers = self._answers(table(result.get("inputRequests")), call)
            if not answers:
                self._pause(_FIRST_PAUSE_S * 2 ** min(round, 6), call)
            sent = {**params, "inputResponses": answers}
            if "requestState" in result:
                sent["requestState"] = result["requestState"]
        raise self.odd(f"a question again after {_MAX_ROUNDS} answers to {method}")

    def notified(self, method: str, params: Json) -> None:
        """The server says something. A transport's thread."""
        if method == LOG_MESSAGE:
            data = params.get("data")
            text = data if isinstance(data, str) else encode({"data": data}).decode()
            self._log(f"{params.get('level')}: {text}")

    def odd(self, what: str) -> McpError:
        """The server broke the rules."""
        return McpError(f"The server sent {what}.", where=self.where)

    def _greet(self, version: Optional[str], timeout_s: float) -> None:
        greeting = Greeting(
            self._link,
            self._transport,
            CLIENT_INFO,
            self._host.capabilities(),
            self._modern_meta,
            time.monotonic() + timeout_s,
        )
        self.server = self._greeted(greeting, version)
        if self._recall is not None:
            self._recall.set(self.server.version)
        self._begin_to_listen()

    def _greeted(self, greeting: Greeting, version: Optional[str]) -> Server:
        recalled = self._recall.get() if version is None and self._recall is not None else None
        if recalled is None or self._recall is None:
            return greeting.greet(version)
        self._recall.set(None)  # unless it proves right again
        try:
            return greeting.greet(recalled)
        except (McpClosed, McpTimedOut):
            raise
        except McpError as error:
            self._log(f"it does not speak {recalled} any more: {error.message}")
            return greeting.greet(None)

    def _round(self, method: str, params: Mapping[str, Any], call: Call) -> Json:
        try:
            return self._sent(method, params, call)
        except McpSessionLost as lost:
            with self._renewing:
                if self._transport.forget(lost.session):
                    self._greet(self.server.version, TIMEOUT_S)
            return self._sent(method, params, call)

    def _sent(self, method: str, params: Mapping[str, Any], call: Call) -> Json:
        meta = self._modern_meta(self.server.version) if self.server.modern else {}
        sent = {**params, "_meta": {**meta, **table(params.get("_meta"))}} if meta else params
        pending = self._link.begin(method, sent, host=call.host, on_progress=call.on_progress)
        return self._link.wait(pending, call.timeout_s, call.cancel)

    def _modern_meta(self, version: str) -> Json:
        return {
            META + "protocolVersion": version,
            META + "clientInfo": CLIENT_INFO,
            META + "clientCapabilities": self._host.capabilities(),
            META + "logLevel": LOG_LEVEL,
        }

    def _answers(self, asked: Json, call: Call) -> Json:
        """Our answers to what the server wants to know before it goes on."""
        host = call.host or self._host
        return {
            key: host.answer(text_of(table(each).get("method")), table(table(each).get("params")))
            for key, each in asked.items()
        }

    def _pause(self, seconds: float, call: Call) -> None:
        (call.cancel or CancelToken()).wait(seconds)

    def _begin_to_listen(self) -> None:
        """Hear of changes, where the server tells them, and of its log."""
        server = self.server
        try:
            if server.modern and server.has("tools", "listChanged"):
                wanted = {"notifications": {"toolsListChanged": True}}
                meta = self._modern_meta(server.version)
                self._link.begin("subscriptions/listen", {**wanted, "_meta": meta})
            elif not server.modern and server.has("logging"):
                self._link.begin("logging/setLevel", {"level": LOG_LEVEL})
        except McpError as error:
            self._log(f"it cannot be listened to: {error.message}")
