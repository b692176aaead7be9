"""What a reader thread does, and what it posts."""

from __future__ import annotations

from typing import Any, Callable, Optional

from jpq.events.parts import StreamEvent
from jpq.named import NamedTuple
from jpq.provider.base import Exchange


class Arrived(NamedTuple):
    """A stream event of attempt ``attempt``."""

    attempt: int
    event: StreamEvent


class ReaderEnded(NamedTuple):
    """The reader of attempt ``attempt`` is done; ``error`` is what it failed with."""

    attempt: int
    error: Optional[BaseException]


def read(exchange: Exchange, attempt: int, post: Callable[[Any], None]) -> None:
    """The body of a reader thread: everything, errors too, leaves through ``post``."""
    error: Optional[BaseException] = None
    try:
        for event in exchange.events():
            post(Arrived(attempt, event))
    except Exception as caught:  # the top of a thread: raised again on the main thread
        error = caught
    post(ReaderEnded(attempt, error))
