"""BrowserVisitor: takes the person to a login page in their browser, and back to us.

The browser is sent back to a port of this machine. Where it runs on another machine, that
fails there, and the address it was sent to is pasted instead (RFC 8252, section 7.3).
"""

from __future__ import annotations

import queue
import socket
import threading
import webbrowser
from typing import Callable, Optional

from jpq.mcp.failure import McpUnauthorized

_PATH = "/callback"
_POLL_S = 0.2
_MAX_REQUEST = 65536
_PAGE = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\n\r\n"
    b"<!doctype html><title>jpq</title><p>jpq has what it needs. You can close this page.</p>"
)
_OTHER = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class BrowserVisitor:
    """Listens on a free port of this machine. One thread; ``close`` when the login is over.

    ``tell`` shows a line to the person. ``paste`` asks them for the address meanwhile: it
    calls what it is given several times a second, returns what was pasted, or None, and
    raises what that raises. ``browse`` opens a page.
    """

    def __init__(
        self,
        tell: Callable[[str], None],
        paste: Optional[Callable[[Callable[[], None]], Optional[str]]],
        *,
        timeout_s: float = 300.0,
        browse: Callable[[str], object] = webbrowser.open,
    ) -> None:
        self._tell = tell
        self._paste = paste
        self._timeout_s = timeout_s
        self._browse = browse
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(_POLL_S)
        self._arrived: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._closing = threading.Event()
        port = self._listener.getsockname()[1]
        self.redirect_uri = f"http://127.0.0.1:{port}{_PATH}"
        self._thread = threading.Thread(target=self._listen, name="jpq-mcp-login", daemon=True)
        self._thread.start()

    def visit(self, url: str) -> str:
        """Open the page and wait until the person comes back. Raises McpUnauthorized."""
        self._tell(f"Log in at: {url}")
        self._browse(url)
        if self._paste is not None:
            self._tell("If your browser is on another machine, paste the address it ends at here.")
            try:
                pasted = self._paste(self._look)
            except _Arrived as arrived:
                return arrived.url
            if pasted and pasted.strip().startswith(self.redirect_uri):
                return pasted.strip()
            if pasted and pasted.strip():
                raise McpUnauthorized(
                    "That is not the address of the login's end.",
                    hint=f"It begins with {self.redirect_uri}",
                )
        try:
            return self._arrived.get(timeout=self._timeout_s)
        except queue.Empty:
            raise McpUnauthorized("Nobody logged in.") from None

    def close(self) -> None:
        """Listen no more."""
        self._closing.set()
        self._thread.join()
        self._listener.close()

    def _look(self) -> None:
        try:
            url = self._arrived.get_nowait()
        except queue.Empty:
            return
        raise _Arrived(url)

    def _listen(self) -> None:
        """A thread's whole job."""
        while not self._closing.is_set():
            try:
                connection, _ = self._listener.accept()
            except socket.timeout:
                continue
            with connection:
                connection.settimeout(_POLL_S * 5)
                try:
                    self._serve(connection)
                except OSError:
                    pass  # a browser that opens connections ahead, and never uses them

    def _serve(self, connection: socket.socket) -> None:
        data = b""
        while b"\r\n\r\n" not in data and len(data) < _MAX_REQUEST:
            piece = connection.recv(4096)
            if not piece:
                return
            data += piece
        words = data.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        target = words[1] if len(words) == 3 and words[0] == "GET" else ""
        path, _, query = target.partition("?")
        if path != _PATH or not query:
            connection.sendall(_OTHER)
            return
        connection.sendall(_PAGE)
        self._arrived.put(f"{self.redirect_uri}?{query}")


class _Arrived(Exception):
    """The browser came back while we waited for something to be pasted."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url
