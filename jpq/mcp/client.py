"""Client: one MCP server, spoken to from ordinary, blocking code.

with Client(StdioTransport(["npx", "-y", "@modelcontextprotocol/server-everything"])) as server:
    print(server.call_tool("echo", {"message": "hello"}))
"""

from __future__ import annotations

import threading
from typing import Any, Callable, Iterable, List, Mapping, Optional

from jpq.mcp.connection import PLAIN, TIMEOUT_S, Call, Connection, Recall
from jpq.mcp.failure import McpError
from jpq.mcp.headers import header_parameters
from jpq.mcp.host import Host
from jpq.mcp.protocol import (
    HEADER_MISMATCH,
    TOOLS_CHANGED,
    URL_ELICITATION_REQUIRED,
    Json,
    table,
)
from jpq.mcp.transport import Log, Transport

__all__ = ["Call", "Client"]

# A server whose lists never end is stopped there.
_MAX_PAGES = 1000


class Client(Connection):
    """What servers offer: tools, resources, prompts. Any thread; raises McpError."""

    def __init__(
        self,
        transport: Transport,
        host: Optional[Host] = None,
        *,
        log: Log = lambda line: None,
        version: Optional[str] = None,
        recall: Optional[Recall] = None,
    ) -> None:
        super().__init__(transport, host, log=log, version=version, recall=recall)
        self.on_tools_changed: Callable[[], None] = lambda: None  # a transport's thread
        self._lock = threading.Lock()  # guards _tools and _changes
        self._tools: Optional[List[Json]] = None
        self._changes = 0

    def __enter__(self) -> Client:
        self.connect()
        return self

    def tools(self) -> List[Json]:
        """The tools as the server describes them; asked for again once they have changed.

        Over HTTP a tool whose ``x-mcp-header`` marks break the rules is left out.
        """
        with self._lock:
            known, changes = self._tools, self._changes
        if known is None:
            known = [tool for tool in self._pages("tools/list", "tools") if self._usable(tool)]
            with self._lock:
                if changes == self._changes:  # else it may be old already
                    self._tools = known
        return known

    def call_tool(
        self, name: str, arguments: Optional[Mapping[str, Any]] = None, call: Call = PLAIN
    ) -> Json:
        """Call a tool: ``{"content", "structuredContent", "isError"}``."""
        params = {"name": name, "arguments": dict(arguments or {})}
        try:
            return self.request("tools/call", params, call)
        except McpError as error:
            if error.code == HEADER_MISMATCH and self._transport.http:
                # Which arguments are wanted in headers has changed.
                self._forget_tools()
                self.tools()
            elif error.code != URL_ELICITATION_REQUIRED or not self._visited(error, call):
                raise
        return self.request("tools/call", params, call)

    def resources(self) -> List[Json]:
        """What can be read."""
        return self._pages("resources/list", "resources")

    def resource_templates(self) -> List[Json]:
        """Patterns of addresses that can be read."""
        return self._pages("resources/templates/list", "resourceTemplates")

    def read_resource(self, uri: str, call: Call = PLAIN) -> List[Json]:
        """The contents of a resource: ``{"uri", "mimeType", "text" or "blob"}`` each."""
        contents = self.request("resources/read", {"uri": uri}, call).get("contents")
        return _tables(contents)

    def prompts(self) -> List[Json]:
        """The prompts on offer."""
        return self._pages("prompts/list", "prompts")

    def get_prompt(
        self, name: str, arguments: Optional[Mapping[str, str]] = None, call: Call = PLAIN
    ) -> Json:
        """A prompt with its arguments filled in: ``{"description", "messages"}``."""
        params = {"name": name, "arguments": dict(arguments or {})}
        return self.request("prompts/get", params, call)

    def complete(self, ref: Json, name: str, value: str) -> List[str]:
        """What the argument ``name`` of a prompt or template may be, beginning with ``value``."""
        params = {"ref": ref, "argument": {"name": name, "value": value}}
        told = table(self.request("completion/complete", params).get("completion"))
        values = told.get("values")
        return [str(value) for value in values] if isinstance(values, list) else []

    def ping(self, timeout_s: float = TIMEOUT_S) -> None:
        """Ask whether it is there. The modern era has no ping; it is asked who it is instead."""
        method = "server/discover" if self.server.modern else "ping"
        self._round(method, {}, Call(timeout_s))

    def notified(self, method: str, params: Json) -> None:
        """The server says something. A transport's thread."""
        if method == TOOLS_CHANGED:
            self._forget_tools()
            self.on_tools_changed()
        super().notified(method, params)

    def _visited(self, error: McpError, call: Call) -> bool:
        """Whether the person has been to the pages that an older server wants visited."""
        wanted = _tables(table(error.data).get("elicitations"))
        host = call.host or self._host
        return bool(wanted) and all(
            host.answer("elicitation/create", {"mode": "url", **each}).get("action") == "accept"
            for each in wanted
        )

    def _pages(self, method: str, key: str) -> List[Json]:
        found: List[Json] = []
        cursor: Optional[str] = None
        seen = set()
        for _ in range(_MAX_PAGES):
            page = self.request(method, {} if cursor is None else {"cursor": cursor})
            found += _tables(page.get(key))
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or not cursor or cursor in seen:
                return found
            seen.add(cursor)
        raise self.odd(f"a list without end for {method}")

    def _usable(self, tool: Json) -> bool:
        name = tool.get("name")
        if not isinstance(name, str) or not name:
            self._log("a tool without a name was left out")
            return False
        if not self._transport.http or not self.server.modern:
            return True
        try:
            marks = header_parameters(table(tool.get("inputSchema")))
        except ValueError as error:
            self._log(f"the tool {name} was left out: {error}")
            return False
        self._transport.mirror(name, marks)
        return True

    def _forget_tools(self) -> None:
        with self._lock:
            self._tools = None
            self._changes += 1


def _tables(value: Any) -> List[Json]:
    """The objects in a list of a server's."""
    items: Iterable[Any] = value if isinstance(value, list) else ()
    return [item for item in items if isinstance(item, dict)]
