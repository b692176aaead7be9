"""A synchronous client for MCP servers, over stdio and HTTP, for both eras of the protocol.

    from jpq.mcp import Client, StdioTransport

    with Client(StdioTransport(["mcp-server-time"])) as server:
        print(server.call_tool("get_current_time", {"timezone": "Europe/Paris"}))

Importing this package costs next to nothing: its names are loaded when they are first used.
"""

from __future__ import annotations

import importlib

# Not typing's own, whose import costs more than all else here; type checkers know the name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from jpq.mcp.client import Call, Client
    from jpq.mcp.failure import McpCancelled, McpClosed, McpError, McpTimedOut
    from jpq.mcp.host import Host
    from jpq.mcp.http import HttpTransport
    from jpq.mcp.oauth import OAuth
    from jpq.mcp.oauth_tokens import TokenStore
    from jpq.mcp.stdio import StdioTransport

__all__ = [
    "Call",
    "Client",
    "Host",
    "HttpTransport",
    "McpCancelled",
    "McpClosed",
    "McpError",
    "McpTimedOut",
    "OAuth",
    "StdioTransport",
    "TokenStore",
]

# What this package offers to other programs, and where it is.
_NAMES = {
    "Call": "jpq.mcp.client",
    "Client": "jpq.mcp.client",
    "Host": "jpq.mcp.host",
    "HttpTransport": "jpq.mcp.http",
    "McpCancelled": "jpq.mcp.failure",
    "McpClosed": "jpq.mcp.failure",
    "McpError": "jpq.mcp.failure",
    "McpTimedOut": "jpq.mcp.failure",
    "OAuth": "jpq.mcp.oauth",
    "StdioTransport": "jpq.mcp.stdio",
    "TokenStore": "jpq.mcp.oauth_tokens",
}


def __getattr__(name: str) -> object:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(_NAMES[name]), name)
    return value
