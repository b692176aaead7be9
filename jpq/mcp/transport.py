"""Transport and Receiver: the two ends of a connection to one server."""

from __future__ import annotations

import abc
from typing import Callable, Optional, Protocol, Sequence

from jpq.mcp.headers import Mark
from jpq.mcp.protocol import Id, Json

# Takes a line for the log. Any thread.
Log = Callable[[str], None]


class Receiver(Protocol):
    """What a transport hands on. Any thread; nothing here blocks or raises."""

    def receive(self, message: Json, exchange: Optional[Id] = None) -> None:
        """A message came; on HTTP, as part of the ``exchange`` with this id."""

    def failed(self, id: Id, error: Exception) -> None:
        """The exchange ``id`` will have no answer."""

    def lost(self, error: Exception) -> None:
        """The whole connection is gone."""


class Transport(abc.ABC):
    """A way to one server. Any thread, but those that start and close it, which one thread calls.

    ``where`` names the server for people. ``http`` says whether the HTTP rules for
    detecting an era and for tools' headers apply.
    """

    where: str
    http = False

    @abc.abstractmethod
    def start(self, receiver: Receiver) -> None:
        """Connect, as far as there is something to connect. Raises McpError."""

    @abc.abstractmethod
    def start_again(self, receiver: Receiver) -> bool:
        """Connect once more after the connection was lost; False where that is no help.
        Raises McpError."""

    @abc.abstractmethod
    def exchange(self, message: Json) -> None:
        """Send a request without waiting for anything; what comes of it is received."""

    @abc.abstractmethod
    def send(self, message: Json) -> None:
        """Send a notification or an answer. May block for a moment. Raises McpError."""

    @abc.abstractmethod
    def abandon(self, message: Json, notice: Json) -> None:
        """Nobody waits for the request ``message`` any more; ``notice`` says so to servers
        that are told. Never blocks."""

    @abc.abstractmethod
    def agreed(self, version: str, modern: bool) -> None:
        """Which revision is spoken from now on."""

    @abc.abstractmethod
    def mirror(self, tool: str, marks: Sequence[Mark]) -> None:
        """Which arguments of a tool are to be repeated in headers."""

    @abc.abstractmethod
    def ready(self) -> None:
        """The handshake of an older server is done."""

    @abc.abstractmethod
    def forget(self, session: str) -> bool:
        """The server has ended ``session``; False if that is settled already."""

    @abc.abstractmethod
    def close(self) -> None:
        """Disconnect, and wait until that is done."""
