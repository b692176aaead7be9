"""Requests that tools make: bounded, cut off at once by a cancellation, never led elsewhere."""

from __future__ import annotations

from typing import Mapping
from urllib.parse import urljoin, urlsplit

from jpq.errors import JpqError
from jpq.interrupt.cancel import CancelToken
from jpq.named import NamedTuple
from jpq.wire.connection import Wire
from jpq.wire.failure import shown
from jpq.wire.message import HttpRequest
from jpq.wire.transport import Response, Transport

MAX_BODY_BYTES = 8 * 1024 * 1024
_MAX_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)


class WebReply(NamedTuple):
    """A whole reply. ``url`` is where it came from; ``cut`` says that there was more."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str
    cut: bool

    @property
    def media_type(self) -> str:
        """``type/subtype``, in lower case."""
        return self.headers.get("Content-Type", "").partition(";")[0].strip().lower()


class WebFailed(Exception):
    """There is no reply; the text says why, as a sentence."""


class Stopped(Exception):
    """The request was cancelled."""


def send(request: HttpRequest, cancel: CancelToken, max_bytes: int = MAX_BODY_BYTES) -> WebReply:
    """The reply to ``request``. Blocks; any thread. Raises WebFailed and Stopped.

    A GET follows redirects to the same server. To another one it does not: the person
    allowed this one, and the headers are meant for it.
    """
    transport, wire = Transport(), Wire()
    try:
        with cancel.calling(wire.abort):
            return _followed(request, transport, wire, max_bytes)
    except JpqError as error:
        if cancel.cancelled:
            raise Stopped from error
        raise WebFailed(error.message) from error
    finally:
        transport.close()


def _followed(request: HttpRequest, transport: Transport, wire: Wire, max_bytes: int) -> WebReply:
    for _ in range(_MAX_REDIRECTS + 1):
        with transport.open(request, wire) as response:
            location = response.headers.get("Location")
            if response.status not in _REDIRECTS or not location or request.method != "GET":
                return _read(response, max_bytes)
        target = urljoin(request.url, location)
        if not _same_server(request.url, target):
            raise WebFailed(f"The server redirects to {shown(target)}, which is another server.")
        request = request._replace(url=target)
    raise WebFailed(f"The server redirected {_MAX_REDIRECTS} times without an answer.")


def _read(response: Response, max_bytes: int) -> WebReply:
    body = bytearray()
    for chunk in response.chunks():
        body += chunk
        if len(body) > max_bytes:
            break
    cut = len(body) > max_bytes
    return WebReply(response.status, response.headers, bytes(body[:max_bytes]), response.url, cut)


def _same_server(url: str, target: str) -> bool:
    """Whether the host is the same and what is sent stays as secret as it was."""
    one, other = urlsplit(url), urlsplit(target)
    if one.hostname != other.hostname or other.scheme not in ("http", "https"):
        return False
    if (one.scheme, other.scheme) == ("http", "https"):
        return one.port in (None, 80) and other.port in (None, 443)
    return (one.scheme, one.port) == (other.scheme, other.port)
