"""The menus of Ctrl+C: where each opens, its keys, and what a choice is called."""

from __future__ import annotations

from enum import Enum
from typing import Any, Callable, Dict, Sequence, Tuple

from jpq.named import NamedTuple


class Place(Enum):
    """Where the turn is when a menu opens."""

    STREAMING = "streaming"
    TOOLS = "tools"
    BACKOFF = "backoff"
    BETWEEN = "between"


class Choice(Enum):
    """What the person chose. The words are those of the ``interrupt`` settings."""

    CONTINUE = "continue"
    NOW = "now"
    REPLY = "reply"
    RESPOND = "respond"
    RESTART = "restart"
    STOP = "stop"
    ABORT = "abort"
    LEAVE = "leave"  # the menu was left, as something else comes first


class Running(NamedTuple):
    """A call that runs: its id, and how the person knows it."""

    id: str
    title: str


class Situation(NamedTuple):
    """What a menu is opened over.

    ``behind`` goes on with the phase's own work, and returns what the phase cannot deal with
    itself (a signal, a failed display, the end of the time), or None. ``running`` are the
    calls that could be restarted.
    """

    place: Place
    behind: Callable[[], Any]
    running: Callable[[], Sequence[Running]] = tuple


class Chosen(NamedTuple):
    """A choice. ``item`` is why the menu was left; ``calls`` are the ids of those to restart;
    ``fixed`` says that the settings chose, and not the person."""

    choice: Choice
    item: Any = None
    calls: Tuple[str, ...] = ()
    fixed: bool = False


class Item(NamedTuple):
    """One choice of a menu: its key, as it is written there, and what it does.

    ``chat_help`` is what it does where a prompt follows, if that is something else.
    """

    key: str
    words: str
    choice: Choice
    help: str
    chat_help: str = ""


_SAVED = "ends with 0; what arrived is saved, and jpq --retry goes on with it"
_SAVED_IN_CHAT = "back to the prompt; what arrived is saved, and /retry goes on with it"
_CONTINUE = Item("c", "[c]ontinue", Choice.CONTINUE, "goes on; nothing is lost meanwhile")
_WAIT = Item("c", "[c]ontinue waiting", Choice.CONTINUE, "goes on waiting")
_REPLY = Item(
    "r", "[r]eply", Choice.REPLY, "saves the answer as it is, and sends what you type next"
)
_STOP = Item("s", "[s]top and save", Choice.STOP, _SAVED, _SAVED_IN_CHAT)

MENUS: Dict[Place, Tuple[Item, ...]] = {
    Place.STREAMING: (
        _CONTINUE,
        _REPLY,
        _STOP,
        Item(
            "a",
            "[a]bort and discard",
            Choice.ABORT,
            "ends with 130; the conversation is as it was before the question",
            "back to the prompt; the conversation is as it was before the question",
        ),
    ),
    Place.TOOLS: (
        _WAIT,
        Item(
            "r",
            "[r]espond (cancel, tell the model)",
            Choice.RESPOND,
            "cancels the calls; the model is told how far they got, and what you type next",
        ),
        Item("t", "[t] restart", Choice.RESTART, "cancels one call or all, and runs them again"),
        _STOP,
    ),
    Place.BACKOFF: (
        _WAIT,
        Item("n", "[n]ow", Choice.NOW, "makes the next attempt now"),
        _STOP,
    ),
    Place.BETWEEN: (_CONTINUE, _REPLY, _STOP),
}


def line(place: Place) -> str:
    """The menu as it is shown."""
    return "  ".join([*(item.words for item in MENUS[place]), "[?]"])


def help_lines(place: Place, chat: bool = False) -> str:
    """What each key does, in a query or in a ``chat``."""
    items = MENUS[place]
    lines = [f"  {item.key}  {chat and item.chat_help or item.help}" for item in items]
    return "\n".join([*lines, "  Ctrl+C again saves and ends with 130."])
