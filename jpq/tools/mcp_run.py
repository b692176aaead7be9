"""The MCP servers of a run: started while its question is composed, asked for their tools after.

Loaded where servers are configured.
"""

from __future__ import annotations

import os
from typing import Any, Callable, List, Mapping, Optional, Set

from jpq.config.load import Config
from jpq.config.paths import Paths
from jpq.mcp.memory import EraMemory
from jpq.mcp.servers import Servers
from jpq.mcp.settings import ServerSettings, Surroundings
from jpq.provider.base import ModelRef, Provider
from jpq.tools.changing_tools import ChangingTools
from jpq.tools.definition import Tool
from jpq.tools.mcp import mcp_tools
from jpq.tools.mcp_sampling import sampler_of
from jpq.tools.mcp_servers import make_servers, wanted_servers

# How long a list that a server has just said to be another is waited for.
_LIST_S = 2.0

TOKENS = "mcp-tokens.json"
ERAS = "mcp-eras.json"


def surroundings(paths: Paths, environ: Mapping[str, str], cwd: str) -> Surroundings:
    """What servers run in."""
    eras = EraMemory(os.path.join(paths.state, ERAS))
    return Surroundings(environ, cwd, os.path.join(paths.data, TOKENS), eras)


class RunServers:
    """The servers of one run. Main thread; ``close`` whatever happens.

    ``asks``: they may ask the person and the model. ``tell`` is given lines for the person.
    """

    def __init__(
        self,
        settings: List[ServerSettings],
        around: Surroundings,
        config: Config,
        *,
        asks: bool,
        tell: Callable[[str], None],
    ) -> None:
        self._cwd = around.cwd
        self._config = config
        self._asks = asks
        self._tell = tell
        self._told: Set[str] = set()
        self._servers: Servers = make_servers(
            settings, around, elicits=asks, samples=asks, notice=tell
        )
        self._servers.start()

    def tools(
        self, provider: Provider, model: ModelRef, config: Optional[Config] = None
    ) -> ChangingTools:
        """The tools of the servers that have started by now; the others are named, once.
        ``config``: as it is now, where it has changed."""
        options: Mapping[str, Any] = self._config.table("options")
        idle_s = self._config["request.idle_timeout_s"]
        sampler = sampler_of(provider, model, options, idle_s) if self._asks else None
        ready = self._servers.ready()
        for problem in self._servers.problems():
            error = problem.error
            hint = f" {error.hint}" if error.hint else ""
            told = f"The MCP server {problem.name} is not used: {error.message}{hint}"
            if told not in self._told:
                self._told.add(told)
                self._tell(told)
        settings = config or self._config
        known = [server.tools for server in ready]

        def look() -> Optional[Mapping[str, Tool]]:
            nonlocal known
            before, known = known, [server.tools_now(_LIST_S) for server in ready]
            if all(now is then for now, then in zip(known, before)):
                return None
            return mcp_tools(ready, settings, self._cwd, sampler)

        return ChangingTools(mcp_tools(ready, settings, self._cwd, sampler), look)

    def close(self) -> None:
        """End the servers."""
        self._servers.close()


def begin_servers(
    around: Surroundings, config: Config, *, asks: bool, tell: Callable[[str], None]
) -> Optional[RunServers]:
    """Start what the run may need; None for nothing. Raises ConfigError."""
    settings = wanted_servers(config)
    return RunServers(settings, around, config, asks=asks, tell=tell) if settings else None
