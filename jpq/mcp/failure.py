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


class McpRefused(McpError):
    """An HTTP server answered with ``status`` and no message of the protocol."""

    def __init__(self, status: int, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message, where=where, hint=hint)
        self.status = status


class McpSessionLost(McpError):
    """An HTTP server does not know ``session`` any more, as after a restart."""

    def __init__(self, session: str, where: str) -> None:
        super().__init__("The server has forgotten the session.", where=where)
        self.session = session


class McpUnauthorized(McpError):
    """The server requires a login, and there is none that it takes."""

    exit_code = ExitCode.DENIED
