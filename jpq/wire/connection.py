"""Wire: the connection of one exchange, which any thread can cut at any moment."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Any, Iterator, Optional

# Which wire the running thread opens its request on: neither requests nor urllib3 can pass
# anything on to the connection they pick, but they stay on the calling thread.
_running = threading.local()
_MOST_INTERIM = 100
_LONGEST_LINE = 65537  # bytes


class Aborted(Exception):
    """The wire was aborted before its connection was there."""


class Wire:
    """Knows the socket of an exchange from the moment it is connected until the reply ends.

    ``abort`` may be called from any thread any number of times, though not from a signal
    handler; everything else belongs to the thread that reads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards _duplicate and the step to aborted
        self._duplicate: Optional[socket.socket] = None
        self._connected: Any = None
        self.aborted = False
        self.reused = False  # whether the connection was kept from an earlier exchange

    def abort(self) -> None:
        """Wake whoever waits on the connection, whatever it waits for.

        Closing a socket does not wake a thread that reads from it; shutting it down does.
        """
        with self._lock:
            self.aborted = True
            if self._duplicate is not None:
                try:
                    self._duplicate.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # the server hung up first

    def attach(self, connected: Any) -> None:
        """The exchange now runs over ``connected``. Raises Aborted."""
        with self._lock:
            if self.aborted:
                raise Aborted
            self._drop()
            # A duplicate, as TLS takes the socket's descriptor over and its number may have
            # been given to another file by the time of an abort.
            self._duplicate = socket.socket(fileno=socket.dup(connected.fileno()))
            self._connected = connected

    def release(self) -> None:
        """The exchange is over: its connection may be in use elsewhere from now on."""
        with self._lock:
            self._drop()

    def limit_reads(self, seconds: float) -> bool:
        """Let no further read take longer than this; False when there is no connection."""
        if self._connected is None:
            return False
        self._connected.settimeout(seconds)
        return True

    @contextlib.contextmanager
    def carrying_this_thread(self) -> Iterator[None]:
        """Connections that this thread opens or takes from a pool attach themselves."""
        self.reused = True  # until a connection is made
        _running.wire = self
        try:
            yield
        finally:
            del _running.wire

    def _drop(self) -> None:
        self._connected = None
        if self._duplicate is not None:
            self._duplicate.close()
            self._duplicate = None


class _Final:
    """Mixed into an http.client reply: passes over those before it, of which Python knows 100."""

    fp: Any

    def _read_status(self) -> Any:
        for _ in range(_MOST_INTERIM):
            status = super()._read_status()  # type: ignore[misc]
            if not 102 <= status[1] < 200:
                break
            while self.fp.readline(_LONGEST_LINE).strip():
                pass
        return status


class _Watched:
    """Mixed into a urllib3 connection: tells the running thread's wire about its socket."""

    sock: Any

    def _new_conn(self) -> Any:
        connected = super()._new_conn()  # type: ignore[misc]
        try:
            _running.wire.attach(connected)
        except BaseException:
            connected.close()
            raise
        _running.wire.reused = False
        return connected

    def request(self, *args: Any, **kwargs: Any) -> Any:
        if self.sock is not None:  # after the TLS handshake, or kept from an earlier exchange
            _running.wire.attach(self.sock)
        return super().request(*args, **kwargs)  # type: ignore[misc]


def watch(manager: Any) -> None:
    """Make the connections of a urllib3 pool manager attach themselves; SOCKS ones, too."""
    manager.pool_classes_by_scheme = {
        scheme: _watched(pool) for scheme, pool in manager.pool_classes_by_scheme.items()
    }


def _watched(pool: Any) -> Any:
    if issubclass(pool.ConnectionCls, _Watched):
        return pool
    made = pool.ConnectionCls
    reply = type(made.response_class.__name__, (_Final, made.response_class), {})
    connection = type(made.__name__, (_Watched, made), {"response_class": reply})
    return type(pool.__name__, (pool,), {"ConnectionCls": connection})
