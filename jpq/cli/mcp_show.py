"""What one MCP server is and offers: ``jpq mcp check`` and ``jpq mcp complete``."""

from __future__ import annotations

import argparse
from typing import Any, Dict, Iterator, List, Sequence, Tuple

from jpq.cli.environment import Environment
from jpq.cli.json_text import to_json
from jpq.cli.mcp_use import SCHEME, name_and_rest, one_server
from jpq.config.load import Config
from jpq.errors import ExitCode
from jpq.mcp.client import Client
from jpq.mcp.protocol import Json, table, text_of
from jpq.mcp.servers import RunningServer
from jpq.render.lines import one_line


def row_of(server: RunningServer) -> Dict[str, Any]:
    """A server with its tools, or with why it cannot be used."""
    settings = server.settings
    return {
        "name": server.name,
        "address": settings.url or " ".join(settings.command),
        "status": "ready" if server.error is None else "not usable",
        "error": None if server.error is None else server.error.message,
        "tools": [
            {"name": tool["name"], "description": str(tool.get("description") or "")}
            for tool in server.tools
        ],
    }


def check(args: argparse.Namespace, env: Environment, config: Config) -> int:
    """Start a server, and show what it says of itself and all that it offers."""
    with one_server(args.name, env, config) as server:
        client = server.client()
        said = client.server
        row = {
            **row_of(server),
            "version": said.version,
            "server": dict(said.info),
            "capabilities": dict(said.capabilities),
            "instructions": said.instructions,
            **_more_of(client),
        }
    if args.format == "json":
        env.out(to_json(row))
        return int(ExitCode.OK)
    about = f"{said.info.get('title') or said.info.get('name')} {said.info.get('version', '')}"
    env.out(f"{server.name}: {one_line(about.strip())}, MCP {said.version}\n")
    env.out(f"offers: {', '.join(said.capabilities) or 'nothing'}\n")
    for called, about in _offered(row, server.name):
        env.out(f"{one_line(called)}  {one_line(about)}".rstrip() + "\n")
    return int(ExitCode.OK)


def complete(args: argparse.Namespace, env: Environment, config: Config) -> int:
    """Print what an argument of a prompt, or of a resource's address, may be."""
    of: str = args.of
    is_resource = of.startswith(SCHEME)
    form = "mcp://NAME/TEMPLATE" if is_resource else "NAME/PROMPT"
    name, rest = name_and_rest(of[len(SCHEME) :] if is_resource else of, form)
    ref = {"type": "ref/prompt", "name": rest}
    if is_resource:
        ref = {"type": "ref/resource", "uri": rest}
    with one_server(name, env, config) as server:
        values = server.client().complete(ref, args.argument, args.value)
    for value in values:
        env.out(one_line(value) + "\n")
    return int(ExitCode.OK)


def _more_of(client: Client) -> Dict[str, List[Json]]:
    """What it offers besides tools."""
    said = client.server
    resources = said.has("resources")
    return {
        "prompts": client.prompts() if said.has("prompts") else [],
        "resources": client.resources() if resources else [],
        "resource_templates": client.resource_templates() if resources else [],
    }


def _offered(row: Json, name: str) -> Iterator[Tuple[str, str]]:
    """Each tool, prompt and resource: how it is used, and what it is."""
    for tool in row["tools"]:
        yield f"{name}/{tool['name']}", _first(tool)
    for prompt in row["prompts"]:
        arguments = "".join(f" -p {key}=" for key in _argument_names(prompt))
        yield f"--template mcp:{name}/{prompt.get('name')}{arguments}", _first(prompt)
    for key, address in (("resources", "uri"), ("resource_templates", "uriTemplate")):
        for each in row[key]:
            yield f"-a mcp://{name}/{each.get(address)}", _first(each)


def _argument_names(prompt: Json) -> Sequence[str]:
    arguments = prompt.get("arguments")
    listed = arguments if isinstance(arguments, list) else []
    return [text_of(table(each).get("name")) for each in listed]


def _first(described: Json) -> str:
    """The first line of a description, else the title."""
    text = text_of(described.get("description")).strip() or text_of(described.get("title"))
    return text.split("\n")[0]
