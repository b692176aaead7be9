"""Proxies and certificates: where they come from, and what is said when they are wrong."""

from __future__ import annotations

import os
import socket
import ssl
import threading
from typing import Iterator

import pytest
import requests
import urllib3

from jpq.errors import ErrorKind, StreamError
from jpq.wire.connection import Wire
from jpq.wire.failure import Route, shown, while_opening
from jpq.wire.message import HttpRequest
from jpq.wire.route import Authorities, is_loopback, proxies_for
from jpq.wire.transport import Transport
from tests.support.server import (
    LAST_CHUNK,
    WAIT_S,
    Server,
    certificate,
    chunk,
    error,
    head,
    refusing,
)

ANSWER = [head(), chunk(b"ok"), LAST_CHUNK]


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> str:
    return certificate(str(tmp_path_factory.mktemp("certificate")))


@pytest.fixture
def transport() -> Iterator[Transport]:
    opened = Transport(connect_timeout_s=WAIT_S)
    yield opened
    opened.close()


def _ask(transport: Transport, url: str, ca_bundle: str = "") -> bytes:
    request = HttpRequest(url, {}, {})
    with transport.open(request, Wire(), ca_bundle=ca_bundle or None) as response:
        return b"".join(response.chunks())


def _failure(transport: Transport, url: str, ca_bundle: str = "") -> StreamError:
    with pytest.raises(StreamError) as caught:
        _ask(transport, url, ca_bundle)
    return caught.value


# Proxies


@pytest.mark.parametrize("variable", ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])
def test_a_proxy_is_used(
    transport: Transport, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    with Server(ANSWER) as proxy:
        monkeypatch.setenv(variable, f"http://me:pass@127.0.0.1:{proxy.port}")
        assert _ask(transport, "http://provider.example/v1") == b"ok"
    assert proxy.seen[0].path == "http://provider.example/v1"
    assert proxy.seen[0].headers["proxy-authorization"].startswith("Basic ")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "localhost"])
def test_this_machine_is_never_asked_for_through_a_proxy(
    transport: Transport, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    for variable in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:1")
    with Server(ANSWER) as server:
        url = server.url.replace("127.0.0.1", host) if host != "127.8.9.1" else server.url
        assert _ask(transport, url) == b"ok"
    assert not proxies_for(f"https://{host}:8080/v1")


@pytest.mark.parametrize(
    "host, loopback",
    [("localhost", True), ("api.localhost", True), ("127.0.0.1", True), ("127.1.2.3", True),
     ("::1", True), ("0.0.0.0", True), ("127.0.0.1.evil.example", False), ("127.example", False),
     ("10.0.0.1", False), ("localhost.example", False), ("", False)],
)  # fmt: skip
def test_is_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


@pytest.mark.parametrize(
    "no_proxy, url, direct",
    [("10.0.0.0/8", "http://10.1.2.3:8080/v1", True), ("10.0.0.0/8", "http://11.1.2.3/v1", False),
     ("internal.example", "https://llm.internal.example/v1", True), ("*", "https://x.org/", True),
     ("other.example", "https://llm.internal.example/v1", False)],
)  # fmt: skip
def test_no_proxy(monkeypatch: pytest.MonkeyPatch, no_proxy: str, url: str, direct: bool) -> None:
    monkeypatch.setenv("all_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", no_proxy)
    assert (not proxies_for(url)) is direct


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_cannot_be_reached_is_named_without_its_password(
    transport: Transport, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    with refusing() as port:
        monkeypatch.setenv(f"{scheme}_proxy", f"http://me:hunter22@127.0.0.1:{port}")
        failure = _failure(transport, f"{scheme}://provider.example/v1")
    assert failure.kind is ErrorKind.UNREACHABLE
    assert f"127.0.0.1:{port}" in failure.message and "proxy" in failure.hint
    assert "hunter22" not in failure.message + failure.hint + failure.where


@pytest.mark.parametrize("proxy", ["::::", "http://", "http://me:hunter22@host:99999"])
def test_a_proxy_that_is_no_address_is_not_taken_for_the_server(
    transport: Transport, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    failure = _failure(transport, "http://provider.example/v1")
    assert failure.kind is ErrorKind.INVALID_REQUEST
    assert "not the address of a proxy" in failure.message and "http_proxy" in failure.hint
    assert "hunter22" not in failure.message


@pytest.mark.parametrize(
    "status, kind", [("407 Who are you", ErrorKind.AUTH), ("502 No", ErrorKind.UNREACHABLE)]
)
def test_a_proxy_that_refuses_a_tunnel(
    transport: Transport, monkeypatch: pytest.MonkeyPatch, status: str, kind: ErrorKind
) -> None:
    with Server(error(status, b"")) as proxy:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
        failure = _failure(transport, "https://provider.example/v1")
    assert failure.kind is kind
    assert f"127.0.0.1:{proxy.port}" in failure.message and status[:3] in failure.message


# Certificates


@pytest.mark.parametrize("variable", ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"])
def test_a_certificate_file_from_the_environment_is_believed(
    transport: Transport, monkeypatch: pytest.MonkeyPatch, pem: str, variable: str
) -> None:
    monkeypatch.setenv(variable, pem)
    with Server(ANSWER, pem=pem) as server:
        assert _ask(transport, server.url) == b"ok"


def test_the_providers_own_file_comes_first(
    transport: Transport, monkeypatch: pytest.MonkeyPatch, pem: str
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/at-all.pem")
    with Server(ANSWER, pem=pem) as server:
        assert _ask(transport, server.url, ca_bundle=pem) == b"ok"


def test_an_unknown_certificate_names_the_setting_and_is_not_tried_again(
    transport: Transport, pem: str
) -> None:
    with Server(ANSWER, pem=pem) as server:
        failure = _failure(transport, server.url)
    assert failure.kind is ErrorKind.TLS and not failure.retryable
    assert f"127.0.0.1:{server.port}" in failure.message
    assert "SSL_CERT_FILE" in failure.hint and "ca_bundle" in failure.hint


def test_a_certificate_that_the_set_file_does_not_cover_names_that_file(
    transport: Transport,
    monkeypatch: pytest.MonkeyPatch,
    pem: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    other = certificate(str(tmp_path_factory.mktemp("other")))
    monkeypatch.setenv("SSL_CERT_FILE", other)
    with Server(ANSWER, pem=pem) as server:
        failure = _failure(transport, server.url)
    assert failure.kind is ErrorKind.TLS
    assert other in failure.hint and "SSL_CERT_FILE" in failure.hint


@pytest.mark.parametrize("content", [None, b"this is no certificate"], ids=["missing", "no PEM"])
def test_a_certificate_file_that_is_none(
    transport: Transport, monkeypatch: pytest.MonkeyPatch, pem: str, content: bytes, own_home: str
) -> None:
    path = os.path.join(own_home, "corp.pem")
    if content is not None:
        with open(path, "wb") as file:
            file.write(content)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", path)
    with Server(ANSWER, pem=pem) as server:
        failure = _failure(transport, server.url)
    assert failure.kind is ErrorKind.TLS
    assert path in failure.message + failure.hint and "REQUESTS_CA_BUNDLE" in failure.hint


def test_https_to_a_server_that_speaks_http(transport: Transport) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def answer_in_plain() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        server = threading.Thread(target=answer_in_plain)
        server.start()
        failure = _failure(transport, f"https://127.0.0.1:{port}/v1")
        server.join(WAIT_S)
    assert failure.kind is ErrorKind.TLS
    assert f"127.0.0.1:{port} does not speak https" in failure.message


# Causes that cannot be had from a loopback server


def _told(error: Exception) -> StreamError:
    url = "https://host.example/v1"
    return while_opening(error, Route(url, "prov", None, Authorities(), 10.0))


def test_a_name_that_does_not_resolve() -> None:
    unknown = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    unknown_to_urllib3 = urllib3.exceptions.NewConnectionError(None, str(unknown))  # type: ignore[arg-type]
    unknown_to_urllib3.__cause__ = unknown
    pool_error = urllib3.exceptions.MaxRetryError(None, "/v1", unknown_to_urllib3)  # type: ignore[arg-type]
    failure = _told(requests.ConnectionError(pool_error))
    assert failure.kind is ErrorKind.UNREACHABLE
    assert "host.example" in failure.message


def test_a_server_that_does_not_answer_in_time() -> None:
    slow = urllib3.exceptions.ConnectTimeoutError(None, "timed out")
    failure = _told(requests.ConnectTimeout(slow))
    assert failure.kind is ErrorKind.UNREACHABLE
    assert "host.example:443" in failure.message and "10 seconds" in failure.message


def test_a_network_that_is_down() -> None:
    down = urllib3.exceptions.NewConnectionError(None, "no")  # type: ignore[arg-type]
    down.__cause__ = OSError(101, "Network is unreachable")
    failure = _told(requests.ConnectionError(down))
    assert failure.kind is ErrorKind.UNREACHABLE and "Network is unreachable" in failure.message


def test_a_hangup_in_the_handshake_is_a_reset_and_not_a_bad_certificate() -> None:
    cut = ssl.SSLEOFError(8, "EOF occurred in violation of protocol")
    assert _told(requests.exceptions.SSLError(cut)).kind is ErrorKind.RESET


@pytest.mark.parametrize(
    "url, safe",
    [("https://me:pw@host:1/v1?key=k#f", "https://host:1/v1"), ("host:80/x", "host:80/x"),
     ("http://[::1", "http://[::1")],
)  # fmt: skip
def test_what_is_shown_of_a_url(url: str, safe: str) -> None:
    assert shown(url) == safe
