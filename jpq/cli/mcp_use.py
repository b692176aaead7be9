"""MCP servers outside a turn: one or all of them, running for as long as they are used."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator, List, Mapping, Sequence, Tuple

from jpq.cli.environment import Environment
from jpq.cli.query_mcp import surroundings
from jpq.config.load import Config
from jpq.config.lookup import nearest_of
from jpq.errors import UsageError
from jpq.mcp.content import resource_bytes
from jpq.mcp.servers import RunningServer
from jpq.mcp.settings import ServerSettings, configured_servers
from jpq.render.lines import one_line
from jpq.tools.definition import Tool
from jpq.tools.mcp import mcp_tools
from jpq.tools.mcp_servers import make_servers

SCHEME = "mcp://"


def read_resource(uri: str, env: Environment, config: Config) -> List[Tuple[str, bytes]]:
    """The contents of ``mcp://NAME/URI``: an address and bytes each. Raises JpqError."""
    rest = uri[len(SCHEME) :] if uri.startswith(SCHEME) else uri
    name, address = name_and_rest(rest, "mcp://NAME/URI")
    with one_server(name, env, config) as server:
        contents = server.client().read_resource(address)
    read = ((str(each.get("uri") or address), resource_bytes(each)) for each in contents)
    return [(name, data) for name, data in read if data is not None]


@contextlib.contextmanager
def running_servers(
    settings: Sequence[ServerSettings],
    env: Environment,
    *,
    elicits: bool = False,
    visitor: Any = None,
) -> Iterator[List[RunningServer]]:
    """The servers, each started or with its error."""

    def notice(text: str) -> None:
        env.notice(one_line(text))

    servers = make_servers(
        settings, surroundings(env), elicits=elicits, samples=False, notice=notice, visitor=visitor
    )
    try:
        servers.start()
        servers.ready()
        yield list(servers.all)
    finally:
        servers.close()


@contextlib.contextmanager
def one_server(
    name: str, env: Environment, config: Config, *, elicits: bool = False
) -> Iterator[RunningServer]:
    """The server called ``name``, started. Raises its error."""
    with running_servers([server_settings(name, config)], env, elicits=elicits) as (server,):
        if server.error is not None:
            raise server.error
        yield server


@contextlib.contextmanager
def server_tools(env: Environment, config: Config) -> Iterator[Mapping[str, Tool]]:
    """The tools of all servers; those that cannot be used are named to the person."""
    with running_servers(configured_servers(config), env) as servers:
        ready = []
        for server in servers:
            if server.error is None:
                ready.append(server)
            else:
                hint = f" {server.error.hint}" if server.error.hint else ""
                told = f"The MCP server {server.name} cannot be used: {server.error.message}{hint}"
                env.notice(one_line(told))
        yield mcp_tools(ready, config, env.cwd)


@contextlib.contextmanager
def server_tool(
    name: str, env: Environment, config: Config, *, elicits: bool = False
) -> Iterator[Tool]:
    """The tool ``SERVER/TOOL``, whose server runs. Raises UsageError, and its server's error."""
    server_name, _ = name_and_rest(name, "NAME/TOOL")
    with one_server(server_name, env, config, elicits=elicits) as server:
        tools = mcp_tools([server], config, env.cwd)
        if name not in tools:
            raise unknown("tool", name, list(tools))
        yield tools[name]


def server_settings(name: str, config: Config) -> ServerSettings:
    """The server called ``name``. Raises UsageError, ConfigError."""
    settings = {each.name: each for each in configured_servers(config)}
    if name not in settings:
        raise unknown("MCP server", name, list(settings))
    return settings[name]


def unknown(what: str, name: str, known: Sequence[str]) -> UsageError:
    """That there is no ``name``, and what there is."""
    close = nearest_of(name, known)
    there_are = f"There are: {', '.join(known)}." if known else "There is none."
    return UsageError(
        f"There is no {what} {name!r}.", hint=f"Did you mean {close}?" if close else there_are
    )


def name_and_rest(text: str, form: str) -> Tuple[str, str]:
    """``NAME/REST`` in two. Raises UsageError."""
    name, slash, rest = text.partition("/")
    if not slash or not name or not rest:
        raise UsageError(f"{text!r} is not {form}.", hint="See: jpq mcp ls")
    return name, rest
