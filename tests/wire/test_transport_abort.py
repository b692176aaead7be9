"""Aborting wakes the reader whatever it waits for, over http and https."""

from __future__ import annotations

import queue
import socket
import threading
from typing import Iterator, List, Optional, Tuple

import pytest

from jpq.errors import ErrorKind, StreamError
from jpq.wire.connection import Wire
from jpq.wire.message import HttpRequest
from jpq.wire.transport import Transport
from tests.support.server import (
    KEEP,
    LAST_CHUNK,
    WAIT_S,
    Pause,
    Server,
    Step,
    Tell,
    certificate,
    chunk,
    head,
)


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> str:
    return certificate(str(tmp_path_factory.mktemp("certificate")))


@pytest.fixture
def transport() -> Iterator[Transport]:
    opened = Transport(connect_timeout_s=WAIT_S)
    yield opened
    opened.close()


class Reader:
    """Reads a reply on a thread of its own, as an exchange's reader does."""

    def __init__(
        self, transport: Transport, url: str, ca_bundle: Optional[str] = None, body: str = ""
    ) -> None:
        self.wire = Wire()
        self.chunks: queue.Queue[bytes] = queue.Queue()
        self.error: Optional[BaseException] = None
        self._call = (transport, HttpRequest(url, {}, {"text": body}), ca_bundle)
        self._thread = threading.Thread(target=self._run, name="test-reader")
        self._thread.start()

    def _run(self) -> None:
        transport, request, ca_bundle = self._call
        try:
            with transport.open(request, self.wire, ca_bundle=ca_bundle) as response:
                for piece in response.chunks():
                    self.chunks.put(piece)
        except BaseException as caught:
            self.error = caught

    def join(self) -> None:
        """Wait for the end of the reply."""
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive()

    def aborted(self) -> StreamError:
        """Abort, and the error the reader ended with; it must end while the server is silent."""
        self.wire.abort()
        self._thread.join(WAIT_S / 2)
        assert not self._thread.is_alive(), "the reader was not woken"
        assert isinstance(self.error, StreamError), repr(self.error)
        return self.error


# What the server sends before it falls silent, and the bytes that are read by then.
STATES: List[Tuple[str, List[Step], bytes]] = [
    ("waiting for headers", [], b""),
    ("in the headers", [b"HTTP/1.1 200 OK\r\nContent-"], b""),
    ("chunked, between chunks", [head(), chunk(b"one")], b"one"),
    ("chunked, in a chunk", [head(), b"10\r\none"], b"one"),
    ("close-delimited", [head(chunked=False), b"one"], b"one"),
    ("content-length", [b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\none"], b"one"),
]


@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
@pytest.mark.parametrize("steps, read", [s[1:] for s in STATES], ids=[s[0] for s in STATES])
def test_abort_while(
    transport: Transport, pem: str, secure: bool, steps: List[Step], read: bytes
) -> None:
    reached, release = threading.Event(), threading.Event()
    script = [*steps, Tell(reached), Pause(release)]
    with Server(script, pem=pem if secure else None) as server:
        reader = Reader(transport, server.url, ca_bundle=pem)
        try:
            if read:
                assert reader.chunks.get(timeout=WAIT_S) == read
            assert reached.wait(WAIT_S)
            assert reader.aborted().kind is ErrorKind.CUT
            reader.wire.abort()  # any number of times
        finally:
            release.set()


@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
def test_abort_on_a_connection_kept_from_before(
    transport: Transport, pem: str, secure: bool
) -> None:
    reached, release = threading.Event(), threading.Event()
    first = [head(), chunk(b"one"), LAST_CHUNK, KEEP]
    second = [Tell(reached), Pause(release)]
    with Server(first, second, pem=pem if secure else None) as server:
        before = Reader(transport, server.url, ca_bundle=pem)
        before.join()
        assert before.error is None
        reader = Reader(transport, server.url, ca_bundle=pem)
        try:
            assert reached.wait(WAIT_S)
            assert server.connections == 1
            assert reader.aborted().kind is ErrorKind.CUT
        finally:
            release.set()


@pytest.mark.parametrize(
    "scheme, body",
    [("https", ""), ("http", "x" * 20_000_000)],
    ids=["in the TLS handshake", "sending a body that nobody takes"],
)
def test_abort_while_the_server_takes_nothing(transport: Transport, scheme: str, body: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"{scheme}://127.0.0.1:{listener.getsockname()[1]}/v1"
        reader = Reader(transport, url, body=body)
        connection, _ = listener.accept()
        with connection:
            assert connection.recv(1)
            assert reader.aborted().kind is ErrorKind.CUT


def test_abort_in_a_tunnel_through_a_proxy(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, release = threading.Event(), threading.Event()
    with Server([Tell(reached), Pause(release)]) as proxy:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
        reader = Reader(transport, "https://provider.example/v1")
        try:
            assert reached.wait(WAIT_S)
            assert reader.aborted().kind is ErrorKind.CUT
        finally:
            release.set()
    assert proxy.seen[0].method == "CONNECT"


def test_an_exchange_aborted_before_it_began_sends_nothing(transport: Transport) -> None:
    with Server([]) as server:
        wire = Wire()
        wire.abort()
        with pytest.raises(StreamError) as caught:
            transport.open(HttpRequest(server.url, {}, {}), wire)
        assert caught.value.kind is ErrorKind.CUT
    assert not server.seen
