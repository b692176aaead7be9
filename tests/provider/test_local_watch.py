"""What keeps an embedded server alive and what ends it, over real sockets."""

from __future__ import annotations

import json
import queue
import socket
import threading
import time
from typing import Any, Dict, Iterator

import pytest

from jpq.provider.local_watch import IDLE, LOST, STOPPED, Watch

WAIT_S = 30.0


class Watched:
    """A Watch on a thread of its own; ``ended`` gets its reason."""

    def __init__(self, keep_alive_s: float, grace_s: float = 0.0) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.findable = True
        watch = Watch(self.listener, "key", keep_alive_s, lambda: self.findable, grace_s)
        self.ended: queue.Queue[str] = queue.Queue()
        self._thread = threading.Thread(target=lambda: self.ended.put(watch.run()))
        self._thread.start()

    def connect(self) -> socket.socket:
        return socket.create_connection(self.listener.getsockname(), WAIT_S)

    def ask(self, connection: socket.socket, want: str, **more: Any) -> Dict[str, Any]:
        connection.sendall(json.dumps({"key": "key", "want": want, **more}).encode() + b"\n")
        with connection.makefile("rb") as lines:
            answer: Dict[str, Any] = json.loads(lines.readline())
        return answer

    def reason(self) -> str:
        """Waits for the end; says why it came."""
        reason = self.ended.get(timeout=WAIT_S)
        self.ended.put(reason)
        return reason

    def close(self) -> None:
        if self.ended.empty():
            with self.connect() as connection:
                self.ask(connection, "stop")
        self._thread.join(WAIT_S)
        self.listener.close()


@pytest.fixture
def patient() -> Iterator[Watched]:
    watched = Watched(keep_alive_s=60.0)
    yield watched
    watched.close()


@pytest.fixture
def hasty() -> Iterator[Watched]:
    watched = Watched(keep_alive_s=0.0, grace_s=WAIT_S)
    yield watched
    watched.close()


def test_it_ends_when_nobody_comes() -> None:
    watched = Watched(keep_alive_s=0.05)
    assert watched.reason() == IDLE
    watched.close()


def test_with_no_time_to_stay_it_ends_with_the_last_lease(hasty: Watched) -> None:
    with hasty.connect() as first, hasty.connect() as second:
        assert hasty.ask(first, "lease") == {"idle_s": 0.0, "leases": 1}
        assert hasty.ask(second, "lease") == {"idle_s": 0.0, "leases": 2}
        first.close()
        with hasty.connect() as third:
            assert hasty.ask(third, "status")["leases"] == 1
        assert hasty.ended.empty()
    assert hasty.reason() == IDLE


def test_the_latest_lease_says_how_long_it_stays(patient: Watched) -> None:
    with patient.connect() as connection:
        patient.ask(connection, "lease", keep_alive_s=0.05)
    assert patient.reason() == IDLE


def test_it_counts_from_the_end_of_the_last_lease(patient: Watched) -> None:
    started = time.monotonic()
    with patient.connect() as connection:
        patient.ask(connection, "lease", keep_alive_s=0.3)
        with patient.connect() as other:
            assert patient.ask(other, "status")["idle_s"] == 0.0
        with pytest.raises(queue.Empty):
            patient.ended.get(timeout=0.4)
    assert patient.reason() == IDLE
    assert time.monotonic() - started >= 0.7


def test_stop_ends_it_although_it_is_used(patient: Watched) -> None:
    with patient.connect() as user, patient.connect() as other:
        patient.ask(user, "lease")
        assert patient.ask(other, "stop")["leases"] == 1
    assert patient.reason() == STOPPED


def test_it_ends_when_it_cannot_be_found(patient: Watched) -> None:
    with patient.connect() as user:
        patient.ask(user, "lease")
        patient.findable = False
        assert patient.reason() == LOST


@pytest.mark.parametrize(
    "line",
    [
        b'{"key": "wrong", "want": "stop"}\n',
        b'{"key": "k\\u00e9y", "want": "stop"}\n',
        b'{"want": "stop"}\n',
        b'{"key": "key", "want": "lease", "keep_alive_s": "long"}\n',
        b"GET / HTTP/1.1\r\n\r\n",
        b"[]\n",
        b"\xff\xfe\n",
        b"x" * 10000,
    ],
)
def test_a_stranger_is_hung_up_on(patient: Watched, line: bytes) -> None:
    with patient.connect() as stranger:
        stranger.sendall(line)
        try:
            assert stranger.recv(100) == b""
        except ConnectionError:
            pass  # hung up with bytes unread
    with patient.connect() as friend:
        assert patient.ask(friend, "status")["leases"] == 0


def test_a_wish_may_come_in_pieces(patient: Watched) -> None:
    with patient.connect() as connection:
        for byte in b'{"key": "key", "want": "status"':
            connection.sendall(bytes([byte]))
        connection.sendall(b"}\n")
        assert b"idle_s" in connection.recv(100)


def test_who_says_nothing_is_no_lease(hasty: Watched) -> None:
    with hasty.connect():
        with hasty.connect() as connection:
            hasty.ask(connection, "lease")
        assert hasty.reason() == IDLE
