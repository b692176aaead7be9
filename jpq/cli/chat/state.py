"""Chat: everything that stays open from one message to the next."""

from __future__ import annotations

import argparse
import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from jpq.cli.attach import STDIN, gather_attachments
from jpq.cli.environment import Environment
from jpq.cli.log import LoggedProvider, RunLog
from jpq.cli.query_conversation import create, going_on, saved_conversation
from jpq.cli.query_options import chosen_settings
from jpq.cli.query_setup import NoModelError, begin_servers, get_ready, load_settings
from jpq.cli.query_tools import offered_toolset
from jpq.config.load import Config
from jpq.conversation.attachment import Attachment, as_metadata
from jpq.conversation.event import ChatRequest, ConfigDelta, Draft
from jpq.errors import UsageError
from jpq.provider.base import ModelRef, Provider
from jpq.provider.registry import parse_model
from jpq.provider.tool_names import RenamedTools
from jpq.session import open_provider
from jpq.store.journal import Journal
from jpq.store.library import Library
from jpq.tools.definition import Tool
from jpq.tools.toolset import Toolset


class Chat:
    """Settings, model, provider, tools and conversation. Main thread.

    ``asks``: a person can be asked (permissions, menus). ``chosen`` is what options and
    commands set for the conversation; it is written down with the next question.
    ``server_tools`` are those of MCP servers, offered or not. ``journal`` is None until the
    first question of a new conversation. ``attached`` waits for the next question, and
    ``unsaid`` is one that was taken back with its turn.
    """

    def __init__(self, args: argparse.Namespace, env: Environment, log: RunLog, asks: bool) -> None:
        self.args, self.env, self.log, self.asks = args, env, log, asks
        self.library = Library(os.path.join(env.paths.data, "conversations"))
        self.chosen: Dict[str, Any] = chosen_settings(args, env)
        self.title: Optional[str] = None
        self.attached: List[Attachment] = []
        self.unsaid: Optional[Draft] = None
        self.journal: Optional[Journal] = None
        self.servers: Any = None
        self.server_tools: Mapping[str, Tool] = {}
        saved = saved_conversation(args, env, self.library)
        own = {} if saved is None else saved.stream.config()
        self.config = self._load(own)
        for warning in self.config.warnings:
            self.tell(warning)
        if self.config["model"] is None:
            raise NoModelError()
        self.model = parse_model(self.config["model"], self.config.table("aliases"))
        self._first_provider = self.model.provider
        self.provider = self._open_provider(self.model, self.config)
        self.toolset = Toolset({})
        try:
            self.servers = begin_servers(args, env, self.config, asks)
            self.toolset = self._make_toolset(self.config, self.provider, self.model)
            get_ready(args, env, self.provider, self.model)
            self.attach(args.attach, self.tell)
            if saved is not None:
                wait_s = self.config["conversation.lock_wait_s"]
                self.journal = going_on(args, self.library, saved, wait_s, self.tell)
        except BaseException:
            self.close()
            raise

    def tell(self, text: str) -> None:
        """A line for the person, while nothing else writes."""
        if not self.args.quiet:
            self.env.tell(f"jpq: {text}")

    @property
    def own_settings(self) -> Mapping[str, Any]:
        """What the conversation itself has set."""
        return {} if self.journal is None else self.journal.stream.config()

    @property
    def saved_id(self) -> Optional[str]:
        """The id of a saved conversation in which something was said."""
        journal = self.journal
        return journal.id if journal is not None and journal.stream.entries else None

    # -- what is asked ---------------------------------------------------------------------

    def question(self, text: str) -> List[Draft]:
        """What is added to the conversation to ask ``text``, with what is attached."""
        draft = Draft(ChatRequest(text), as_metadata(self.attached) if self.attached else {})
        self.attached = []
        return self.asking([draft], text)

    def attach(self, sources: Sequence[str], tell: Callable[[str], None]) -> None:
        """Attach ``sources`` to the next question. Raises JpqError, and then none is."""
        if STDIN in sources:
            raise UsageError(
                "stdin has the messages of a chat, so it cannot be attached.",
                hint="Attach a file: -a FILE, or /attach FILE in the chat.",
            )
        if sources:
            self.attached = [
                *self.attached,
                *gather_attachments(sources, self.env, self.config, self.model, tell, show=True),
            ]

    def asking(self, drafts: Sequence[Draft], title: str = "") -> List[Draft]:
        """``drafts`` behind what has changed of the settings. Opens a new conversation, which is
        called ``title``."""
        if self.journal is None:
            title = self.title or title
            self.journal = create(self.args, self.env, self.library, self.model, self.chosen, title)
        own = self.own_settings
        changes = {key: value for key, value in self.chosen.items() if own.get(key) != value}
        return [*([Draft(ConfigDelta(changes))] if changes else []), *drafts]

    # -- what answers ----------------------------------------------------------------------

    def choose(self, changes: Mapping[str, Any]) -> None:
        """Use other settings from now on. Raises JpqError, and then all is as it was."""
        chosen = {**self.chosen, **changes}
        # What was said last counts, also where --set said it first.
        self.args.set = [each for each in self.args.set if each.split("=")[0] not in changes]
        self._take(chosen, self._load(self.own_settings, chosen))

    def refresh(self) -> None:
        """Take what a turn has decided into account, such as "always this tool"."""
        if self.own_settings != self._seen:
            self._take(self.chosen, self._load(self.own_settings))

    def close(self) -> None:
        """Let go of everything."""
        if self.journal is not None:
            self.journal.close()
        self.provider.close()
        if self.servers is not None:
            self.servers.close()

    def _take(self, chosen: Dict[str, Any], config: Config) -> None:
        model = parse_model(config["model"], config.table("aliases"))
        if model == self.model:
            self.toolset = self._make_toolset(config, self.provider, model)
        else:
            provider = self._open_provider(model, config)
            try:
                get_ready(self.args, self.env, provider, model)
                self.toolset = self._make_toolset(config, provider, model)
            except BaseException:
                provider.close()
                raise
            self.provider.close()
            self.provider, self.model = provider, model
        self.chosen, self.config = chosen, config

    def _load(self, own: Mapping[str, Any], chosen: Optional[Mapping[str, Any]] = None) -> Config:
        self._seen = dict(own)
        return load_settings(
            self.args, self.env, self.chosen if chosen is None else chosen, self.asks, own
        )

    def _open_provider(self, model: ModelRef, config: Config) -> Provider:
        # --base-url is where the provider is that the chat began with.
        own = self.args.base_url if model.provider == self._first_provider else None
        url = own or config.option(f"providers.{model.provider}.base_url") or ""
        learn = self.log.secrets.add
        opened = open_provider(model, config, self.env.paths, self.env.environ, learn, url)
        # Tools can come later, and names that every API takes cost nothing without any.
        return LoggedProvider(RenamedTools(opened), self.log)

    def _make_toolset(self, config: Config, provider: Provider, model: ModelRef) -> Toolset:
        if self.servers is not None:
            self.server_tools = self.servers.tools(provider, model)
        return offered_toolset(self.args, config, self.env.cwd, self.server_tools)
