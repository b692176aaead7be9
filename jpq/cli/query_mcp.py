"""The MCP servers of a query. Loaded where servers are configured."""

from __future__ import annotations

from typing import Callable, Optional

from jpq.cli.environment import Environment
from jpq.config.load import Config
from jpq.mcp.settings import Surroundings
from jpq.tools import mcp_run
from jpq.tools.mcp_run import RunServers


def surroundings(env: Environment) -> Surroundings:
    """What servers run in."""
    return mcp_run.surroundings(env.paths, env.environ, env.cwd)


def begin_servers(
    env: Environment, config: Config, *, asks: bool, tell: Callable[[str], None]
) -> Optional[RunServers]:
    """Start what the query may need; None for nothing. Raises ConfigError."""
    return mcp_run.begin_servers(surroundings(env), config, asks=asks, tell=tell)
