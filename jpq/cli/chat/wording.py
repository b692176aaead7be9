"""What a turn tells the person to do, in the words of a chat."""

from __future__ import annotations

import re

from jpq.events.turn import Error, Notice, TurnEvent

# What a query says, and what it is called where there is a prompt.
_WORDS = (
    ("jpq --retry", "/retry"),
    ("jpq -c continue", "continue"),
    ("jpq conversation compact [a-z0-9]+", "/compact"),
)


def as_in_chat(event: TurnEvent) -> TurnEvent:
    """``event`` as a chat tells it."""
    if isinstance(event, Error):
        return event._replace(hint=in_chat_words(event.hint))
    if isinstance(event, Notice):
        return event._replace(text=in_chat_words(event.text))
    return event


def in_chat_words(text: str) -> str:
    """``text`` with commands of the chat in the place of commands of the shell."""
    for query, chat in _WORDS:
        text = re.sub(query, chat, text)
    return text
