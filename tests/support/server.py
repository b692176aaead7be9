"""A loopback HTTP server that sends raw bytes and faults exactly as a test scripts them."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import ssl
import subprocess
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Union

WAIT_S = 30.0
PAUSE_POLL_S = 0.02  # how often a paused reply looks whether the test is over


class Pause(NamedTuple):
    """Send nothing until ``event`` is set; ends the connection if it is not in ``within_s``."""

    event: threading.Event
    within_s: float = WAIT_S


class Tell(NamedTuple):
    """Set ``event``: all steps before this one are done."""

    event: threading.Event


DROP = object()  # close the connection with a reset
KEEP = object()  # serve the next request on the same connection
Step = Union[bytes, Pause, object]


class Seen(NamedTuple):
    """A request as it arrived."""

    method: str
    path: str
    headers: Dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


# What is sent for a request, or what makes that of it.
Script = Union[Sequence[Step], Callable[[Seen], Sequence[Step]]]


def head(
    content_type: str = "text/event-stream",
    status: str = "200 OK",
    chunked: bool = True,
    headers: Sequence[str] = (),
) -> bytes:
    """A response head; without ``chunked`` the body ends when the connection does."""
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {content_type}", *headers]
    lines.append("Transfer-Encoding: chunked" if chunked else "Connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def chunk(data: bytes) -> bytes:
    """One HTTP chunk."""
    return b"%x\r\n%s\r\n" % (len(data), data)


LAST_CHUNK = b"0\r\n\r\n"


def sse(*values: Any) -> List[bytes]:
    """One ``data:`` event for each value; a str goes as it is, others as JSON."""
    texts = (value if isinstance(value, str) else json.dumps(value) for value in values)
    return [f"data: {text}\n\n".encode() for text in texts]


def delta(text: str, **choice: Any) -> Dict[str, Any]:
    """A chat-completion chunk with ``text``."""
    return {"model": "test-model", "choices": [{"index": 0, "delta": {"content": text}, **choice}]}


FINISH = {"model": "test-model", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
USAGE = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}}
DONE = "[DONE]"


def reply(
    *values: Any, chunked: bool = True, content_type: str = "text/event-stream"
) -> List[Step]:
    """The steps of a whole streamed reply with one chunk an event."""
    events = sse(*values)
    if not chunked:
        return [head(content_type, chunked=False), *events]
    return [head(content_type), *(chunk(event) for event in events), LAST_CHUNK]


def answer(text: str, chunked: bool = True) -> List[Step]:
    """A complete streamed answer of ``text``, a word a chunk."""
    words = [delta(piece) for piece in text.replace(" ", " \0").split("\0")]
    return reply(*words, FINISH, USAGE, DONE, chunked=chunked)


def error(
    status: str, body: bytes, content_type: str = "application/json", *headers: str
) -> List[Step]:
    """The steps of an error response."""
    length = f"Content-Length: {len(body)}"
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {content_type}", length, *headers, "", ""]
    return ["\r\n".join(lines).encode() + body]


def certificate(folder: str) -> str:
    """A file in ``folder`` with a new key and its own certificate for 127.0.0.1."""
    path = os.path.join(folder, "server.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=jpq test server"]
        + ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        + ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", path]
        + ["-out", path + ".crt"],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=WAIT_S,
    )
    with open(path, "ab") as key, open(path + ".crt", "rb") as issued:
        key.write(issued.read())
    return path


@contextlib.contextmanager
def unanswering() -> Iterator[int]:
    """A port at which connections are neither made nor refused: the queue there is full."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


@contextlib.contextmanager
def refusing() -> Iterator[int]:
    """A port at which connections are refused, and that nobody else is given meanwhile."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # and does not listen
        yield held.getsockname()[1]


class Server:
    """Serves one script a request, in order; the last one repeats. One may depend on its request.

    Each connection is read to the end of one request, the script's steps are sent, and the
    connection is closed. ``seen`` lists the requests. Use as a context manager. With a
    ``pem`` file (see ``certificate``) it speaks https.
    """

    def __init__(self, *scripts: Script, pem: Optional[str] = None) -> None:
        self._scripts = list(scripts)
        self._tls: Optional[ssl.SSLContext] = None
        if pem is not None:
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.load_cert_chain(pem)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._threads: List[threading.Thread] = []
        self._connections: List[socket.socket] = []
        self._closing = threading.Event()
        self._lock = threading.Lock()  # guards seen, _threads and _connections
        self._acceptor = threading.Thread(target=self._accept, name="test-server")
        self.seen: List[Seen] = []
        self.errors: List[BaseException] = []

    @property
    def url(self) -> str:
        scheme = "https" if self._tls else "http"
        return f"{scheme}://127.0.0.1:{self.port}/v1"

    @property
    def connections(self) -> int:
        """How many connections were made so far."""
        with self._lock:
            return len(self._connections)

    def __enter__(self) -> Server:
        self._acceptor.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._closing.set()
        # Shutting a listener down wakes accept() on Linux; connecting does so elsewhere.
        try:
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            socket.create_connection(("127.0.0.1", self.port), WAIT_S).close()
        self._acceptor.join(WAIT_S)
        self._listener.close()
        with self._lock:
            connections, threads = list(self._connections), list(self._threads)
        for connection in connections:
            try:
                # Not TLS's own, which would say goodbye to a peer that may not listen.
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
            except OSError:
                pass  # the peer is gone already
        for thread in threads:
            thread.join(WAIT_S)
        assert not any(thread.is_alive() for thread in threads), "a server thread did not end"

    def _paused(self, pause: Pause) -> bool:
        """Wait for its event; False when it does not come, or the test is over before."""
        deadline = time.monotonic() + pause.within_s
        while not pause.event.wait(PAUSE_POLL_S):
            if self._closing.is_set() or time.monotonic() >= deadline:
                return False
        return True

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,), name="test-server")
            with self._lock:
                self._connections.append(connection)
                self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            with self._secured(connection) as secured:
                while self._serve_one(secured):
                    pass
        except OSError:
            return  # the client hung up, which many tests make it do

    def _secured(self, connection: socket.socket) -> socket.socket:
        if self._tls is None:
            return connection
        try:
            with self._lock:  # whoever ends the server finds the one or the other, but not neither
                secured = self._tls.wrap_socket(
                    connection, server_side=True, do_handshake_on_connect=False
                )
                self._connections[self._connections.index(connection)] = secured
        except OSError:
            connection.close()
            raise
        try:
            secured.do_handshake()
        except OSError:
            secured.close()
            raise
        return secured

    def _serve_one(self, connection: socket.socket) -> bool:
        """Serve one request; True when another may follow on the connection."""
        request = _read_request(connection)
        if request is None:
            return False
        with self._lock:
            script = self._scripts[min(len(self.seen), len(self._scripts) - 1)]
            self.seen.append(request)
        return self._play(connection, script(request) if callable(script) else script)

    def _play(self, connection: socket.socket, script: Sequence[Step]) -> bool:
        for step in script:
            if step is KEEP:
                return True
            if step is DROP:
                linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                return False
            if isinstance(step, Tell):
                step.event.set()
            elif isinstance(step, Pause):
                if not self._paused(step):
                    return False
            else:
                assert isinstance(step, bytes)
                connection.sendall(step)
        return False


def _read_request(connection: socket.socket) -> Optional[Seen]:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return None
        data += piece
    top, _, body = data.partition(b"\r\n\r\n")
    lines = top.decode("latin-1").split("\r\n")
    method, path, _ = lines[0].split(" ", 2)
    headers = {k.lower(): v.strip() for k, v in (line.split(":", 1) for line in lines[1:])}
    while len(body) < int(headers.get("content-length", "0")):
        piece = connection.recv(65536)
        if not piece:
            return None
        body += piece
    return Seen(method, path, headers, body)
