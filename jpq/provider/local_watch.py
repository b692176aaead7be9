"""Watch: what keeps an embedded server alive, and what ends it.

Commands hold a lease, which is a connection to the server's control port, for as long as
they use the server. The system closes the connections of a command that is killed, so no
lease can be left behind. One request is one line of JSON, ``{"key", "want"}``, and gets
one line back:

    lease    counts until the connection closes; ``keep_alive_s`` sets the time below
    status   {"idle_s", "leases"}
    stop     the server ends

The server ends when nobody has held a lease for ``keep_alive_s`` seconds.
"""

from __future__ import annotations

import hmac
import json
import selectors
import socket
import time
from typing import Any, Callable, Dict, Optional, Set

from jpq.events import json_depth

CHECK_S = 1.0  # how often it looks whether it can still be found
MAX_LINE = 4096
IDLE, STOPPED, LOST = "idle", "stopped", "lost"


class Watch:
    """Runs on the server's main thread until the server should end.

    ``findable`` says whether the server's state file is still there. The first lease is
    waited for ``grace_s`` seconds, even with a ``keep_alive_s`` of 0.
    """

    def __init__(
        self,
        listener: socket.socket,
        key: str,
        keep_alive_s: float,
        findable: Callable[[], bool],
        grace_s: float = 10.0,
    ) -> None:
        self._listener = listener
        self._key = key
        self._keep_alive_s = keep_alive_s
        self._findable = findable
        self._selector = selectors.DefaultSelector()
        self._lines: Dict[socket.socket, bytes] = {}
        self._leases: Set[socket.socket] = set()
        self._idle_since = time.monotonic()
        self._end_at = self._idle_since + max(keep_alive_s, grace_s)

    def run(self) -> str:
        """Serve until IDLE, STOPPED or LOST, and return which."""
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)
        try:
            return self._loop()
        finally:
            for connection in list(self._lines):
                self._drop(connection)
            self._selector.close()

    def _loop(self) -> str:
        check_at = time.monotonic()
        while True:
            now = time.monotonic()
            if now >= check_at:
                if not self._findable():
                    return LOST
                check_at = now + CHECK_S
            if not self._leases and now >= self._end_at:
                return IDLE
            wake_at = check_at if self._leases else min(check_at, self._end_at)
            for key, _ in self._selector.select(max(0.0, wake_at - now)):
                if key.fileobj is self._listener:
                    self._accept()
                elif self._read(key.fileobj) == "stop":
                    return STOPPED

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return  # it hung up before it was taken
        connection.setblocking(False)
        self._lines[connection] = b""
        self._selector.register(connection, selectors.EVENT_READ)

    def _read(self, connection: Any) -> Optional[str]:
        """Take what came in on ``connection``; returns the wish that it completed."""
        try:
            piece = connection.recv(MAX_LINE)
        except BlockingIOError:
            return None
        except OSError:
            piece = b""
        if not piece or connection in self._leases:
            self._drop(connection)
            return None
        self._lines[connection] += piece
        line, end, _ = self._lines[connection].partition(b"\n")
        if not end:
            if len(line) > MAX_LINE:
                self._drop(connection)
            return None
        return self._answer(connection, line)

    def _answer(self, connection: socket.socket, line: bytes) -> Optional[str]:
        try:
            request = json_depth.loads(line)
            key, want = str(request["key"]), str(request["want"])
            keep_alive_s = float(request.get("keep_alive_s", self._keep_alive_s))
        except (ValueError, KeyError, TypeError, AttributeError):
            self._drop(connection)
            return None
        if not hmac.compare_digest(key.encode(), self._key.encode()):
            self._drop(connection)
            return None
        if want == "lease":
            self._keep_alive_s = keep_alive_s
            self._leases.add(connection)
        idle_s = 0.0 if self._leases else time.monotonic() - self._idle_since
        reply = json.dumps({"idle_s": round(idle_s, 1), "leases": len(self._leases)})
        try:
            connection.send(reply.encode() + b"\n")  # so short that it fits or the peer is gone
        except OSError:
            self._drop(connection)
            return None
        if want != "lease":
            self._drop(connection)
        return want

    def _drop(self, connection: socket.socket) -> None:
        self._selector.unregister(connection)
        self._lines.pop(connection, None)
        connection.close()
        if connection in self._leases:
            self._leases.remove(connection)
            self._idle_since = time.monotonic()
            self._end_at = self._idle_since + self._keep_alive_s
