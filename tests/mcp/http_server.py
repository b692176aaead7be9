"""A small MCP server over HTTP, of either era, that misbehaves on demand; and who lets people in.

``McpServer(modern=..., faults=...)`` is a context manager. ``seen`` lists what was asked:
method, headers, and the message or None.
"""

from __future__ import annotations

import base64
import hashlib
import http.server
import json
import ssl
import threading
from typing import AbstractSet, Any, Dict, List, NamedTuple, Optional, Set
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.mcp.stdio_server import PICTURE_RESULT

VERSIONS = {True: "2026-07-28", False: "2025-11-25"}


class Asked(NamedTuple):
    method: str
    path: str
    headers: Dict[str, str]
    message: Optional[Dict[str, Any]]


class McpServer:
    """Tools: ``echo`` (as JSON), ``stream`` (progress first), ``slow``, ``resumed`` (its stream
    breaks and is gone on with), ``asks`` (an elicitation on its stream), ``broken``, ``picture``,
    ``endless`` (a body without end, or an event with the argument ``event``)."""

    def __init__(
        self, modern: bool = True, faults: AbstractSet[str] = frozenset(), pem: str = ""
    ) -> None:
        self.modern = modern
        self.pem = pem  # with it, https is spoken
        self.faults = set(faults)
        self.seen: List[Asked] = []
        self.sessions: List[str] = []
        self.closing = threading.Event()
        self.slow_begun = threading.Event()
        self.listing = threading.Event()  # the tools were asked for
        self.hung_up = threading.Event()
        self.answered = threading.Event()
        self.answer: Any = None
        self.failures = 0
        self.issued: Dict[str, Any] = {}
        self.tokens: Set[str] = set()
        self.refresh_tokens: Set[str] = set()
        self.lock = threading.Lock()

    def __enter__(self) -> McpServer:
        owner = self

        class Handler(_Handler):
            server_state = owner

        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = False
        if self.pem:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(self.pem)
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))
        self._thread.start()
        scheme = "https" if self.pem else "http"
        self.origin = f"{scheme}://127.0.0.1:{self._http.server_port}"
        self.url = f"{self.origin}/mcp"
        return self

    def __exit__(self, *exc: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def messages(self, method: str) -> List[Asked]:
        return [each for each in self.seen if (each.message or {}).get("method") == method]


class _Handler(http.server.BaseHTTPRequestHandler):
    server_state: McpServer
    protocol_version = "HTTP/1.1"
    timeout = 5

    def log_message(self, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._note(None)
        state = self.server_state
        if self.path.startswith("/.well-known") or self.path.startswith("/authorize"):
            self._authority()
        elif state.modern or "no_stream" in state.faults:
            self._reply(405, b"")
        else:
            last = self.headers.get("Last-Event-ID")
            self._begin_stream()
            if last is not None:
                self._event({"jsonrpc": "2.0", "id": int(last), "result": _text("resumed")})
                return
            if "changes" in state.faults and state.listing.wait(10):
                self._event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
            state.closing.wait(10)

    def do_DELETE(self) -> None:
        self._note(None)
        self._reply(200, b"")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        state = self.server_state
        if self.path in ("/token", "/register"):
            self._note(None)
            self._token_or_client(body)
            return
        message = json.loads(body)
        self._note(message)
        if "auth" in state.faults and not self._is_authorized():
            where = f"{state.origin}/.well-known/oauth-protected-resource/mcp"
            challenge = f'Bearer resource_metadata="{where}", scope="tools"'
            self._reply(401, b"", {"WWW-Authenticate": challenge})
            return
        if "step_up" in state.faults and message.get("method") == "tools/call":
            granted = state.issued["code-1"]["scope"].split()
            if "write" not in granted:
                challenge = 'Bearer error="insufficient_scope", scope="write"'
                self._reply(403, b"", {"WWW-Authenticate": challenge})
                return
        if "busy_once" in state.faults and message.get("method") == "tools/call":
            state.faults.discard("busy_once")
            self._reply(503, b"", {"Retry-After": "0"})
            return
        if "lost_once" in state.faults and message.get("method") == "tools/call":
            state.faults.discard("lost_once")
            self._reply(404, b"<html>no such backend", {"Content-Type": "text/html"})
            return
        if "down" in state.faults:
            self._reply(503, b"out of order", {"Retry-After": "0"})
            return
        if "method" not in message:
            state.answer = message
            state.answered.set()
            self._reply(202, b"")
        elif "id" not in message:
            self._reply(202, b"")
        else:
            self._request(message)

    def _request(self, message: Dict[str, Any]) -> None:
        state, method, id = self.server_state, message["method"], message["id"]
        if not state.modern and method == "server/discover":
            self._reply(400, b"Bad Request: no session")
            return
        if method in ("server/discover", "initialize"):
            self._greet(id)
            return
        if not state.modern and self.headers.get("Mcp-Session-Id") != state.sessions[-1]:
            status = 400 if "no_session_is_400" in state.faults else 404
            self._reply(status, b"Bad Request: No valid session ID provided")
            return
        if method == "tools/list":
            state.listing.set()
            names = ("echo", "stream", "slow", "resumed", "asks", "broken", "picture", "endless")
            tools = [{"name": name, "inputSchema": _schema(name)} for name in names]
            self._json({"jsonrpc": "2.0", "id": id, "result": {"tools": tools}})
        elif method == "tools/call":
            self._call(id, message["params"])
        else:
            self._json({"jsonrpc": "2.0", "id": id, "result": {}})

    def _greet(self, id: Any) -> None:
        state, version = self.server_state, VERSIONS[self.server_state.modern]
        told: Dict[str, Any] = {"capabilities": {"tools": {}}, "serverInfo": {"name": "t"}}
        more = {}
        if state.modern:
            told["supportedVersions"] = [version]
        else:
            told["protocolVersion"] = version
            state.sessions.append(f"session-{len(state.sessions)}")
            more["Mcp-Session-Id"] = state.sessions[-1]
        self._json({"jsonrpc": "2.0", "id": id, "result": told}, more)

    def _call(self, id: Any, params: Dict[str, Any]) -> None:
        state, name = self.server_state, params["name"]
        if name == "echo":
            self._json({"jsonrpc": "2.0", "id": id, "result": _text(params["arguments"]["text"])})
        elif name == "picture":
            self._json({"jsonrpc": "2.0", "id": id, "result": PICTURE_RESULT})
        elif name == "endless":
            self._endless("event" in params["arguments"])
        elif name == "broken":
            self._reply(200, b"<html>not for you</html>", {"Content-Type": "text/html"})
        elif name == "stream":
            self._begin_stream()
            if "garbage" in state.faults:
                self.wfile.write(b"data: <html>\n\ndata: [1]\n\n: a comment\n\ndata: \xff\n\n")
            token = params["_meta"]["progressToken"]
            progress = {"progressToken": token, "progress": 1}
            self._event({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress})
            self._event({"jsonrpc": "2.0", "id": id, "result": _text("streamed")})
        elif name == "resumed":
            self._begin_stream()
            self.wfile.write(f"id: {id}\nretry: 10\ndata:\n\n".encode())
        elif name == "asks":
            self._begin_stream()
            form = {"message": "Who?", "requestedSchema": {"properties": {}}}
            self._event(
                {"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": form}
            )
            state.answered.wait(5)
            self._event({"jsonrpc": "2.0", "id": id, "result": _text(json.dumps(state.answer))})
        else:
            self._begin_stream()
            state.slow_begun.set()
            while not state.closing.wait(0.05):
                try:
                    self.wfile.write(b": still here\n\n")
                except OSError:
                    state.hung_up.set()
                    return

    def _endless(self, as_event: bool) -> None:
        kind = "text/event-stream" if as_event else "application/json"
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        self.wfile.write(b"data: " if as_event else b'"')
        while not self.server_state.closing.is_set():
            try:
                self.wfile.write(b"z" * 65536)
            except OSError:
                self.server_state.hung_up.set()
                return

    # Authorization.

    def _is_authorized(self) -> bool:
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        return scheme == "Bearer" and token in self.server_state.tokens

    def _authority(self) -> None:
        state, parts = self.server_state, urlsplit(self.path)
        if parts.path.startswith("/.well-known/oauth-protected-resource"):
            self._json({"resource": state.url, "authorization_servers": [state.origin]})
        elif parts.path == "/.well-known/oauth-authorization-server":
            self._json(
                {
                    "issuer": state.origin + "/" * ("slash" in state.faults),
                    "authorization_endpoint": f"{state.origin}/authorize",
                    "token_endpoint": f"{state.origin}/token",
                    "registration_endpoint": f"{state.origin}/register",
                    "code_challenge_methods_supported": ["S256"],
                    "token_endpoint_auth_methods_supported": ["none"],
                }
            )
        elif parts.path == "/authorize":
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            state.issued["code-1"] = query
            back = {"code": "code-1", "state": query["state"]}
            if "wrong_state" in state.faults:
                back["state"] = "another"
            self._reply(302, b"", {"Location": f"{query['redirect_uri']}?{urlencode(back)}"})
        else:
            self._reply(404, b"")

    def _token_or_client(self, body: bytes) -> None:
        state = self.server_state
        if self.path == "/register":
            self._json({**json.loads(body), "client_id": "client-1"})
            return
        form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        if form["grant_type"] == "authorization_code":
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
            good = state.issued[form["code"]]["code_challenge"] == challenge
        else:
            good = form["refresh_token"] in state.refresh_tokens
        if not good or form["resource"] != state.url:
            self._reply(400, b'{"error": "invalid_grant"}')
            return
        number = len(state.tokens) + 1
        state.tokens = {f"token-{number}"}
        state.refresh_tokens = {f"refresh-{number}"}
        self._json({"access_token": f"token-{number}", "refresh_token": f"refresh-{number}"})

    # Replies.

    def _note(self, message: Optional[Dict[str, Any]]) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        with self.server_state.lock:
            self.server_state.seen.append(Asked(self.command, self.path, headers, message))

    def _reply(self, status: int, body: bytes, headers: Optional[Dict[str, str]] = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _json(self, value: Any, headers: Optional[Dict[str, str]] = None) -> None:
        kind = {"Content-Type": "application/json"}
        self._reply(200, json.dumps(value).encode(), {**kind, **(headers or {})})

    def _begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def _event(self, message: Dict[str, Any]) -> None:
        self.wfile.write(f"event: message\ndata: {json.dumps(message)}\n\n".encode())
        self.wfile.flush()


def _text(text: str) -> Dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


def _schema(name: str) -> Dict[str, Any]:
    marked = {"type": "string", "x-mcp-header": "Text"} if name == "echo" else {"type": "string"}
    return {"type": "object", "properties": {"text": marked}}
