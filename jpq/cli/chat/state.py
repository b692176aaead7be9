"""Chat: everything that stays open from one message to the next."""

from __future__ import annotations

import argparse
import importlib
import os
from typing import Any, Callable, List, Mapping, Optional, Sequence

from jpq.cli.chat.answering import Answerers, Answering
from jpq.cli.environment import Environment
from jpq.cli.log import RunLog
from jpq.cli.query_conversation import create, going_on, saved_conversation
from jpq.cli.query_options import chosen_settings
from jpq.cli.query_setup import teller
from jpq.config.load import Config
from jpq.conversation.attachment import Attachment, as_metadata
from jpq.conversation.event import ChatRequest, ConfigDelta, Draft
from jpq.errors import UsageError
from jpq.provider.base import ModelRef
from jpq.store.journal import Journal
from jpq.store.library import Library

_STDIN = "-"


class Chat:
    """The conversation, who answers, and what waits for the next question. Main thread.

    ``asks``: a person can be asked (permissions, menus). ``journal`` is None until the first
    question of a new conversation, which is then called ``title`` unless that is None.
    ``attached`` goes with the next question; ``unsaid`` is what was asked last, where it was
    taken back with its turn.
    """

    def __init__(self, args: argparse.Namespace, env: Environment, log: RunLog, asks: bool) -> None:
        self.args, self.env, self.log, self.asks = args, env, log, asks
        self.library = Library(os.path.join(env.paths.data, "conversations"))
        self.title: Optional[str] = None
        self.unsaid: List[Draft] = []
        self.journal: Optional[Journal] = None
        self._answerers = Answerers(args, env, log, asks)
        tell = teller(args, env)  # before the first prompt
        saved = saved_conversation(args, env, self.library)
        own = {} if saved is None else saved.stream.config()
        self.answering = self._answerers.first(chosen_settings(args, env), own, tell)
        try:
            self.attached = self.read(args.attach, tell)
            if saved is not None:
                wait_s = self.config["conversation.lock_wait_s"]
                self.journal = going_on(args, self.library, saved, wait_s, tell)
        except BaseException:
            self.close()
            raise

    @property
    def config(self) -> Config:
        """The settings in effect."""
        return self.answering.config

    @property
    def model(self) -> ModelRef:
        """Who answers."""
        return self.answering.model

    @property
    def own_url(self) -> str:
        """Where the command line says that the model is; "" where it does not."""
        return self._answerers.own_url(self.model)

    @property
    def saved_id(self) -> Optional[str]:
        """The id of a saved conversation in which something was said."""
        journal = self.journal
        return journal.id if journal is not None and journal.stream.entries else None

    def question(self, text: str) -> List[Draft]:
        """What is added to the conversation to ask ``text``, with what is attached."""
        draft = Draft(ChatRequest(text), as_metadata(self.attached) if self.attached else {})
        self.unsaid = [draft]  # whatever goes wrong from here on
        drafts = self.asking([draft], text)
        self.attached = []
        return drafts

    def asking(self, drafts: Sequence[Draft], title: str = "") -> List[Draft]:
        """``drafts`` behind what has changed of the settings. Opens a new conversation, which is
        called ``title``."""
        chosen = self.answering.chosen
        if self.journal is None:
            unnamed = self.config["conversation.title"] == "off"
            title = self.title or ("" if unnamed else title)
            self.journal = create(self.args, self.env, self.library, self.model, chosen, title)
        own = self._own_settings
        changes = {key: value for key, value in chosen.items() if own.get(key) != value}
        return [*([Draft(ConfigDelta(changes))] if changes else []), *drafts]

    def read(self, sources: Sequence[str], tell: Callable[[str], None]) -> List[Attachment]:
        """What ``sources`` hold, to be attached. Raises JpqError."""
        if not sources:
            return []
        if _STDIN in sources:
            raise UsageError(
                "stdin has the messages of a chat, so it cannot be attached.",
                hint="Attach a file: -a FILE, or /attach FILE in the chat.",
            )
        module = importlib.import_module("jpq.cli.attach")  # few chats attach anything
        attached: List[Attachment] = module.gather_attachments(
            sources, self.env, self.config, self.model, tell, show=True
        )
        return attached

    def answering_with(self, changes: Mapping[str, Any]) -> Answering:
        """What would answer with other settings. Raises JpqError."""
        return self._answerers.next(self.answering, changes, self._own_settings)

    def use(self, answering: Answering) -> None:
        """Have that answer from now on."""
        if answering.provider is not self.answering.provider:
            self.answering.provider.close()
        self.answering = answering

    def settle(self) -> None:
        """Wait for what was begun and is needed by a question. Raises JpqError."""
        if self._answerers.still_starting:
            self.use(self._answerers.started(self.answering))

    def refresh(self) -> None:
        """Take into account what a turn has decided, such as "always this tool"."""
        if self._own_settings != self.answering.own:
            self.use(self.answering_with({}))

    def close(self) -> None:
        """Let go of everything."""
        if self.journal is not None:
            self.journal.close()
        self.answering.provider.close()
        self._answerers.close()

    @property
    def _own_settings(self) -> Mapping[str, Any]:
        return {} if self.journal is None else self.journal.stream.config()
