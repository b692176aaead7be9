"""The public conformance suite, and servers of other people: in CI, or with JPQ_TEST_MCP=1."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Iterator, List, Mapping

import pytest

from jpq.interrupt.cancel import CancelToken
from jpq.mcp.client import Call, Client
from jpq.mcp.failure import McpCancelled, McpError, McpTimedOut
from jpq.mcp.http import HttpTransport
from jpq.mcp.process import server_environ
from jpq.mcp.protocol import Json
from jpq.mcp.stdio import StdioTransport
from jpq.mcp.transport import Transport
from tests.mcp import real_servers
from tests.mcp.conformance.run import REQUIRED, failures
from tests.mcp.test_mcp_stdio import Answering, text

# Before any test has changed it: npm and pip need the person's own settings.
ENVIRON = dict(os.environ)
WAIT_S = 20.0

pytestmark = [
    pytest.mark.skipif(
        not (ENVIRON.get("CI") == "true" or ENVIRON.get("JPQ_TEST_MCP")),
        reason="installs public MCP servers; run in CI or with JPQ_TEST_MCP=1",
    ),
    pytest.mark.timeout(900),
]


def folder_or_skip(find: Callable[[Mapping[str, str]], str]) -> str:
    try:
        return find(ENVIRON)
    except real_servers.NotToBeHad as error:
        if not error.hopeless:
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def node_folder() -> str:
    return folder_or_skip(real_servers.node_folder)


@pytest.fixture(scope="module")
def python_folder() -> str:
    return folder_or_skip(real_servers.python_folder)


@pytest.mark.parametrize("revision", sorted(REQUIRED))
def test_conformance(revision: str, node_folder: str) -> None:
    assert not failures(node_folder, revision, sys.executable)


def port_for_another() -> int:
    """A free port for a program that must be told one. It is below those that the system gives
    whoever asks for any, or somebody else would have it before that program does."""
    for port in range(10_000 + os.getpid() % 20_000, 32_768):
        with contextlib.suppress(OSError):
            socket.create_server(("127.0.0.1", port)).close()
            return port
    raise AssertionError("there is no free port")


@pytest.fixture(params=["stdio", "http"])
def everything(request: pytest.FixtureRequest, node_folder: str) -> Iterator[Transport]:
    argv = real_servers.node(node_folder, "server-everything")
    if request.param == "stdio":
        yield StdioTransport(argv)
        return
    port = port_for_another()
    quiet = subprocess.DEVNULL
    environ = {**os.environ, "PORT": str(port)}
    with subprocess.Popen(
        [*argv, "streamableHttp"], env=environ, stdout=quiet, stderr=quiet
    ) as run:
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield HttpTransport(f"http://127.0.0.1:{port}/mcp")
        run.terminate()


def test_server_everything(everything: Transport) -> None:
    host = Answering()
    with Client(everything, host) as server:
        names = {tool["name"] for tool in server.tools()}
        assert {"echo", "get-sum", "trigger-sampling-request"} <= names
        assert text(server.call_tool("echo", {"message": "hi"})) == "Echo: hi"
        assert server.call_tool("get-sum", {"a": "x"})["isError"] is True
        progress: List[Json] = []
        steps = {"duration": 0.3, "steps": 3}
        server.call_tool("trigger-long-running-operation", steps, Call(on_progress=progress.append))
        assert [each["progress"] for each in progress] == [1, 2, 3]
        server.call_tool("trigger-sampling-request", {"prompt": "x", "maxTokens": 5})
        server.call_tool("trigger-elicitation-request")
        assert len(host.asked) == 2
        assert len(server.resources()) > 0 and len(server.prompts()) > 0
        assert server.resource_templates()[0]["uriTemplate"]


def test_server_everything_stops_when_it_is_told(everything: Transport) -> None:
    long = {"duration": 30, "steps": 30}
    with Client(everything) as server:
        with pytest.raises(McpTimedOut):
            server.call_tool("trigger-long-running-operation", long, Call(timeout_s=0.2))
        cancel = CancelToken()
        timer = threading.Timer(0.2, cancel.cancel)
        timer.start()
        with pytest.raises(McpCancelled):
            server.call_tool("trigger-long-running-operation", long, Call(cancel=cancel))
        timer.join()
        assert text(server.call_tool("echo", {"message": "still here"})) == "Echo: still here"


def test_server_filesystem(node_folder: str, tmp_path: Any) -> None:
    (tmp_path / "a.txt").write_text("the text")
    argv = real_servers.node(node_folder, "server-filesystem", str(tmp_path))
    with Client(StdioTransport(argv)) as server:
        read = server.call_tool("read_text_file", {"path": str(tmp_path / "a.txt")})
        assert "the text" in text(read)
        outside = server.call_tool("read_text_file", {"path": "/etc/hostname"})
        assert outside["isError"] is True


def test_mcp_server_time(python_folder: str) -> None:
    argv = [os.path.join(python_folder, "bin", "mcp-server-time")]
    with Client(StdioTransport(argv)) as server:
        told = server.call_tool("get_current_time", {"timezone": "Europe/Paris"})
        assert "Europe/Paris" in text(told)
        try:
            assert server.call_tool("get_current_time", {"timezone": "Mars"})["isError"] is True
        except McpError as error:
            assert error.code is not None


def test_mcp_server_git(python_folder: str, tmp_path: Any) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    argv = [os.path.join(python_folder, "bin", "mcp-server-git"), "-r", str(tmp_path)]
    with Client(StdioTransport(argv, environ=server_environ(os.environ, {}))) as server:
        status = server.call_tool("git_status", {"repo_path": str(tmp_path)})
        assert "No commits yet" in text(status)
