"""Transport over real sockets: framings, cuts, headers, redirects, connections kept."""

from __future__ import annotations

import gzip
import json
import os
import queue
import threading
from typing import Iterator, List, Mapping, Sequence, Tuple

import pytest

import jpq
import jpq.wire.transport
from jpq.errors import ErrorKind, StreamError
from jpq.wire.connection import Wire
from jpq.wire.message import HttpRequest
from jpq.wire.transport import Response, Transport
from tests.support.server import (
    DROP,
    KEEP,
    LAST_CHUNK,
    WAIT_S,
    Pause,
    Server,
    Step,
    chunk,
    error,
    head,
    refusing,
)

KEY = "sk-very-secret-0123456789"
JSON = "application/json"


@pytest.fixture
def transport() -> Iterator[Transport]:
    opened = Transport(connect_timeout_s=WAIT_S)
    yield opened
    opened.close()


@pytest.fixture
def ends_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of a finished reply is waited for as long as a slow machine may take to send it."""
    monkeypatch.setattr(jpq.wire.transport, "_LINGER_S", WAIT_S)


def _open(
    transport: Transport, url: str, headers: Mapping[str, str] = {"Authorization": f"Bearer {KEY}"}
) -> Response:
    return transport.open(HttpRequest(url, headers, {"text": "h\u00e9\ud83d"}), Wire())


def _body(transport: Transport, url: str) -> bytes:
    with _open(transport, url) as response:
        return b"".join(response.chunks())


def _failure(transport: Transport, url: str) -> StreamError:
    with pytest.raises(StreamError) as caught:
        _body(transport, url)
    return caught.value


def _sized(total: int) -> bytes:
    """The head of a reply of ``total`` bytes."""
    return f"HTTP/1.1 200 OK\r\nContent-Length: {total}\r\n\r\n".encode()


FRAMINGS = ("chunked", "close-delimited", "content-length")


def _framed(framing: str, *pieces: bytes) -> List[bytes]:
    if framing == "chunked":
        return [head(), *(chunk(piece) for piece in pieces), LAST_CHUNK]
    if framing == "close-delimited":
        return [head(chunked=False), *pieces]
    return [_sized(sum(map(len, pieces))), *pieces]


@pytest.mark.parametrize("framing", FRAMINGS)
def test_the_first_bytes_are_there_before_the_second_are_sent(
    transport: Transport, framing: str
) -> None:
    first_seen = threading.Event()
    start, first, *rest = _framed(framing, b"one", b"two")
    script = [start, first, Pause(first_seen), *rest]
    with Server(script) as server, _open(transport, server.url) as response:
        chunks = response.chunks()
        assert next(chunks) == b"one"
        first_seen.set()
        assert b"".join(chunks) == b"two"


def test_half_of_an_http_chunk_is_handed_on_before_the_other_half_comes(
    transport: Transport,
) -> None:
    first_seen = threading.Event()
    script = [head(), b"6\r\none", Pause(first_seen), b"two\r\n", LAST_CHUNK]
    with Server(script) as server, _open(transport, server.url) as response:
        chunks = response.chunks()
        assert next(chunks) == b"one"
        first_seen.set()
        assert b"".join(chunks) == b"two"


def test_what_is_sent(transport: Transport) -> None:
    with Server(_framed("content-length", b"ok")) as server:
        assert _body(transport, server.url + "/x") == b"ok"
    (seen,) = server.seen
    assert (seen.method, seen.path) == ("POST", "/v1/x")
    assert seen.json == {"text": "h\u00e9?"}
    assert seen.headers["user-agent"] == f"jpq/{jpq.__version__}"
    assert seen.headers["accept-encoding"] == "identity"
    assert seen.headers["content-type"] == JSON
    assert seen.headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("framing", ["chunked", "content-length"])
@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
def test_a_body_that_is_cut_is_an_error(transport: Transport, framing: str, reset: bool) -> None:
    steps: List[Step] = [*_framed(framing, b"one", b"two")[:2]]
    with Server(steps + ([DROP] if reset else [])) as server:
        failure = _failure(transport, server.url)
    assert failure.kind is ErrorKind.CUT


@pytest.mark.parametrize(
    ("headers", "kind"),
    [
        ({"X Team": "blue"}, ErrorKind.INVALID_REQUEST),
        ({"X-Team\n": "blue"}, ErrorKind.INVALID_REQUEST),
        ({"": "blue"}, ErrorKind.INVALID_REQUEST),
        ({"X-Team": "\u201cblue\u201d"}, ErrorKind.AUTH),
        ({"X-Team": "blue\nX-More: red"}, ErrorKind.AUTH),
    ],
)
def test_a_header_that_cannot_be_sent_is_said_to_be_at_fault(
    transport: Transport, headers: Mapping[str, str], kind: ErrorKind
) -> None:
    """A blank in a header's name was told as a fault of the URL."""
    with Server() as server, pytest.raises(StreamError, match="header") as caught:
        _open(transport, server.url, headers)
    assert caught.value.kind is kind and "blue" not in str(caught.value)
    assert server.connections == 0


def test_a_number_that_json_has_not_is_sent_as_null(transport: Transport) -> None:
    odd = HttpRequest("", {}, {"a": [float("nan"), {"b": float("-inf")}], "c": 1.5})
    with Server(_framed("content-length", b"ok")) as server:
        transport.open(odd._replace(url=server.url), Wire()).close()
    assert server.seen[0].body == b'{"a":[null,{"b":null}],"c":1.5}'


@pytest.mark.parametrize("steps", [[], [DROP], [b"HTT"], [b"HTTP/1.1 20"]])
def test_a_connection_that_ends_before_the_headers_do(
    transport: Transport, steps: Sequence[Step]
) -> None:
    with Server(steps) as server:
        failure = _failure(transport, server.url)
    assert failure.kind is ErrorKind.RESET
    assert f"127.0.0.1:{server.port}" in failure.message


def test_a_refused_connection_names_host_and_port(transport: Transport) -> None:
    with refusing() as port, pytest.raises(StreamError) as caught:
        _open(transport, f"http://127.0.0.1:{port}/v1")
    assert caught.value.kind is ErrorKind.UNREACHABLE
    assert f"127.0.0.1:{port}" in caught.value.message and "base_url" in caught.value.hint


@pytest.mark.parametrize(
    "sent",
    [
        b"220 mail.example ESMTP\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 50\r\n\r\n",
    ],
)
def test_what_is_not_http_is_named_so(transport: Transport, sent: bytes) -> None:
    with Server([sent]) as server:
        failure = _failure(transport, server.url)
    assert failure.kind is ErrorKind.MALFORMED
    assert "not HTTP" in failure.message


@pytest.mark.parametrize(
    "url",
    ["localhost:8080/v1", "http://", "ftp://host/v1", "http://[::1/v1", "http://a b/", "",
     "http://host:99999/v1", "http://.example/v1", "http://" + "x" * 70 + "/v1"],
)  # fmt: skip
def test_an_address_that_is_none(transport: Transport, url: str) -> None:
    with pytest.raises(StreamError) as caught:
        _open(transport, url)
    assert caught.value.kind in (ErrorKind.INVALID_REQUEST, ErrorKind.UNREACHABLE)
    assert "base_url" in caught.value.hint


def test_gzip_is_undone_as_it_arrives(transport: Transport) -> None:
    packed = gzip.compress(b"text " * 1000)
    with Server([head(headers=["Content-Encoding: gzip"]), chunk(packed), LAST_CHUNK]) as server:
        assert _body(transport, server.url) == b"text " * 1000


def test_a_compressed_reply_can_be_finished_early(transport: Transport, ends_follow: None) -> None:
    packed = gzip.compress(b"text " * 1000)
    start = head(headers=["Content-Encoding: gzip"])
    with Server([start, chunk(packed[:-9]), chunk(packed[-9:]), LAST_CHUNK, KEEP]) as server:
        for _ in range(2):
            response = _open(transport, server.url)
            assert next(response.chunks()).startswith(b"text ")
            response.finish()
        assert server.connections == 1
        transport.close()


def test_broken_gzip_is_malformed(transport: Transport) -> None:
    start = head(headers=["Content-Encoding: gzip"])
    with Server([start, chunk(b"this is not gzip"), LAST_CHUNK]) as server:
        failure = _failure(transport, server.url)
    assert failure.kind is ErrorKind.MALFORMED


def test_a_body_without_end_is_given_up() -> None:
    transport = Transport(WAIT_S, longest_reply_bytes=1000)
    with Server(_framed("chunked", b"x" * 900, b"x" * 200)) as server:
        failure = _failure(transport, server.url)
    transport.close()
    assert failure.kind is ErrorKind.MALFORMED


# Credentials


def test_netrc_does_not_replace_the_key(transport: Transport, own_home: str) -> None:
    with open(os.path.join(own_home, ".netrc"), "w", encoding="ascii") as file:
        file.write("machine 127.0.0.1 login somebody password else\n")
    with Server(_framed("content-length", b"ok")) as server:
        assert _body(transport, server.url) == b"ok"
        with _open(transport, server.url, headers={}):
            pass
    assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert "authorization" not in server.seen[1].headers


def test_a_password_in_the_url_does_not_replace_the_key(transport: Transport) -> None:
    with Server(_framed("content-length", b"ok")) as server:
        assert _body(transport, server.url.replace("//", "//me:pass@")) == b"ok"
    assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("bad", ["\u201c", "\n", "\x00", "\u00e9"])
def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(
    transport: Transport, bad: str
) -> None:
    headers = {"Authorization": f"Bearer {KEY[:9]}{bad}{KEY[9:]}"}
    with Server([]) as server, pytest.raises(StreamError) as caught:
        _open(transport, server.url, headers)
    assert not server.seen
    assert caught.value.kind is ErrorKind.AUTH
    told = repr(caught.value) + caught.value.message + caught.value.hint + caught.value.where
    assert KEY[:9] not in told and KEY[9:] not in told


def test_a_trailing_newline_of_a_key_is_not_sent(transport: Transport) -> None:
    headers = {"Authorization": f"Bearer {KEY}\n"}
    with Server(_framed("content-length", b"ok")) as server:
        _open(transport, server.url, headers).close()
    assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"


# Redirects


def _redirect(status: str, location: str) -> List[Step]:
    return error(status, b"", "text/plain", f"Location: {location}")


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary"])
def test_a_redirect_to_another_server_is_returned_and_nothing_sent_there(
    transport: Transport, status: str
) -> None:
    with Server([]) as other, Server(_redirect(status, other.url)) as server:
        with _open(transport, server.url) as response:
            assert response.status == int(status[:3])
            assert response.headers["location"] == other.url
        assert not other.seen


@pytest.mark.parametrize("status", ["307 Temporary", "308 Permanent"])
def test_a_redirect_that_keeps_server_and_method_is_followed(
    transport: Transport, status: str
) -> None:
    with Server(_redirect(status, "/v2/chat"), _framed("content-length", b"ok")) as server:
        assert _body(transport, server.url) == b"ok"
    first, second = server.seen
    assert (second.method, second.path, second.body) == ("POST", "/v2/chat", first.body)
    assert second.headers["authorization"] == f"Bearer {KEY}"


def test_a_redirect_that_names_no_target_is_returned(transport: Transport) -> None:
    with Server(error("307 Temporary", b"")) as server, _open(transport, server.url) as response:
        assert response.status == 307
    assert len(server.seen) == 1


@pytest.mark.parametrize("status", ["302 Found", "307 Temporary", "308 Permanent"])
@pytest.mark.parametrize("location", ["http://[::1", "http://a:b/", "mailto:x"])
def test_a_redirect_to_what_is_no_address_is_returned(
    transport: Transport, status: str, location: str
) -> None:
    with Server(_redirect(status, location)) as server, _open(transport, server.url) as response:
        assert response.status == int(status[:3])


@pytest.mark.parametrize("interim", [b"100 Continue", b"102 Processing", b"103 Early Hints"])
def test_replies_before_the_reply_are_passed_over(transport: Transport, interim: bytes) -> None:
    before = b"HTTP/1.1 " + interim + b"\r\nLink: </a>\r\nContent-Length: 9\r\n\r\n"
    with Server([before * 3, *_framed("chunked", b"ok"), KEEP]) as server:
        assert _body(transport, server.url) == b"ok"
        assert _body(transport, server.url) == b"ok"  # over the same connection
    assert len(server.seen) == 2


def test_a_server_that_never_comes_to_its_reply_is_given_up(transport: Transport) -> None:
    endless = [b"HTTP/1.1 102 Processing\r\n\r\n" * 200]
    with Server(endless) as server, _open(transport, server.url) as response:
        assert response.status == 102


def test_a_circle_of_redirects_ends(transport: Transport) -> None:
    with Server(_redirect("308 Permanent", "/v1")) as server:
        failure = _failure(transport, server.url)
    assert "redirected" in failure.message
    assert len(server.seen) == 5


# Connections


def _kept(*steps: Step) -> List[Step]:
    return [*steps, KEEP]


@pytest.mark.parametrize("framing", ["chunked", "content-length"])
def test_a_reply_read_to_its_end_leaves_its_connection_for_the_next(
    transport: Transport, framing: str
) -> None:
    with Server(_kept(*_framed(framing, b"ok"))) as server:
        assert _body(transport, server.url) == b"ok"
        assert _body(transport, server.url) == b"ok"
        assert server.connections == 1
        transport.close()


def test_a_finished_reply_leaves_its_connection_when_its_end_follows(
    transport: Transport, ends_follow: None
) -> None:
    first_seen = threading.Event()
    script = [head(), chunk(b"all"), Pause(first_seen), LAST_CHUNK, KEEP]
    with Server(script) as server:
        for _ in range(2):
            first_seen.clear()
            with _open(transport, server.url) as response:
                assert next(response.chunks()) == b"all"
                first_seen.set()
                response.finish()
        assert server.connections == 1
        transport.close()


@pytest.mark.parametrize("framing", FRAMINGS)
def test_a_finished_reply_whose_end_never_comes_is_hung_up_on(
    transport: Transport, framing: str
) -> None:
    never = threading.Event()
    start, first, *_ = _framed(framing, b"all", b"rest")
    with Server([start, first, Pause(never)]) as server:
        with _open(transport, server.url) as response:
            assert next(response.chunks()) == b"all"
            response.finish()
        never.set()


def test_aborting_an_exchange_that_is_over_spares_its_connection(transport: Transport) -> None:
    with Server(_kept(*_framed("chunked", b"ok"))) as server:
        for _ in range(2):
            wire = Wire()
            with transport.open(HttpRequest(server.url, {}, {}), wire) as response:
                assert list(response.chunks()) == [b"ok"]
            wire.abort()
        assert server.connections == 1
        transport.close()


def test_a_kept_connection_that_was_just_closed_is_replaced_at_once(transport: Transport) -> None:
    """Servers close idle connections, at times in the moment the next request is sent."""
    kept, fresh = _framed("chunked", b"one"), _framed("chunked", b"two")
    with Server([*kept, KEEP], [], fresh) as server:
        assert _body(transport, server.url) == b"one"
        assert _body(transport, server.url) == b"two"
        assert (len(server.seen), server.connections) == (3, 2)


def test_as_many_connections_are_kept_as_there_were_at_a_time(transport: Transport) -> None:
    many = 25
    meeting = threading.Barrier(many)
    results: queue.Queue[bytes] = queue.Queue()

    def read(url: str) -> None:
        for _ in range(2):
            meeting.wait(WAIT_S)
            with _open(transport, url) as response:
                meeting.wait(WAIT_S)  # all have a connection now
                results.put(b"".join(response.chunks()))

    with Server(_kept(*_framed("content-length", b"ok"))) as server:
        threads = [threading.Thread(target=read, args=(server.url,)) for _ in range(many)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_S)
        assert [results.get_nowait() for _ in range(2 * many)] == [b"ok"] * 2 * many
        assert server.connections == many
        transport.close()


def test_two_threads_do_not_share_a_wire(transport: Transport) -> None:
    """An abandoned reader may still run when the next one starts."""
    release = threading.Event()
    results: queue.Queue[Tuple[str, bytes]] = queue.Queue()
    slow, quick = Wire(), Wire()

    def read(name: str, wire: Wire, url: str) -> None:
        try:
            with transport.open(HttpRequest(url, {}, {}), wire) as response:
                results.put((name, b"".join(response.chunks())))
        except StreamError as caught:
            results.put((name, caught.kind.word.encode()))

    with Server([head(), Pause(release)]) as silent, Server(_framed("chunked", b"ok")) as server:
        threads = [
            threading.Thread(target=read, args=("slow", slow, silent.url)),
            threading.Thread(target=read, args=("quick", quick, server.url)),
        ]
        for thread in threads:
            thread.start()
        assert results.get(timeout=WAIT_S) == ("quick", b"ok")
        slow.abort()
        assert results.get(timeout=WAIT_S) == ("slow", b"cut")
        for thread in threads:
            thread.join(WAIT_S)
        release.set()


def test_the_body_is_json_even_for_what_json_has_no_word_for(transport: Transport) -> None:
    with Server(_framed("content-length", b"ok")) as server:
        body = {"a": "\u2028", "b": None, "c": [1.5, True]}
        with transport.open(HttpRequest(server.url, {}, body), Wire()):
            pass
    assert json.loads(server.seen[0].body) == body
