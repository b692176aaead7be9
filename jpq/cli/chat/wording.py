"""What a turn tells the person to do, in the words of a chat."""

from __future__ import annotations

from jpq.events.turn import Error, Notice, TurnEvent

# What a query says, and what it is called where there is a prompt. In this order.
_WORDS = (
    ("jpq --retry", "/retry"),
    ("jpq -c continue", "continue"),
)


def in_chat_words(event: TurnEvent) -> TurnEvent:
    """``event`` as a chat tells it."""
    if isinstance(event, Error):
        return event._replace(hint=_reworded(event.hint))
    if isinstance(event, Notice):
        return event._replace(text=_reworded(event.text))
    return event


def _reworded(text: str) -> str:
    for query, chat in _WORDS:
        text = text.replace(query, chat)
    return text
