"""HttpProvider: any provider whose wire API is one HTTP POST with a streamed reply."""

from __future__ import annotations

import itertools
from typing import Any, Iterator, Optional, Protocol

from jpq.config.secrets import Secrets, says_secret
from jpq.errors import ErrorKind, StreamError
from jpq.events import json_depth
from jpq.events.parts import KeepAlive, StreamEvent
from jpq.provider import ndjson
from jpq.provider.base import Decoder, Progress, ProviderRequest, ProviderRow
from jpq.provider.failure import from_error_object, from_status, html_summary
from jpq.provider.rows import ROWS
from jpq.wire import sse
from jpq.wire.connection import Wire
from jpq.wire.failure import shown
from jpq.wire.message import HttpRequest
from jpq.wire.transport import CONNECT_TIMEOUT_S, Response, Transport

_FRAMINGS = {"sse": sse.messages, "ndjson": ndjson.messages}
_ERROR_BODY_BYTES = 256 * 1024  # of an error's body, of which a few lines are shown
_ERROR_READ_S = 2.0  # its status is known, so silence does not have to be sat out
_BEFORE_TEXT = b"\xef\xbb\xbf \t\r\n"
_EVENTS = "text/event-stream"
# The first letters of data, event, id and retry, what a comment begins with, and nothing.
_BEGINS_EVENTS = (b"d", b"e", b"i", b"r", b":", b"")
_CHECK_URL = "Check that base_url belongs to the provider's API."
# Where one of these is present, an "error" beside it is the API module's to judge.
_ANSWER_FIELDS = ("choices", "output", "candidates", "content", "message")


class Api(Protocol):
    """A wire API: a module with these names."""

    FRAMING: str  # "sse" or "ndjson"

    def encode(self, request: ProviderRequest, row: ProviderRow, key: Optional[str]) -> HttpRequest:
        """The POST for ``request``. Raises JpqError for what the API cannot express."""

    def make_decoder(self, row: ProviderRow) -> Decoder:
        """A decoder for one streamed reply."""

    def read_response(self, value: Any, row: ProviderRow) -> Iterator[StreamEvent]:
        """The events of a reply that came whole, ending with Finished.

        ``value`` is an object, or a list whose first item is one.
        """


class HttpProvider:
    """A provider over HTTP. ``exchange`` may be called from any thread; main closes."""

    def __init__(
        self,
        row: ProviderRow,
        api: Api,
        key: Optional[str] = None,
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
    ) -> None:
        self._row = row
        self._api = api
        self._key = key.strip() if key else None
        self._transport = Transport(connect_timeout_s)

    def prepare(self, model: str, progress: Progress) -> None:
        """Nothing: the server is somebody else's."""

    def exchange(self, request: ProviderRequest) -> HttpExchange:
        """A new exchange; sends nothing until its events are read."""
        return HttpExchange(request, self._row, self._api, self._key, self._transport)

    def close(self) -> None:
        """Close idle connections; exchanges that still run are aborted by their owner."""
        self._transport.close()


class HttpExchange:
    """One POST and its reply. ``events`` runs on a reader thread, ``abort`` on any."""

    def __init__(
        self,
        request: ProviderRequest,
        row: ProviderRow,
        api: Api,
        key: Optional[str],
        transport: Transport,
    ) -> None:
        self.ending = False
        self._request = request
        self._row = row
        self._api = api
        self._key = key
        self._transport = transport
        self._wire = Wire()
        self._where = row.name

    def events(self) -> Iterator[StreamEvent]:
        """Send the request and yield what the reply says, as it arrives.

        Stops at the provider's own end mark without waiting for the end of the bytes.
        Raises StreamError, with every credential of the request masked.
        """
        request = self._api.encode(self._request, self._row, self._key)
        self._where = f"{self._row.name}, {shown(request.url)}"
        secrets = secrets_of(request, self._key)
        try:
            with self._transport.open(
                request, self._wire, where=self._where, ca_bundle=self._row.ca_bundle
            ) as response:
                yield from self._reply(response)
        except StreamError as error:
            mask_error(error, secrets)
            raise

    def abort(self) -> None:
        """Make ``events`` end within 50 ms, whatever it waits for but a connection being made."""
        self._wire.abort()

    def _reply(self, response: Response) -> Iterator[StreamEvent]:
        if not 200 <= response.status < 300:
            # Before the media type: Gemini labels its errors as event streams.
            body = self._as_far_as_it_comes(response.chunks())
            raise self._refused(from_status(response.status, response.headers, body, self._where))
        chunks = response.chunks()
        start = next((chunk for chunk in chunks if chunk.strip(b"\r\n")), b"")
        chunks = itertools.chain((start,), chunks)
        first = start.lstrip(_BEFORE_TEXT)[:1]
        media_type = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if first == b"<" or media_type == "text/html":
            raise self._web_page(self._as_far_as_it_comes(chunks))
        streamed = self._request.stream or media_type == _EVENTS
        if self._api.FRAMING == "sse" and (
            # Asked for a stream, some servers send the answer whole, and some a line of text.
            first in (b"{", b"[") or (media_type != _EVENTS and first not in _BEGINS_EVENTS)
        ):
            streamed = False
        if streamed:
            yield from self._streamed(chunks, response)
        else:
            yield from self._whole(chunks)

    def _refused(self, error: StreamError) -> StreamError:
        """``error``; where an imitator may not have the API at all, with what it may have."""
        usual = {row.base_url for row in ROWS if row.name == self._row.name}
        if error.status in (404, 405) and self._row.base_url not in usual:
            # Of the modules of APIs, those that have it.
            hint: str = getattr(self._api, "NOT_FOUND_HINT", error.hint)
            error.hint = hint.format(name=self._row.name)
        return error

    def _streamed(self, chunks: Iterator[bytes], response: Response) -> Iterator[StreamEvent]:
        decoder = self._api.make_decoder(self._row)
        messages = _FRAMINGS[self._api.FRAMING](chunks)
        while not decoder.done:
            try:
                message = next(messages, None)
            except StreamError:
                if not decoder.ending:
                    raise
                message = None  # what was lost came after the end of the answer
            if message is None:
                yield from decoder.close()
                return
            yield from decoder.feed(message)
            if decoder.ending and not self.ending:
                self.ending = True
                yield KeepAlive()  # whoever waits looks up, and is less patient from now on
        response.finish()

    def _whole(self, chunks: Iterator[bytes]) -> Iterator[StreamEvent]:
        text = b"".join(chunks).decode("utf-8-sig", "replace").strip()
        try:
            value = json_depth.loads(text)
        except ValueError as error:
            raise self._not_json(text) from error
        if isinstance(value, list) and len(value) == 1:
            value = value[0]  # Google wraps its errors in a list
        # Without alt=sse, Google's whole stream is one list.
        first = value[0] if isinstance(value, list) and value else value
        if not isinstance(first, dict):
            raise self._not_json(text)
        if first.get("error") and not any(first.get(field) for field in _ANSWER_FIELDS):
            raise from_error_object(first, self._where)
        yield from self._api.read_response(value, self._row)

    def _as_far_as_it_comes(self, chunks: Iterator[bytes]) -> bytes:
        """The beginning of a body that is only read to be told about."""
        self._wire.limit_reads(_ERROR_READ_S)
        body = bytearray()
        try:
            for chunk in chunks:
                body += chunk
                if len(body) >= _ERROR_BODY_BYTES:
                    break
        except StreamError:
            pass  # what was being told is worth more than how its telling ended
        return bytes(body[:_ERROR_BODY_BYTES])

    def _not_json(self, text: str) -> StreamError:
        if not text or (text[0] in "{[" and text[-1] not in "}]"):
            message = "The answer was cut off: the connection ended in the middle of it."
            return StreamError(ErrorKind.CUT, message, where=self._where)
        message = f"The reply is not an answer: {html_summary(text)}"
        return StreamError(ErrorKind.MALFORMED, message, where=self._where, hint=_CHECK_URL)

    def _web_page(self, body: bytes) -> StreamError:
        summary = html_summary(body.decode("utf-8", "replace"))
        message = f'The server sent a web page instead of an answer: "{summary}"'
        return StreamError(ErrorKind.MALFORMED, message, where=self._where, hint=_CHECK_URL)


def secrets_of(request: HttpRequest, key: Optional[str]) -> Secrets:
    """What must not be shown although a server may repeat it."""
    secrets = Secrets()
    secrets.add(key or "")
    for name, value in request.headers.items():
        if says_secret(name):
            secrets.add(value.rpartition(" ")[2])
    return secrets


def mask_error(error: StreamError, secrets: Secrets) -> None:
    """Take ``secrets`` out of what ``error`` says, where a server repeated one."""
    error.message = secrets.mask(error.message)
    error.where = secrets.mask(error.where)
    error.hint = secrets.mask(error.hint)
    error.args = (error.message,)
