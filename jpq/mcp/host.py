"""Host: what a server may ask of us."""

from __future__ import annotations

import os
from typing import Sequence, Tuple
from urllib.parse import quote

from jpq.mcp.failure import McpError
from jpq.mcp.protocol import METHOD_NOT_FOUND, Json, table


class Host:
    """Answers a server's requests; this one knows folders and nobody to ask.

    Each request is answered on a thread of its own. A subclass that sets ``elicits`` or
    ``samples`` overrides the method, which returns the result or raises McpError.
    """

    elicits = False
    samples = False

    def __init__(self, roots: Sequence[str] = ()) -> None:
        self._roots: Tuple[str, ...] = tuple(roots)

    def capabilities(self) -> Json:
        """What servers are told that they may ask."""
        offered: Json = {}
        if self._roots:
            offered["roots"] = {}
        if self.elicits:
            offered["elicitation"] = {"form": {"applyDefaults": True}, "url": {}}
        if self.samples:
            offered["sampling"] = {}
        return offered

    def elicit(self, params: Json) -> Json:
        """Ask the person: ``{"action", "content"}``."""
        raise McpError("Nobody can be asked.", code=METHOD_NOT_FOUND)

    def sample(self, params: Json) -> Json:
        """Ask a model: ``{"role", "content", "model", "stopReason"}``."""
        raise McpError("There is no model to ask.", code=METHOD_NOT_FOUND)

    def answer(self, method: str, params: Json) -> Json:
        """The result of a server's request. Raises McpError for what is not offered."""
        if method == "ping":
            return {}
        if method == "roots/list" and self._roots:
            return {"roots": [_root(path) for path in self._roots]}
        if method == "elicitation/create" and self.elicits:
            reply = self.elicit(params)
            if reply.get("action") == "accept" and params.get("mode", "form") == "form":
                reply = {**reply, "content": _with_defaults(params, table(reply.get("content")))}
            return reply
        if method == "sampling/createMessage" and self.samples:
            return self.sample(params)
        raise McpError(f"Method not found: {method}", code=METHOD_NOT_FOUND)


def _root(path: str) -> Json:
    address = os.path.abspath(path).replace(os.sep, "/")
    name = os.path.basename(address) or address
    return {"uri": "file://" + quote(address if address[0] == "/" else "/" + address), "name": name}


def _with_defaults(params: Json, content: Json) -> Json:
    """``content`` with the schema's default for each field that was left out."""
    fields = table(table(params.get("requestedSchema")).get("properties"))
    defaults = {
        name: field["default"]
        for name, field in fields.items()
        if isinstance(field, dict) and "default" in field
    }
    return {**defaults, **content}
