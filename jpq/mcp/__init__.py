"""A synchronous client for MCP servers, over stdio and HTTP, for both eras of the protocol.

    from jpq.mcp import Client, StdioTransport

    with Client(StdioTransport(["mcp-server-time"])) as server:
        print(server.call_tool("get_current_time", {"timezone": "Europe/Paris"}))

Importing this package costs next to nothing: its names are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import Any

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


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_NAMES[name]), name)
