"""What a reader thread does, and what it posts."""

from __future__ import annotations

from typing import Any, Callable, Optional

from jpq.errors import ErrorKind, StreamError
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


def stalled(idle_s: float) -> StreamError:
    """The failure of a stream that is open and says nothing."""
    return StreamError(
        ErrorKind.STALLED,
        f"The server sent nothing for {idle_s:g} seconds.",
        hint="Try again, or raise request.idle_timeout_s for slow models.",
    )


def cut() -> StreamError:
    """The failure of a stream that ended before the provider had said so."""
    return StreamError(
        ErrorKind.CUT,
        "The answer was cut off: the connection ended without the end of the stream.",
        hint="What arrived is saved. Go on with: jpq --retry",
    )
