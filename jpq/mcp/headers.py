"""Headers that repeat what is in a request, for what stands between us and a server.

From the page on Streamable HTTP of revision 2026-07-28.
"""

from __future__ import annotations

import base64
import re
from typing import Any, Dict, List, Mapping, Sequence, Set, Tuple

from jpq.mcp.protocol import Json, table

# The path of an argument, and the name that its header has after ``Mcp-Param-``.
Mark = Tuple[Tuple[str, ...], str]

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_PLAIN = re.compile(r"[\x20-\x7e]*")
_MARK = "x-mcp-header"
# Where a schema holds values that are not schemas, and may look like them.
_VALUES = ("default", "const", "enum", "examples")
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def request_headers(message: Json, marks: Mapping[str, Sequence[Mark]]) -> Dict[str, str]:
    """The headers that go with a modern request; ``marks`` are those of each tool."""
    method, params = str(message.get("method")), table(message.get("params"))
    headers = {"Mcp-Method": method}
    name = params.get(_NAMED_BY.get(method, ""))
    if isinstance(name, str):
        headers["Mcp-Name"] = header_value(name)
        if method == "tools/call":
            arguments = table(params.get("arguments"))
            for path, header in marks.get(name, ()):
                value = _at(arguments, path)
                if isinstance(value, (str, int)):
                    headers[f"Mcp-Param-{header}"] = header_value(value)
    return headers


def header_value(value: Any) -> str:
    """``value`` as a header carries it, in Base64 where it could not be carried plainly."""
    text = ("true" if value else "false") if isinstance(value, bool) else str(value)
    looks_packed = text.startswith("=?base64?") and text.endswith("?=")
    if _PLAIN.fullmatch(text) and text == text.strip() and not looks_packed:
        return text
    packed = base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
    return f"=?base64?{packed}?="


def header_parameters(schema: Json) -> List[Mark]:
    """The arguments that a tool's schema wants repeated. Raises ValueError for a wrong mark."""
    found: List[Mark] = []
    names: Set[str] = set()
    # A schema, the path to it, and whether only properties lie on the way.
    waiting: List[Tuple[Any, Tuple[str, ...], bool]] = [(schema, (), True)]
    while waiting:
        node, path, reachable = waiting.pop(0)
        if isinstance(node, list):
            waiting += [(inner, path, False) for inner in node]
            continue
        if not isinstance(node, dict):
            continue
        if _MARK in node:
            name = _checked(node, reachable and bool(path))
            if name.lower() in names:
                raise ValueError(f"two arguments want the header {name}")
            names.add(name.lower())
            found.append((path, name))
        for key, inner in node.items():
            if key == "properties" and isinstance(inner, dict):
                waiting += [(each, (*path, name), reachable) for name, each in inner.items()]
            elif key not in _VALUES:
                waiting.append((inner, path, False))
    return found


def _checked(node: Json, reachable: bool) -> str:
    name = node[_MARK]
    if not isinstance(name, str) or not _TOKEN.fullmatch(name):
        raise ValueError(f"{name!r} cannot be part of a header's name")
    if not reachable:
        raise ValueError(f"the header {name} is not for an argument of its own")
    if node.get("type") not in ("string", "integer", "boolean"):
        raise ValueError(f"the header {name} is for the type {node.get('type')!r}")
    return name


def _at(arguments: Json, path: Sequence[str]) -> Any:
    value: Any = arguments
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value
