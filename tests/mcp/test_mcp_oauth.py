"""Logins: the code flow from the first refusal to the renewed token, and what must not pass."""

from __future__ import annotations

import os
import socket
import threading
import urllib.error
import urllib.request
from typing import Any, List, Optional
from urllib.parse import parse_qs, urlsplit

import pytest

from jpq.mcp.client import Client
from jpq.mcp.failure import McpUnauthorized
from jpq.mcp.http import HttpTransport
from jpq.mcp.http_fetch import Fetcher
from jpq.mcp.oauth import OAuth
from jpq.mcp.oauth_browser import BrowserVisitor
from jpq.mcp.oauth_discovery import Authority, challenge_of, is_same_issuer
from jpq.mcp.oauth_tokens import TokenStore
from tests.mcp.http_server import McpServer
from tests.mcp.test_mcp_stdio import text


class Following:
    """Follows the login page's redirect itself."""

    redirect_uri = "http://127.0.0.1:1/callback"

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher
        self.visited: List[str] = []

    def visit(self, url: str) -> str:
        self.visited.append(url)
        return self._fetcher.get(url, {}).headers["Location"]


class Login:
    """A client that logs in, and all that belongs to it."""

    def __init__(self, server: McpServer, path: Optional[str] = None, visits: bool = True) -> None:
        self.fetcher = Fetcher()
        self.visitor = Following(self.fetcher)
        self.store = TokenStore(path)
        authorizer = OAuth(
            server.url, self.store, self.fetcher, self.visitor if visits else None, where="test"
        )
        self.client = Client(HttpTransport(server.url, authorizer=authorizer, where="test"))

    def __enter__(self) -> Login:
        return self

    def __exit__(self, *exc: object) -> None:
        self.client.close()
        self.fetcher.close()


def test_a_login_is_used_and_kept_for_its_owner_only(tmp_path: Any) -> None:
    path = str(tmp_path / "tokens.json")
    with McpServer(faults={"auth"}) as server:
        with Login(server, path) as login:
            login.client.connect()
            assert text(login.client.call_tool("echo", {"text": "x"})) == "x"
        (page,) = login.visitor.visited
        query = {name: values[0] for name, values in parse_qs(urlsplit(page).query).items()}
        assert query["resource"] == server.url
        assert query["scope"] == "tools"
        assert query["code_challenge_method"] == "S256"
        assert os.stat(path).st_mode & 0o777 == 0o600
        with Login(server, path, visits=False) as again:
            again.client.connect()  # with what was kept
        assert again.visitor.visited == []


def test_a_token_that_ran_out_is_renewed_without_the_person(tmp_path: Any) -> None:
    path = str(tmp_path / "tokens.json")
    with McpServer(faults={"auth"}) as server:
        with Login(server, path) as login:
            login.client.connect()
        server.tokens = set()
        with Login(server, path, visits=False) as again:
            again.client.connect()
            assert again.client.tools()


def test_a_call_that_needs_more_asks_for_that_and_for_what_was_granted() -> None:
    with McpServer(faults={"auth", "step_up"}) as server, Login(server) as login:
        login.client.connect()
        assert text(login.client.call_tool("echo", {"text": "x"})) == "x"
        scopes = [parse_qs(urlsplit(page).query)["scope"][0] for page in login.visitor.visited]
    assert scopes == ["tools", "tools write"]


def test_without_the_person_the_command_is_named() -> None:
    with McpServer(faults={"auth"}) as server, Login(server, visits=False) as login:
        with pytest.raises(McpUnauthorized) as caught:
            login.client.connect()
        assert "jpq mcp login" in caught.value.hint and caught.value.where == "test"


def test_an_answer_to_another_login_is_refused() -> None:
    with McpServer(faults={"auth", "wrong_state"}) as server, Login(server) as login:
        with pytest.raises(McpUnauthorized, match="belongs to another login"):
            login.client.connect()
        assert server.tokens == set()


def test_a_damaged_file_of_tokens_is_replaced(tmp_path: Any) -> None:
    path = tmp_path / "tokens.json"
    path.write_text("{nonsense")
    with McpServer(faults={"auth"}) as server, Login(server, str(path)) as login:
        login.client.connect()
        grant = login.store.get(server.url)
    assert grant is not None and grant.access_token == "token-1"
    assert "token-1" not in repr(grant)
    assert login.store.remove(server.url) and not login.store.remove(server.url)


def test_secrets_do_not_go_over_an_open_line() -> None:
    metadata = {"token_endpoint": "http://example.org/token"}
    with pytest.raises(McpUnauthorized, match="is not https"):
        Authority(metadata, "r", [], True).endpoint("token_endpoint")


@pytest.mark.parametrize(
    "one, other, same",
    [
        ("https://a.test", "https://a.test/", True),
        ("https://a.test/", "https://a.test", True),
        ("https://a.test/x", "https://a.test/x", True),
        ("https://a.test/x", "https://a.test/x/", False),
        ("https://a.test", "https://b.test/", False),
        ("", "https://a.test", False),
    ],
)
def test_an_issuer_without_a_path_may_end_with_a_slash(one: str, other: str, same: bool) -> None:
    assert is_same_issuer(one, other) is same


def test_a_login_where_the_metadata_has_a_slash_more() -> None:
    with McpServer(faults={"auth", "slash"}) as server, Login(server) as login:
        login.client.connect()
        assert text(login.client.call_tool("echo", {"text": "x"})) == "x"


def test_a_challenge_is_read_with_and_without_quotes() -> None:
    header = 'Basic x, Bearer error="insufficient_scope", scope="a b", resource_metadata=http://x'
    assert challenge_of(header) == {
        "error": "insufficient_scope",
        "scope": "a b",
        "resource_metadata": "http://x",
    }


def test_the_browser_comes_back_to_a_port_of_this_machine() -> None:
    told: List[str] = []
    threads: List[threading.Thread] = []

    def browse(url: str) -> None:
        def come_back() -> None:
            base = visitor.redirect_uri
            with pytest.raises(urllib.error.HTTPError):
                urllib.request.urlopen(base.replace("/callback", "/favicon.ico"), timeout=5)
            urllib.request.urlopen(f"{base}?code=1&state=2", timeout=5).close()

        threads.append(threading.Thread(target=come_back))
        threads[0].start()

    visitor = BrowserVisitor(told.append, None, browse=browse, timeout_s=10)
    try:
        assert visitor.visit("https://x/login") == f"{visitor.redirect_uri}?code=1&state=2"
    finally:
        visitor.close()
        threads[0].join()
    assert "https://x/login" in told[0]


@pytest.mark.parametrize("good", [True, False])
def test_the_address_may_be_pasted(good: bool) -> None:
    def paste(meanwhile: Any) -> str:
        meanwhile()
        return f" {visitor.redirect_uri}?code=1\n" if good else "https://elsewhere/?code=1"

    visitor = BrowserVisitor(lambda line: None, paste, browse=lambda url: None)
    try:
        if good:
            assert visitor.visit("https://x") == f"{visitor.redirect_uri}?code=1"
        else:
            with pytest.raises(McpUnauthorized, match="not the address"):
                visitor.visit("https://x")
    finally:
        visitor.close()


def test_a_connection_that_says_nothing_does_no_harm() -> None:
    visitor = BrowserVisitor(lambda line: None, None, browse=lambda url: None, timeout_s=0.1)
    port = urlsplit(visitor.redirect_uri).port
    silent = socket.create_connection(("127.0.0.1", port or 0))
    with silent, pytest.raises(McpUnauthorized, match="Nobody logged in"):
        visitor.visit("https://x")
    visitor.close()
