"""Servers: the configured ones, started side by side while something else is done."""

from __future__ import annotations

import threading
import time
from fnmatch import fnmatchcase
from typing import Any, Callable, List, Mapping, Optional, Sequence

from jpq.errors import JpqError
from jpq.mcp.client import Call, Client
from jpq.mcp.failure import McpClosed, McpError
from jpq.mcp.protocol import Json
from jpq.mcp.settings import ServerSettings
from jpq.mcp.transport import Log
from jpq.named import NamedTuple

# A server that keeps dying is started so often in all.
_MAX_STARTS = 3


class Problem(NamedTuple):
    """Why a server is not used."""

    name: str
    error: JpqError


class RunningServer:
    """One server. Its start is on a thread of its own; afterwards any thread may use it.

    ``open`` makes a client that is not connected yet.
    """

    def __init__(self, settings: ServerSettings, open: Callable[[], Client], log: Log) -> None:
        self.settings = settings
        self.tools: List[Json] = []
        self.error: Optional[JpqError] = None
        self._open = open
        self._log = log
        self._lock = threading.Lock()  # held while the server is started (again), and closed
        self._client: Optional[Client] = None
        self._starts = 0
        self._closed = False
        self._ready = threading.Event()
        self._list_lock = threading.Lock()  # guards what follows
        self._changed = False  # its tools have, and were not asked for since
        self._lister: Optional[threading.Thread] = None  # asks for them, one at a time
        self._thread = threading.Thread(
            target=self._start, name=f"jpq-mcp-start-{settings.name}", daemon=True
        )
        self._deadline = 0.0

    @property
    def name(self) -> str:
        """Its name in the configuration."""
        return self.settings.name

    def start(self) -> None:
        """Begin to start it."""
        self._deadline = time.monotonic() + self.settings.startup_timeout_s
        self._thread.start()

    def wait(self) -> None:
        """Wait until it is ready, has failed, or has had its time."""
        if not self._ready.wait(max(0.0, self._deadline - time.monotonic())):
            seconds = self.settings.startup_timeout_s
            self.error = McpError(
                f"It did not start within {seconds:g} seconds.",
                where=self.settings.where,
                hint=f"Give it longer: mcp.{self.name}.startup_timeout_s",
            )

    def tools_now(self, wait_s: float) -> List[Json]:
        """Its tools; where they have just changed the new ones, if they come in time."""
        lister = self._lister
        if lister is not None:
            lister.join(wait_s)
        return self.tools

    def call_tool(self, name: str, arguments: Mapping[str, Any], call: Call) -> Json:
        """Call a tool, on a new process or connection if the old one is gone. Raises McpError."""
        return self.client().call_tool(name, arguments, call)

    def client(self) -> Client:
        """A client that is connected. Raises McpError."""
        with self._lock:
            client = self._client
            if client is not None and not client.closed:
                return client
            if self._closed:
                raise McpClosed("The server was closed.", where=self.settings.where)
            if self._starts >= _MAX_STARTS:
                raise McpClosed(
                    f"The server ended {self._starts} times and is not started again.",
                    where=self.settings.where,
                )
            if client is not None:
                self._log(f"{self.name}: gone, started again")
                client.close()
            return self._connected(self.settings.startup_timeout_s)

    def close(self) -> None:
        """End it, also while it starts."""
        self._closed = True
        client = self._client
        if client is not None:
            client.close()
        for thread in (self._thread, self._lister):
            if thread is not None and thread.is_alive():
                thread.join()

    def _start(self) -> None:
        """A thread's whole job."""
        try:
            with self._lock:
                client = self._connected(self.settings.startup_timeout_s)
            self.tools = self._wanted(client.tools())
        except JpqError as error:
            self.error = error
        except Exception as error:  # a thread's top: one server never breaks a run
            self.error = McpError(f"{type(error).__name__}: {error}", where=self.settings.where)
        self._ready.set()

    def _connected(self, timeout_s: float) -> Client:
        self._starts += 1
        client = self._client = self._open()
        client.on_tools_changed = self._list_again
        if self._closed:
            raise McpClosed("The server was closed.", where=self.settings.where)
        client.connect(timeout_s)
        return client

    def _list_again(self) -> None:
        """Its tools have changed. A transport's thread, which must not wait for the list."""
        with self._list_lock:
            self._changed = True
            if self._lister is None and not self._closed:
                self._lister = threading.Thread(target=self._list, name="jpq-mcp-list", daemon=True)
                self._lister.start()

    def _list(self) -> None:
        """A thread's whole job: ask until nothing changes any more."""
        while True:
            with self._list_lock:
                if self._closed or not self._changed:
                    self._lister = None
                    return
                self._changed = False
            client = self._client
            try:
                if client is not None:
                    self.tools = self._wanted(client.tools())
            except Exception as error:  # a thread's top: one server never breaks a run
                told = error.message if isinstance(error, JpqError) else repr(error)
                self._log(f"{self.name}: its tools have changed, and are not told: {told}")

    def _wanted(self, tools: List[Json]) -> List[Json]:
        """Those of ``tools`` that the configuration wants."""
        globs = self.settings.tools
        return [tool for tool in tools if any(fnmatchcase(tool["name"], g) for g in globs)]


class Servers:
    """All servers of a run. Main thread, but for what ``RunningServer`` allows."""

    def __init__(self, servers: Sequence[RunningServer]) -> None:
        self.all = tuple(servers)

    def start(self) -> None:
        """Begin to start all of them."""
        for server in self.all:
            server.start()

    def ready(self) -> List[RunningServer]:
        """Those that can be used, once each is ready, has failed, or has had its time."""
        for server in self.all:
            server.wait()
        return [server for server in self.all if server.error is None]

    def problems(self) -> List[Problem]:
        """Why the others cannot be used."""
        return [Problem(each.name, each.error) for each in self.all if each.error is not None]

    def close(self) -> None:
        """End all of them, side by side."""
        threads = [
            threading.Thread(target=server.close, name="jpq-mcp-close", daemon=True)
            for server in self.all
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
