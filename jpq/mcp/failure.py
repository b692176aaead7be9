"""What can go wrong between us and an MCP server, as errors."""

from __future__ import annotations

from typing import Any, Optional

from jpq.errors import ExitCode, JpqError


class McpError(JpqError):
    """A request failed. ``code`` and ``data`` are the server's own, where it answered.

    ``where`` names the server.
    """

    word = "mcp"

    def __init__(
        self,
        message: str,
        *,
        code: Optional[int] = None,
        data: Any = None,
        where: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(message, where=where, hint=hint)
        self.code = code
        self.data = data


class McpClosed(McpError):
    """The connection is gone: the server ended, hung up, or was closed by us."""

    exit_code = ExitCode.UNREACHABLE


class McpUnreachable(McpError):
    """The server cannot be started or reached."""

    exit_code = ExitCode.UNREACHABLE


class McpTimedOut(McpError):
    """No answer came in time. The server was told that none is wanted any more."""

    exit_code = ExitCode.CUT


class McpCancelled(McpError):
    """The request was cancelled by us."""


class McpSessionLost(McpError):
    """An HTTP server does not know our session any more, as after a restart."""


class McpUnauthorized(McpError):
    """The server wants to know who asks, and we cannot say it."""

    exit_code = ExitCode.DENIED
