"""Fetches one thing from a URL that a person named, or within a time limit from a provider."""

from __future__ import annotations

import contextlib
import threading
from typing import Iterator
from urllib.parse import urljoin, urlsplit

from jpq.errors import BadInputError, ErrorKind, StreamError
from jpq.named import NamedTuple
from jpq.wire.connection import Wire
from jpq.wire.failure import shown
from jpq.wire.message import HttpRequest
from jpq.wire.transport import Transport

FETCH_TIMEOUT_S = 30.0
_MAX_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)


class Fetched(NamedTuple):
    """What a URL holds, texts in UTF-8; ``url`` is where it was found in the end."""

    url: str
    body: bytes


@contextlib.contextmanager
def within(wire: Wire, timeout_s: float, what: str, where: str) -> Iterator[None]:
    """Abort ``wire`` after ``timeout_s`` seconds, and raise StreamError that ``what`` is late."""
    late = threading.Event()

    def give_up() -> None:
        late.set()
        wire.abort()

    timer = threading.Timer(timeout_s, give_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    except StreamError as error:
        if late.is_set():
            message = f"{what} did not come within {timeout_s:g} s."
            raise StreamError(ErrorKind.STALLED, message, where=where) from error
        raise
    finally:
        timer.cancel()
        timer.join()


def fetch(
    url: str, transport: Transport, max_bytes: int, timeout_s: float = FETCH_TIMEOUT_S
) -> Fetched:
    """The content of ``url`` (http or https), as the person's own request: without any key.

    Redirects are followed. Raises BadInputError where the server does not hand it out or it
    is larger than ``max_bytes``, StreamError where the server cannot be reached or all of it
    has not come within ``timeout_s`` seconds, however much did.
    """
    where = shown(url)
    try:
        return _followed(url, transport, max_bytes, timeout_s, where)
    except StreamError as error:
        if error.kind is ErrorKind.INVALID_REQUEST:  # nothing was asked
            raise BadInputError(error.message, where=where) from error
        error.hint = "Check the URL, or fetch it yourself and attach the file."
        raise


def _followed(
    url: str, transport: Transport, max_bytes: int, timeout_s: float, where: str
) -> Fetched:
    wire = Wire()
    with within(wire, timeout_s, "The attachment", where):
        for _ in range(_MAX_REDIRECTS + 1):
            request = HttpRequest(url, {}, {}, method="GET")
            with transport.open(request, wire, where=where) as response:
                if response.status in _REDIRECTS and response.headers.get("Location"):
                    url = urljoin(url, response.headers["Location"])
                    if urlsplit(url).scheme in ("http", "https"):
                        continue
                if response.status != 200:
                    raise _refused(f"the server answers with status {response.status}", where)
                body = _bounded(response.chunks(), max_bytes, where)
                return Fetched(url, _in_utf_8(body, response.headers.get("Content-Type", "")))
    raise _refused(f"the server redirects more than {_MAX_REDIRECTS} times", where)


def _bounded(chunks: Iterator[bytes], max_bytes: int, where: str) -> bytes:
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > max_bytes:
            raise _refused(f"it is larger than {max_bytes // 1_000_000} MB", where)
    return bytes(body)


def _in_utf_8(body: bytes, content_type: str) -> bytes:
    """``body`` in UTF-8 where it is a text in a charset that its server names; else as it is."""
    kind, *parameters = content_type.lower().split(";")
    if kind.strip().startswith("text/"):
        for name, _, value in (each.partition("=") for each in parameters):
            if name.strip() == "charset":
                with contextlib.suppress(LookupError, ValueError):  # no charset, or not in it
                    return body.decode(value.strip().strip("\"'")).encode("utf-8")
    return body


def _refused(why: str, where: str) -> BadInputError:
    return BadInputError(f"The attachment cannot be fetched: {why}.", where=where)
