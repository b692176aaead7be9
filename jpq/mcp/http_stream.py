"""Streams of messages over HTTP: read one, and keep one open on which a server speaks unasked."""

from __future__ import annotations

import threading
from typing import Callable, Optional

from jpq.errors import JpqError, StreamError
from jpq.mcp.message_size import events_in_bounds
from jpq.mcp.protocol import Id, Json, decode, own_id
from jpq.mcp.transport import Log
from jpq.named import NamedTuple
from jpq.wire.connection import Wire
from jpq.wire.sse import resumable
from jpq.wire.transport import Response

_WAIT_S = 1.0  # before a reconnection, where the server names no time
_LONGEST_WAIT_S = 30.0
_OPENED_WITHIN_S = 5.0
_JOIN_S = 2.0

Take = Callable[[Json, Optional[Id]], None]


class StreamEnd(NamedTuple):
    """How a stream ended: whether the answer was in it, and how to go on if not."""

    answered: bool = False
    last_id: Optional[str] = None
    wait_s: float = _WAIT_S


def read_stream(
    reply: Response,
    id: Optional[Id],
    take: Take,
    log: Log,
    before: Optional[StreamEnd] = None,
    where: str = "",
) -> StreamEnd:
    """Hand on the messages of ``reply`` until the answer to ``id`` has come or it ends.

    ``before`` is how the stream that this one continues ended. A stream that breaks has
    ended: it may be gone on with. Raises StreamError only where it was stopped by us, and
    McpClosed for a message without end.
    """
    _, last_id, wait_s = before or StreamEnd()
    try:
        for event, wait_ms in resumable(events_in_bounds(reply.chunks(), where)):
            last_id = event.id or last_id
            if wait_ms is not None:
                wait_s = min(wait_ms / 1000, _LONGEST_WAIT_S)
            try:
                messages = decode(event.data) if event.data.strip() else []
            except ValueError as error:
                log(f"an event that is no message: {error}")
                continue
            for message in messages:
                take(message, id)
                if id is not None and "method" not in message and own_id(message.get("id")) == id:
                    reply.finish()
                    return StreamEnd(True, last_id, wait_s)
    except StreamError as error:
        if reply.stopped:
            raise
        log(f"the stream broke: {error.message}")
    return StreamEnd(False, last_id, wait_s)


class Listener:
    """Keeps the stream open that an older server may speak on at any time. Its own thread.

    ``open_stream(wire, last_id)`` makes the GET.
    """

    def __init__(
        self, open_stream: Callable[[Wire, Optional[str]], Response], take: Take, log: Log
    ) -> None:
        self._open_stream = open_stream
        self._take = take
        self._log = log
        self._opened = threading.Event()
        self._closing = threading.Event()
        self._wire = Wire()
        self._thread = threading.Thread(target=self._run, name="jpq-mcp-listen", daemon=True)

    def start(self) -> None:
        """Open the stream, or learn that there is none."""
        self._thread.start()
        self._opened.wait(_OPENED_WITHIN_S)

    def close(self) -> None:
        """Hang up."""
        self._closing.set()
        self._wire.abort()
        self._thread.join(_JOIN_S)

    def _run(self) -> None:
        end = StreamEnd()
        while not self._closing.is_set():
            try:
                with self._open_stream(self._wire, end.last_id) as reply:
                    kind = reply.headers.get("Content-Type", "")
                    if reply.status != 200 or not kind.startswith("text/event-stream"):
                        return  # there is none, or not for us
                    self._opened.set()
                    end = read_stream(reply, None, self._take, self._log, end)
            except JpqError as error:
                self._log(f"the server's own stream: {error.message}")
            finally:
                self._opened.set()
            if self._closing.wait(end.wait_s):
                return
