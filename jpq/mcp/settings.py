"""ServerSettings: a server as it is configured, and a client made of that."""

from __future__ import annotations

import importlib
import os
from typing import Any, Callable, List, Mapping, Optional, Tuple

from jpq.config.load import Config
from jpq.config.nested import join_name
from jpq.errors import ConfigError
from jpq.mcp.client import Client
from jpq.mcp.host import Host
from jpq.mcp.memory import EraMemory
from jpq.mcp.process import server_environ
from jpq.mcp.transport import Log, Transport
from jpq.named import NamedTuple


class ServerSettings(NamedTuple):
    """One ``[mcp.NAME]``. Either ``command`` or ``url`` is set; times are seconds."""

    name: str
    command: Tuple[str, ...] = ()
    url: str = ""
    env: Mapping[str, str] = {}
    pass_env: Tuple[str, ...] = ()
    cwd: str = "."
    headers: Mapping[str, str] = {}
    ca_bundle: Optional[str] = None
    client_id: str = ""
    client_secret_env: str = ""
    startup_timeout_s: float = 20.0
    timeout_s: float = 60.0
    run: str = "ask"
    tools: Tuple[str, ...] = ("*",)

    @property
    def where(self) -> str:
        """The server for people."""
        return f"MCP server {self.name}"


class Surroundings(NamedTuple):
    """What servers run in: ``environ``, the folder ``cwd``, the file of tokens, and what is
    remembered of each."""

    environ: Mapping[str, str]
    cwd: str
    tokens_path: Optional[str]
    eras: EraMemory = EraMemory(None)


def configured_servers(config: Config) -> List[ServerSettings]:
    """The servers that are configured and not switched off. Raises ConfigError."""
    names = [name for name, value in config.table("mcp").items() if isinstance(value, dict)]
    settings = [_settings(name, config) for name in names if _value(name, "enabled", config)]
    return settings


def _settings(name: str, config: Config) -> ServerSettings:
    given = {
        field: _value(name, field, config) for field in ServerSettings._fields if field != "name"
    }
    settings = ServerSettings(name, **{k: v for k, v in given.items() if v is not None})
    if bool(settings.command) == bool(settings.url):
        path = join_name(("mcp", name))
        explained = config.explain(path)
        raise ConfigError(
            f"The MCP server {name!r} needs either a command or a url.",
            where=f"{path}, {explained[-1][0]}" if explained else path,
        )
    return settings


def _value(name: str, key: str, config: Config) -> Any:
    return config[join_name(("mcp", name, key))]


def open_client(
    settings: ServerSettings,
    around: Surroundings,
    host: Host,
    *,
    log: Log,
    notice: Callable[[str], None],
    visitor: Any = None,
) -> Client:
    """A client for a server, not connected yet. ``visitor`` takes the person through a
    login; None where a server that wants one is an error."""
    if settings.command:
        transport = _stdio(settings, around, log, notice)
    else:
        transport = _http(settings, around, log, visitor)
    recall = around.eras.of(settings.command or (settings.url,))
    return Client(transport, host, log=log, recall=recall)


def _stdio(
    settings: ServerSettings, around: Surroundings, log: Log, notice: Callable[[str], None]
) -> Transport:
    # A server behind a URL needs no processes, and one with a command no HTTP.
    stdio = importlib.import_module("jpq.mcp.stdio")
    cwd = os.path.normpath(os.path.join(around.cwd, os.path.expanduser(settings.cwd)))
    transport: Transport = stdio.StdioTransport(
        settings.command,
        environ=server_environ(around.environ, settings.env, settings.pass_env),
        cwd=cwd,
        where=settings.where,
        log=log,
        notice=notice,
    )
    return transport


def _http(settings: ServerSettings, around: Surroundings, log: Log, visitor: Any) -> Transport:
    http = importlib.import_module("jpq.mcp.http")
    oauth = importlib.import_module("jpq.mcp.oauth")
    tokens = importlib.import_module("jpq.mcp.oauth_tokens")
    fetch = importlib.import_module("jpq.mcp.http_fetch")
    authorizer = None
    if not any(name.lower() == "authorization" for name in settings.headers):
        authorizer = oauth.OAuth(
            settings.url,
            tokens.TokenStore(around.tokens_path),
            fetch.Fetcher(settings.ca_bundle, settings.where),
            visitor,
            identity=oauth.ClientIdentity(
                settings.client_id, around.environ.get(settings.client_secret_env, "")
            ),
            where=settings.where,
            log=log,
        )
    transport: Transport = http.HttpTransport(
        settings.url,
        headers=settings.headers,
        ca_bundle=settings.ca_bundle,
        authorizer=authorizer,
        where=settings.where,
        log=log,
    )
    return transport
