"""HTTP's ways to fail, as errors of ours."""

from __future__ import annotations

from jpq.errors import ErrorKind, StreamError
from jpq.mcp.failure import McpClosed, McpError, McpRefused, McpUnreachable

_SHOWN = 300


def refusal(status: int, body: bytes, where: str) -> McpError:
    """From a reply that is no message of the protocol."""
    text = shown(body)
    hint = "Check the server's url." if status in (404, 405) else ""
    return McpRefused(status, f"HTTP {status}{': ' if text else ''}{text}", where=where, hint=hint)


def from_transport(error: StreamError, where: str) -> McpError:
    """From the transport's error, whose hints speak of a provider's settings."""
    hint = error.hint.replace("base_url", "the server's url")
    hint = hint.replace("the provider's ca_bundle", "the server's ca_bundle")
    if error.kind in (ErrorKind.UNREACHABLE, ErrorKind.TLS):
        return McpUnreachable(error.message, where=where, hint=hint)
    return McpClosed(error.message, where=where, hint=hint)


def shown(body: bytes) -> str:
    """The beginning of a body, on one line."""
    text = " ".join(body.decode("utf-8", "replace").split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
