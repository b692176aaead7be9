"""Servers behind URLs, of both eras, well-behaved and not."""

from __future__ import annotations

import socket
import threading
from typing import Any, List, Optional, Set

import pytest

from jpq.interrupt.cancel import CancelToken
from jpq.mcp import message_size
from jpq.mcp.client import Call, Client
from jpq.mcp.failure import (
    McpCancelled,
    McpClosed,
    McpError,
    McpRefused,
    McpTimedOut,
    McpUnauthorized,
    McpUnreachable,
)
from jpq.mcp.host import Host
from jpq.mcp.http import HttpTransport
from jpq.mcp.protocol import Json
from tests.mcp.http_server import McpServer
from tests.mcp.test_mcp_stdio import Answering, Lines, text
from tests.support.pressing import wait_until
from tests.support.server import certificate, refusing

WAIT_S = 30.0
BOTH_ERAS = pytest.mark.parametrize("modern", [True, False], ids=["modern", "legacy"])


def client(server: McpServer, host: Optional[Host] = None, **more: Any) -> Client:
    return Client(HttpTransport(server.url, where="test", **more), host)


@BOTH_ERAS
def test_both_eras_are_spoken(modern: bool) -> None:
    with McpServer(modern) as server, client(server) as mcp:
        assert mcp.server.modern is modern
        assert len(mcp.tools()) == 8
        assert text(mcp.call_tool("echo", {"text": "grüße"})) == "grüße"
        seen: List[Json] = []
        assert text(mcp.call_tool("stream", {}, Call(on_progress=seen.append))) == "streamed"
        assert seen[0]["progress"] == 1


def test_a_modern_request_repeats_itself_in_headers() -> None:
    with McpServer() as server, client(server, headers={"X-Team": "a"}) as mcp:
        mcp.tools()
        mcp.call_tool("echo", {"text": " grüße"})
        (call,) = server.messages("tools/call")
    assert call.headers["mcp-protocol-version"] == "2026-07-28"
    assert call.headers["mcp-method"] == "tools/call"
    assert call.headers["mcp-name"] == "echo"
    assert call.headers["mcp-param-text"].startswith("=?base64?")
    assert call.headers["x-team"] == "a"
    assert "mcp-session-id" not in call.headers


def test_an_older_server_has_a_stream_before_the_first_call_and_a_goodbye() -> None:
    with McpServer(modern=False) as server:
        with client(server) as mcp:
            mcp.call_tool("echo", {"text": "x"})
        methods = [
            asked.method if asked.message is None else asked.message.get("method")
            for asked in server.seen
        ]
        last = server.seen[-1]
    assert methods.index("GET") < methods.index("tools/call")
    assert (last.method, last.headers["mcp-session-id"]) == ("DELETE", "session-0")


def test_an_older_server_without_a_stream() -> None:
    with McpServer(modern=False, faults={"no_stream"}) as server, client(server) as mcp:
        assert text(mcp.call_tool("echo", {"text": "x"})) == "x"


@pytest.mark.parametrize("faults", [set(), {"no_session_is_400"}])
def test_a_forgotten_session_is_renewed_and_the_call_repeated_once(faults: Set[str]) -> None:
    with McpServer(modern=False, faults=faults) as server, client(server) as mcp:
        mcp.call_tool("echo", {"text": "x"})
        server.sessions.append("restarted")
        assert text(mcp.call_tool("echo", {"text": "y"})) == "y"
        assert len(server.messages("initialize")) == 2


def test_a_broken_stream_of_an_older_server_is_gone_on_with() -> None:
    with McpServer(modern=False) as server, client(server) as mcp:
        assert text(mcp.call_tool("resumed")) == "resumed"
        assert any("last-event-id" in asked.headers for asked in server.seen)


def test_a_broken_stream_of_a_modern_server_is_an_error() -> None:
    with McpServer() as server, client(server) as mcp:
        with pytest.raises(McpClosed, match="before the answer"):
            mcp.call_tool("resumed")
        assert len(server.messages("tools/call")) == 1  # it may have been done: not repeated


def test_what_a_server_asks_on_a_calls_stream_is_answered() -> None:
    host = Answering()
    with McpServer(modern=False) as server, client(server, host) as mcp:
        assert '"action": "accept"' in text(mcp.call_tool("asks"))
    assert host.asked[0]["message"] == "Who?"


@BOTH_ERAS
def test_a_cancelled_call_is_hung_up_on_at_once(modern: bool) -> None:
    with McpServer(modern) as server:
        with client(server) as mcp:
            cancel = CancelToken()
            canceller = threading.Thread(
                target=lambda: server.slow_begun.wait(WAIT_S) and cancel.cancel()
            )
            canceller.start()
            with pytest.raises(McpCancelled):
                mcp.call_tool("slow", {}, Call(cancel=cancel))
            canceller.join()
            assert server.hung_up.wait(WAIT_S)
        told = server.messages("notifications/cancelled")
    assert len(told) == (0 if modern else 1)  # hanging up says it in the modern era


@pytest.mark.parametrize("fault", ["busy_once", "lost_once"])
def test_a_passing_failure_does_no_harm(fault: str) -> None:
    with McpServer(faults={fault}) as server, client(server) as mcp:
        assert text(mcp.call_tool("echo", {"text": "x"})) == "x"
        assert len(server.messages("tools/call")) == 2


@BOTH_ERAS
@pytest.mark.parametrize("arguments", [{}, {"event": True}], ids=["body", "event"])
def test_a_message_without_end_is_cut_off(
    arguments: Any, modern: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_size, "MAX_MESSAGE_BYTES", 1024 * 1024)
    with McpServer(modern) as server, client(server) as mcp:
        with pytest.raises(McpClosed, match="a message of over 1 MiB"):
            mcp.call_tool("endless", arguments)
        assert server.hung_up.wait(WAIT_S)
        assert text(mcp.call_tool("echo", {"text": "still here"})) == "still here"


def test_a_lasting_failure_is_told() -> None:
    with McpServer(faults={"down"}) as server:
        with pytest.raises(McpRefused, match="HTTP 503: out of order"):
            client(server).connect()
        assert len(server.seen) == 2


def test_an_answer_that_is_none_is_told() -> None:
    none = pytest.raises(McpError, match="sent no answer: '<html>")
    with McpServer() as server, client(server) as mcp, none:
        mcp.call_tool("broken")


def test_a_server_that_is_not_there() -> None:
    with refusing() as port:
        nobody = Client(HttpTransport(f"http://127.0.0.1:{port}/mcp", where="test"))
        with pytest.raises(McpUnreachable, match="connection was refused") as caught:
            nobody.connect()
    assert "base_url" not in caught.value.hint


@pytest.mark.parametrize("modern", [True, False], ids=["modern", "legacy"])
def test_a_server_of_a_private_authority_is_reached_with_its_bundle(
    modern: bool, tmp_path: Any
) -> None:
    pem = certificate(str(tmp_path))
    with McpServer(modern, pem=pem) as server:
        with client(server, ca_bundle=pem) as mcp:
            assert text(mcp.call_tool("echo", {"text": "x"})) == "x"
        with pytest.raises(McpUnreachable) as caught:
            client(server).connect()
    assert "the server's ca_bundle" in caught.value.hint


def test_a_server_that_wants_a_login_names_the_command() -> None:
    with McpServer(faults={"auth"}) as server, pytest.raises(McpUnauthorized) as caught:
        client(server).connect()
    assert "jpq mcp login" in caught.value.hint


def test_changed_tools_are_asked_for_again() -> None:
    """The change is told just before the first list is here, or after it."""
    with McpServer(modern=False, faults={"changes"}) as server, client(server) as mcp:

        def asked_twice() -> bool:
            mcp.tools()
            return len(server.messages("tools/list")) >= 2

        wait_until(asked_twice)


def test_a_server_that_never_answers_costs_its_time_and_no_more() -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        port = deaf.getsockname()[1]
        with pytest.raises(McpTimedOut):
            Client(HttpTransport(f"http://127.0.0.1:{port}/mcp")).connect(timeout_s=0.3)


@BOTH_ERAS
def test_events_that_are_no_messages_are_passed_over(modern: bool) -> None:
    log = Lines()
    with McpServer(modern, {"garbage"}) as server, client(server, log=log) as mcp:
        assert text(mcp.call_tool("stream", {}, Call(on_progress=lambda p: None))) == "streamed"
    log.wait_for("an event that is no message")
