"""What every provider is made of: its row, the request, and one exchange.

A provider is a row of data (``ProviderRow``) and a wire API (one module). The API module
turns a ``ProviderRequest`` into an ``HttpRequest`` and the reply back into stream events;
``Exchange`` runs that once, on a reader thread.
"""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Optional, Protocol, Tuple

from jpq.conversation.thread import Thread
from jpq.events.parts import StreamEvent
from jpq.named import NamedTuple
from jpq.wire.message import Message


class ModelRef(NamedTuple):
    """A model as the person names it: ``PROVIDER/MODEL``."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}/{self.model}"


class ProviderRow(NamedTuple):
    """Everything that makes one provider differ from another, as data.

    ``api`` names the wire API. ``key_env`` is the variable with the key; None means that
    no key is needed, and ``other_key_envs`` are read where it is not set. ``quirks`` are the
    flags listed in docs/providers.md.
    """

    name: str
    api: str
    base_url: str = ""
    base_url_env: Optional[str] = None
    key_env: Optional[str] = None
    key_cmd: Tuple[str, ...] = ()
    headers: Mapping[str, str] = {}
    ca_bundle: Optional[str] = None
    quirks: Mapping[str, Any] = {}
    other_key_envs: Tuple[str, ...] = ()


class ToolDefinition(NamedTuple):
    """A tool as a model is told of it; ``parameters`` is a JSON Schema object.

    ``strict`` asks an API that can to hold the model to the schema.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    strict: bool = False


class ProviderRequest(NamedTuple):
    """What to ask: the thread, what may be called, and the model's options."""

    model: str
    thread: Thread
    tools: Tuple[ToolDefinition, ...] = ()
    tool_choice: Optional[str] = None
    options: Mapping[str, Any] = {}
    stream: bool = True


class Decoder(Protocol):
    """Turns the messages of one reply into stream events. No network, no clock.

    ``feed`` and ``close`` raise StreamError for an error the server sent inside its
    reply, after yielding what came before it. ``close`` is called at the end of the
    bytes and yields what was still open, then Finished(INTERRUPTED) when the provider
    never said how it ended. ``ending`` is True once the provider has said how the answer
    ends, though more may come (usage); ``done`` once its own end marker has come.
    """

    ending: bool
    done: bool

    def feed(self, message: Message) -> Iterator[StreamEvent]: ...

    def close(self) -> Iterator[StreamEvent]: ...


class Exchange(Protocol):
    """One request and its reply.

    ``ending`` is True once the provider has said how the answer ends although its stream
    may go on (a late usage report); readable from any thread.
    """

    @property
    def ending(self) -> bool: ...

    def events(self) -> Iterator[StreamEvent]:
        """Send the request and yield the reply; runs on a reader thread. Raises StreamError."""

    def abort(self) -> None:
        """Make ``events`` end within 50 ms. Any thread, any number of times."""


class Progress(Protocol):
    """Where ``Provider.prepare`` reports what takes long."""

    def notice(self, text: str) -> None:
        """One line for the person."""

    def update(self, label: str, done: int, total: Optional[int]) -> None:
        """``done`` of ``total`` bytes; total None when it is not known."""


class Provider(Protocol):
    """A configured provider."""

    def prepare(self, model: str, progress: Progress) -> None:
        """Whatever must be there before the first request. Main thread. Raises JpqError."""

    def exchange(self, request: ProviderRequest) -> Exchange:
        """A new exchange; sends nothing until its events are read."""

    def close(self) -> None:
        """Give back what it holds: connections, a server. Main thread, after its last exchange."""
