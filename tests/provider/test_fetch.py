"""What a URL holds, fetched from a loopback server within time and size."""

from __future__ import annotations

import threading
from typing import Iterator, List

import pytest

from jpq.errors import BadInputError, ErrorKind, StreamError
from jpq.provider.fetch import fetch
from jpq.wire.transport import Transport
from tests.support.server import Pause, Server, Step, error, head


@pytest.fixture
def transport() -> Iterator[Transport]:
    made = Transport()
    yield made
    made.close()


def moved(to: str) -> List[Step]:
    return [head("text/html", "302 Found", chunked=False, headers=[f"Location: {to}"])]


def found(body: bytes) -> List[Step]:
    return [head("text/plain", chunked=False), body]


def test_it_is_fetched_without_a_key(transport: Transport) -> None:
    with Server(found(b"text")) as server:
        fetched = fetch(server.url + "/a.txt", transport, 100)
        assert (fetched.body, fetched.url) == (b"text", server.url + "/a.txt")
        assert server.seen[0].method == "GET" and server.seen[0].path.endswith("/a.txt")
        assert "authorization" not in {name.lower() for name in server.seen[0].headers}


@pytest.mark.parametrize(
    "sent, content_type, held",
    [
        (b"caf\xe9", 'text/html; charset="ISO-8859-1"', "café".encode()),
        ("名前".encode("shift_jis"), "text/plain;charset=Shift_JIS", "名前".encode()),
        ("é".encode(), "text/plain; charset=utf-8", "é".encode()),
        (b"caf\xe9", "text/plain; charset=none-such", b"caf\xe9"),
        (b"caf\xe9", "text/plain; charset=utf-8", b"caf\xe9"),
        (b"caf\xe9", "text/plain; charset=hex", b"caf\xe9"),
        (b"\x89PNG", "image/png; charset=latin-1", b"\x89PNG"),
    ],
)
def test_texts_are_in_utf_8_where_their_server_says_in_what_they_are(
    sent: bytes, content_type: str, held: bytes, transport: Transport
) -> None:
    with Server([head(content_type, chunked=False), sent]) as server:
        assert fetch(server.url, transport, 100).body == held


def test_redirects_are_followed_to_other_servers_but_not_for_ever(transport: Transport) -> None:
    with Server(found(b"there")) as target, Server(moved(target.url + "/b")) as first:
        assert fetch(first.url, transport, 100) == (target.url + "/b", b"there")
    with Server(*[moved("/again")] * 6) as server, pytest.raises(BadInputError, match="redirects"):
        fetch(server.url, transport, 100)


def test_a_redirect_to_a_file_is_not_followed(transport: Transport) -> None:
    with Server(moved("file:///etc/passwd")) as server, pytest.raises(
        BadInputError, match="status 302"
    ):
        fetch(server.url, transport, 100)


@pytest.mark.parametrize(
    "steps,words",
    [
        (found(b"x" * 2_000_001), "larger than 2 MB"),
        (error("404 Not Found", b"no"), "status 404"),
        (error("503 Service Unavailable", b"no"), "status 503"),
    ],
    ids=["large", "missing", "busy"],
)
def test_what_is_too_large_or_not_there_is_refused(
    steps: List[Step], words: str, transport: Transport
) -> None:
    with Server(steps) as server, pytest.raises(BadInputError, match=words):
        fetch(server.url, transport, 2_000_000)


def test_a_server_that_takes_too_long(transport: Transport) -> None:
    with Server(
        [head("text/plain", chunked=False), Pause(threading.Event())]
    ) as server, pytest.raises(StreamError, match=r"did not come within 0\.2 s") as raised:
        fetch(server.url, transport, 100, timeout_s=0.2)
    assert raised.value.kind is ErrorKind.STALLED


def test_a_server_that_drips_for_ever(transport: Transport) -> None:
    given_up = threading.Event()

    class Drops(List[Step]):
        def __iter__(self) -> Iterator[Step]:
            yield head("text/plain", chunked=False)
            while not given_up.wait(0.02):
                yield b"x"

    with Server(Drops()) as server:
        with pytest.raises(StreamError, match=r"did not come within 0\.3 s") as raised:
            fetch(server.url, transport, 1_000_000, timeout_s=0.3)
        given_up.set()
    assert raised.value.kind is ErrorKind.STALLED and raised.value.exit_code == 74


@pytest.mark.parametrize("url", ["http://", "https://[bad"])
def test_what_is_no_address_is_bad_input(url: str, transport: Transport) -> None:
    with pytest.raises(BadInputError, match="not an address") as raised:
        fetch(url, transport, 100)
    assert raised.value.exit_code == 65


def test_a_server_that_is_not_there_has_nothing_to_do_with_base_url(transport: Transport) -> None:
    with pytest.raises(StreamError) as raised:
        fetch("http://127.0.0.1:9/a.png", transport, 100)
    assert raised.value.kind is ErrorKind.UNREACHABLE
    assert "base_url" not in raised.value.hint and "URL" in raised.value.hint
