"""The server the clients talk to, a process of its own; the URL says what it answers.

``/short/N``      N words at once
``/paced/R/N``    N chunks, R a second, each carrying the CLOCK_MONOTONIC ns of its sending
``/flood/N``      N small chunks as fast as the client takes them
``/large/BYTES``  one event of that many bytes
"""

from __future__ import annotations

import functools
import os
import signal
import socket
import sys
import threading
import time
from typing import Dict

from bench import wire

SEND_SIZE = 65536


class Server:
    """Runs ``python -m bench.server`` for the length of a ``with`` block."""

    def __init__(self, environ: Dict[str, str]) -> None:
        self._environ = environ
        self._pid = 0
        self._port = 0

    def url(self, path: str) -> str:
        """The base URL under which a chat completion answers as ``path`` says."""
        return f"http://127.0.0.1:{self._port}/{path}/v1"

    def __enter__(self) -> Server:
        out, child_out = os.pipe()
        self._pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-m", "bench.server"],
            self._environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, child_out, 1)],
        )
        os.close(child_out)
        with os.fdopen(out) as lines:
            self._port = int(lines.readline())
        return self

    def __exit__(self, *exc: object) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


def main() -> None:
    """Serve until killed; the port is the only line on stdout."""
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_serve, args=(connection,), daemon=True).start()


def _serve(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection:
        try:
            parts = _read_request(connection).split("/")
            connection.sendall(wire.HEAD)
            if parts[1] == "paced":
                _send_paced(connection, float(parts[2]), int(parts[3]))
            else:
                body = _body(parts[1], int(parts[2]))
                for start in range(0, len(body), SEND_SIZE):
                    connection.sendall(body[start : start + SEND_SIZE])
        except ConnectionError:
            pass  # the client left early; its exit status tells the benchmark


def _read_request(connection: socket.socket) -> str:
    """The request's path, once its body has come."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _receive(connection)
    top, _, body = data.partition(b"\r\n\r\n")
    length = 0
    for line in top.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    while len(body) < length:
        body += _receive(connection)
    return top.split(b" ", 2)[1].decode()


def _receive(connection: socket.socket) -> bytes:
    data = connection.recv(SEND_SIZE)
    if not data:
        raise ConnectionError("the client hung up")
    return data


def _send_paced(connection: socket.socket, rate: float, count: int) -> None:
    start = time.monotonic()
    for number in range(count):
        time.sleep(max(0.0, start + number / rate - time.monotonic()))
        connection.sendall(wire.http_chunk(wire.event(f"{time.monotonic_ns()}\n")))
    connection.sendall(wire.end())


@functools.lru_cache(maxsize=None)
def _body(kind: str, size: int) -> bytes:
    if kind == "large":
        texts = ["x" * size]
    else:
        texts = [wire.word(number) for number in range(size)]
    return b"".join(wire.http_chunk(wire.event(text)) for text in texts) + wire.end()


if __name__ == "__main__":
    main()
