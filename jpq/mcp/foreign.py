"""Reads the ``mcpServers`` JSON of other clients: their servers as settings of ours."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, Tuple

from jpq.errors import BadInputError
from jpq.events import json_depth
from jpq.named import NamedTuple

# Where other clients put their servers, and what they call a server's address.
_TABLES = ("mcpServers", "servers", "context_servers")
_ADDRESSES = ("url", "serverUrl", "httpUrl")
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)")
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)


class Foreign(NamedTuple):
    """Servers by name, each a ``[mcp.NAME]`` table, and what could not be taken over."""

    servers: Mapping[str, Mapping[str, Any]]
    notes: Tuple[str, ...]


def read_foreign(text: str, where: str) -> Foreign:
    """The servers in another client's file. Raises BadInputError, which names ``where``."""
    try:
        value = json_depth.loads(_plain_json(text))
    except ValueError as error:
        raise BadInputError(f"This is not JSON: {error}.", where=where) from error
    found = next((value[key] for key in _TABLES if key in value), None) if _table(value) else None
    if not isinstance(found, dict):
        raise BadInputError(
            "There are no MCP servers in this file.",
            where=where,
            hint='They are looked for under "mcpServers" or "servers".',
        )
    servers: Dict[str, Mapping[str, Any]] = {}
    notes: List[str] = []
    for name, entry in found.items():
        settings = _settings(name, entry, notes) if isinstance(entry, dict) else {}
        if settings:
            servers[name] = settings
        else:
            notes.append(f"{name}: it has neither a command nor a url, and is left out.")
    return Foreign(servers, tuple(notes))


def _settings(name: str, entry: Mapping[str, Any], notes: List[str]) -> Dict[str, Any]:
    settings: Dict[str, Any] = {}
    url = next((entry[key] for key in _ADDRESSES if isinstance(entry.get(key), str)), None)
    command = entry.get("command")
    if isinstance(command, str) and command:
        settings["command"] = [command, *map(str, entry.get("args") or [])]
    elif isinstance(command, list) and command:
        settings["command"] = list(map(str, command))
    elif url is not None:
        settings["url"] = url
        if entry.get("type") == "sse":
            notes.append(f"{name}: it is said to speak the old HTTP+SSE, which jpq does not.")
    else:
        return {}
    if entry.get("disabled") is True or entry.get("enabled") is False:
        settings["enabled"] = False
    if isinstance(entry.get("cwd"), str):
        settings["cwd"] = entry["cwd"]
    env, passed = _variables(name, "env", entry, notes)
    if env:
        settings["env"] = env
    if passed:
        settings["pass_env"] = passed
    headers, _ = _variables(name, "headers", entry, notes)
    if headers and "url" in settings:
        settings["headers"] = headers
    return settings


def _variables(
    name: str, key: str, entry: Mapping[str, Any], notes: List[str]
) -> Tuple[Dict[str, str], List[str]]:
    """The table ``key``: its plain values, and the variables that it hands on as they are."""
    plain: Dict[str, str] = {}
    passed: List[str] = []
    given = entry.get(key)
    for variable, value in (given if isinstance(given, dict) else {}).items():
        text = str(value)
        reference = _VARIABLE.fullmatch(text)
        if key == "env" and reference and variable in reference.groups():
            passed.append(variable)
        elif _VARIABLE.search(text):
            notes.append(f"{name}: {key}.{variable} refers to variables, and is left out.")
        else:
            plain[variable] = text
    return plain, passed


def _plain_json(text: str) -> str:
    """``text`` without the comments and last commas that editors allow in it."""
    text = _COMMENT.sub(lambda found: found.group(1) or "", text.lstrip("\ufeff"))
    return _TRAILING_COMMA.sub(lambda found: found.group(1) or "", text)


def _table(value: Any) -> bool:
    return isinstance(value, dict)
