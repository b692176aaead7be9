"""Prompts of MCP servers: as text, and as the question of ``--template mcp:SERVER/PROMPT``."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence

from jpq.cli.environment import Environment
from jpq.cli.mcp_use import name_and_rest, one_server, unknown
from jpq.cli.template_use import Gather
from jpq.config.load import Config
from jpq.config.sources import Source
from jpq.conversation.attachment import Attachment, as_metadata, from_metadata
from jpq.conversation.event import AssistantMessage, ChatRequest, Draft
from jpq.errors import UsageError
from jpq.mcp.client import Client
from jpq.mcp.content import message_texts
from jpq.mcp.protocol import Json, table, text_of
from jpq.named import NamedTuple
from jpq.tools.mcp_content import Parts

_NONE: Sequence[Attachment] = ()


class PromptMessage(NamedTuple):
    """One message of a prompt; ``role`` is ``user`` or ``assistant``."""

    role: str
    text: str
    attachments: Sequence[Attachment]


def open_prompt(name: str, given: Mapping[str, str], env: Environment) -> PromptTemplate:
    """The prompt ``SERVER/PROMPT`` in place of a template. Raises UsageError."""
    server, prompt = name_and_rest(name, "mcp:SERVER/PROMPT")
    return PromptTemplate(server, prompt, given, env)


def read_prompt(name: str, given: Mapping[str, str], env: Environment, config: Config) -> str:
    """The prompt ``SERVER/PROMPT`` as text; what the model says in it is marked so. Raises
    JpqError."""
    server_name, prompt = name_and_rest(name, "NAME/PROMPT")
    with one_server(server_name, env, config) as server:
        messages = prompt_messages(server.client(), server_name, prompt, given)
    texts = (
        each.text if each.role == "user" else f"[{each.role}]\n{each.text}" for each in messages
    )
    return "\n\n".join(texts)


class PromptTemplate:
    """A prompt with its arguments, for one query. Main thread.

    Its server is asked once the configuration is known, for which it is started on its own;
    it is told that nobody answers questions.
    """

    source: Optional[Source] = None  # it sets nothing

    def __init__(
        self, server: str, prompt: str, given: Mapping[str, str], env: Environment
    ) -> None:
        self._server = server
        self._prompt = prompt
        self._given = given
        self._env = env
        self._before: List[Draft] = []
        self._attachments: List[Attachment] = []

    @property
    def settings(self) -> Dict[str, Any]:
        """What it sets for the conversation: nothing."""
        return {}

    def question(self, words: Sequence[str], gather: Gather, config: Config) -> str:
        """What its last message asks, with the words and stdin after it; only these where that
        message is the model's. Raises UsageError, McpError."""
        with one_server(self._server, self._env, config) as server:
            messages = prompt_messages(server.client(), self._server, self._prompt, self._given)
        asked, attached = "", _NONE
        if messages and messages[-1].role == "user":
            *messages, (_, asked, attached) = messages
        shown: List[Attachment] = []  # belongs to the next message of the user
        for role, text, attachments in messages:
            shown += attachments
            if role == "user":
                self._before.append(Draft(ChatRequest(text), as_metadata(shown)))
                shown = []
            else:
                self._before.append(Draft(AssistantMessage(text)))
        self._attachments = [*shown, *attached]
        if not asked:
            return gather(words, False)
        own = " ".join(word for word in words if word != "-")
        first = f"{asked}\n\n{own}" if own.strip() else asked
        return gather([first, *(word for word in words if word == "-")], True)

    def questions(self, question: Draft) -> List[Draft]:
        """What the conversation gets: the messages before, and the ``question`` with what
        belongs to it."""
        attached = [*self._attachments, *from_metadata(question.metadata)]
        metadata = {**question.metadata, **as_metadata(attached)}
        return [*self._before, question._replace(metadata=metadata)]


def prompt_messages(
    client: Client, server: str, name: str, given: Mapping[str, str]
) -> List[PromptMessage]:
    """The messages of a prompt with its arguments filled in. Raises UsageError, McpError."""
    if client.server.has("prompts"):
        _check(client.prompts(), server, name, given)
    told = client.get_prompt(name, given)
    parts = Parts()
    messages: List[PromptMessage] = []
    taken = 0
    for role, text in message_texts(told.get("messages"), parts.text):
        messages.append(PromptMessage(role, text, parts.attachments[taken:]))
        taken = len(parts.attachments)
    return messages


def _check(offered: Sequence[Json], server: str, name: str, given: Mapping[str, str]) -> None:
    """Raise UsageError for a prompt or an argument that is not there, or one that is missing."""
    prompts = {text_of(each.get("name")): each for each in offered}
    if name not in prompts:
        raise unknown("prompt", f"{server}/{name}", [f"{server}/{each}" for each in prompts])
    described = prompts[name].get("arguments")
    arguments = list(map(table, described)) if isinstance(described, list) else []
    known = [text_of(each.get("name")) for each in arguments]
    for key in given:
        if key not in known:
            raise unknown("argument", key, known)
    missing = [
        text_of(each.get("name"))
        for each in arguments
        if each.get("required") is True and each.get("name") not in given
    ]
    if missing:
        raise UsageError(
            f"The prompt {server}/{name} needs a value for {', '.join(missing)}.",
            hint="Give it with " + " ".join(f"-p {each}=VALUE" for each in missing),
        )
