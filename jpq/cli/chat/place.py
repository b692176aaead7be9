"""Place: what a command of the chat works with, and what can come of it."""

from __future__ import annotations

from typing import Callable, ContextManager, List, Optional, Union

from jpq.cli.chat.state import Chat
from jpq.cli.chat.voice import Voice
from jpq.conversation.event import Draft
from jpq.errors import UsageError
from jpq.named import NamedTuple


class Place(NamedTuple):
    """``remember`` takes a text that the person may want to have again with the arrow keys.
    Within ``interruptible()`` Ctrl+C breaks the command off."""

    chat: Chat
    voice: Voice
    remember: Callable[[str], None]
    interruptible: Callable[[], ContextManager[None]]


class Ask(NamedTuple):
    """The model is to be asked: what is added to the conversation for that."""

    drafts: List[Draft]


class Leave:
    """The person leaves."""


Done = Optional[Union[Ask, Leave]]


def no_words(words: str, command: str) -> None:
    """Raise UsageError where a command that takes none was given words."""
    if words:
        raise UsageError(f"/{command} takes nothing after it.", hint=f"Type: /{command}")
