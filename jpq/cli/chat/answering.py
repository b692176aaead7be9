"""Answering: who answers a chat and with what; Answerers open it, and the next one."""

from __future__ import annotations

import argparse
from typing import Any, Callable, List, Mapping, Optional

from jpq.cli.environment import Environment
from jpq.cli.log import LoggedProvider, RunLog
from jpq.cli.query_setup import NoModelError, begin_servers, get_ready, load_settings
from jpq.cli.query_tools import offered_toolset
from jpq.config.load import Config
from jpq.named import NamedTuple
from jpq.provider.base import ModelRef, Provider
from jpq.provider.registry import parse_model
from jpq.provider.tool_names import RenamedTools
from jpq.session import open_provider
from jpq.tools.definition import Tool
from jpq.tools.toolset import Toolset


class Answering(NamedTuple):
    """What the settings come to.

    ``chosen`` is what options and commands set for the conversation, ``sets`` what ``--set``
    says, ``own`` what the conversation had set itself. ``server_tools`` are the tools of MCP
    servers, offered or not.
    """

    chosen: Mapping[str, Any]
    sets: List[str]
    own: Mapping[str, Any]
    config: Config
    model: ModelRef
    provider: Provider
    toolset: Toolset
    server_tools: Mapping[str, Tool]


class Answerers:
    """Opens providers and tools under changing settings. Main thread; ``close`` at the end."""

    def __init__(self, args: argparse.Namespace, env: Environment, log: RunLog, asks: bool) -> None:
        self._args, self._env, self._log, self._asks = args, env, log, asks
        self._first_provider = ""
        self._servers: Any = None
        self.still_starting = False  # MCP servers whose tools are not offered yet

    def first(
        self, chosen: Mapping[str, Any], own: Mapping[str, Any], tell: Callable[[str], None]
    ) -> Answering:
        """What answers at the beginning. ``tell`` takes warnings. Raises JpqError."""
        config = load_settings(self._args, self._env, chosen, self._asks, own)
        for warning in config.warnings:
            tell(warning)
        if config["model"] is None:
            raise NoModelError()
        model = parse_model(config["model"], config.table("aliases"))
        self._first_provider = model.provider
        provider = self._open_provider(model, config)
        try:
            self._servers = begin_servers(self._args, self._env, config, self._asks)
            self.still_starting = self._servers is not None
            known = not self.still_starting
            toolset = offered_toolset(self._args, config, self._env.cwd, known=known)
            get_ready(self._args, self._env, provider, model)
        except BaseException:
            provider.close()
            self.close()
            raise
        return Answering(chosen, self._args.set, own, config, model, provider, toolset, {})

    def started(self, now: Answering) -> Answering:
        """``now`` with the tools of the MCP servers, which start while somebody types. Waits
        for them. Raises JpqError."""
        tools = self._server_tools(now.provider, now.model, now.config)
        toolset = offered_toolset(self._args, now.config, self._env.cwd, tools)
        self.still_starting = False
        return now._replace(toolset=toolset, server_tools=tools)

    def next(self, now: Answering, changes: Mapping[str, Any], own: Mapping[str, Any]) -> Answering:
        """What answers with ``changes``; ``now`` stays as it is. Raises JpqError."""
        chosen = {**now.chosen, **changes}
        # What was said last counts, also where --set said it first.
        sets = [each for each in now.sets if each.split("=")[0] not in changes]
        # The tools that options named were there when the chat began, and may be gone now.
        args = argparse.Namespace(**{**vars(self._args), "set": sets, "tool": []})
        args.tool_choice = None
        config = load_settings(args, self._env, chosen, self._asks, own)
        model = parse_model(config["model"], config.table("aliases"))
        is_new = model != now.model
        provider = self._open_provider(model, config) if is_new else now.provider
        try:
            if is_new:
                get_ready(args, self._env, provider, model)
            if self._servers is None:  # nothing that was offered needed any
                self._servers = begin_servers(args, self._env, config, self._asks)
            tools = self._server_tools(provider, model, config)
            toolset = offered_toolset(args, config, self._env.cwd, tools)
            self.still_starting = False
        except BaseException:
            if is_new:
                provider.close()
            raise
        return Answering(chosen, sets, own, config, model, provider, toolset, tools)

    def own_url(self, model: ModelRef) -> str:
        """``--base-url``, for models of the provider that the chat began with; else ""."""
        own: Optional[str] = self._args.base_url
        return (own or "") if model.provider == self._first_provider else ""

    def close(self) -> None:
        """End the MCP servers."""
        if self._servers is not None:
            self._servers.close()

    def _open_provider(self, model: ModelRef, config: Config) -> Provider:
        url = self.own_url(model) or config.option(f"providers.{model.provider}.base_url") or ""
        learn = self._log.secrets.add
        opened = open_provider(model, config, self._env.paths, self._env.environ, learn, url)
        # Tools can come later, and without any the names cost nothing.
        return LoggedProvider(RenamedTools(opened), self._log)

    def _server_tools(
        self, provider: Provider, model: ModelRef, config: Config
    ) -> Mapping[str, Tool]:
        if self._servers is None:
            return {}
        tools: Mapping[str, Tool] = self._servers.tools(provider, model, config)
        return tools
