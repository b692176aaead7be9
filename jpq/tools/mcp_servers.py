"""Makes the configured MCP servers of a run, and tells which of them it wants."""

from __future__ import annotations

import logging
from fnmatch import fnmatchcase
from typing import Any, Callable, Iterable, List, Optional, Sequence

from jpq.config.load import Config
from jpq.mcp.client import Client
from jpq.mcp.servers import RunningServer, Servers
from jpq.mcp.settings import ServerSettings, Surroundings, configured_servers, open_client
from jpq.tools.mcp_host import StandbyHost

_LOG = logging.getLogger("jpq.mcp")


def wanted_servers(config: Config) -> List[ServerSettings]:
    """The configured servers of which ``active_tools`` may want a tool. Raises ConfigError."""
    wanted: Optional[Sequence[str]] = config["active_tools"]
    servers = configured_servers(config)
    if wanted is None:
        return servers
    return [each for each in servers if any(_may_match(glob, each.name) for glob in wanted)]


def make_servers(
    settings: Iterable[ServerSettings],
    around: Surroundings,
    *,
    elicits: bool,
    samples: bool,
    notice: Callable[[str], None],
    visitor: Any = None,
) -> Servers:
    """The servers, not started yet. ``elicits`` and ``samples`` say what they may ask for;
    ``notice`` is told, on any thread, what the person should know."""

    def running(each: ServerSettings) -> RunningServer:
        def log(line: str) -> None:
            _LOG.info("%s: %s", each.name, line)

        def opened() -> Client:
            host = StandbyHost(around.cwd, elicits=elicits, samples=samples)
            return open_client(each, around, host, log=log, notice=notice, visitor=visitor)

        return RunningServer(each, opened, log)

    return Servers([running(each) for each in settings])


def _may_match(glob: str, server: str) -> bool:
    first, slash, _ = glob.partition("/")
    return fnmatchcase(server, first) or (not slash and first.startswith("*"))
