"""Transport: one request at a time over requests, read as it arrives, cut from any thread.

There is no read time-out on purpose: what counts as silence is decided on the main thread,
which looks at stream events and not at bytes, and which aborts the ``Wire`` instead.
"""

from __future__ import annotations

import functools
import json
import string
from typing import Callable, Iterator, Mapping, MutableMapping, Optional, Tuple
from urllib.parse import urljoin, urlsplit

import requests
import urllib3.exceptions

from jpq import __version__
from jpq.errors import ErrorKind, StreamError
from jpq.events import strict_json
from jpq.named import NamedTuple
from jpq.wire import failure
from jpq.wire.connection import Wire
from jpq.wire.message import HttpRequest
from jpq.wire.route import Authorities, authorities_for, proxies_for
from jpq.wire.session import watched_session

CONNECT_TIMEOUT_S = 10.0
MAX_REPLY_BYTES = 256 * 1024 * 1024
_READ_BYTES = 65536
_MAX_REDIRECTS = 5
# How long the end of a reply is waited for once its content is complete, so that the
# connection can be used again; and how many reads that may take.
_LINGER_S = 0.05
_LINGER_READS = 16
_NAME_CHARS = frozenset(string.ascii_letters + string.digits + "!#$%&'*+-.^_`|~")
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
# Whatever requests, urllib3, http.client and ssl throw while a request is made.
_FAILURES = (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError)


class Response:
    """A reply whose body is still to come; belongs to the thread that opened it.

    ``headers`` is case-insensitive. Use as a context manager, which closes it.
    """

    def __init__(
        self, reply: requests.Response, wire: Wire, where: str, longest_bytes: int
    ) -> None:
        self._reply = reply
        self._wire = wire
        self._where = where
        self._longest_bytes = longest_bytes
        self.status = int(reply.status_code)
        self.headers: Mapping[str, str] = reply.headers
        self.url = str(reply.url)
        # What is there, at least a byte; empty at the end of the body. Only read1 hands on what
        # came without waiting for its buffer to fill. Decoding costs something at each read,
        # also where there is nothing to decode.
        packed = "Content-Encoding" in reply.headers
        self._read: Callable[[], bytes] = functools.partial(
            reply.raw.read1, _READ_BYTES, decode_content=packed
        )

    @property
    def stopped(self) -> bool:
        """Whether its wire was aborted."""
        return self._wire.aborted

    def chunks(self) -> Iterator[bytes]:
        """The body's bytes as soon as they arrive, decompressed.

        Ends at the end of the body; where the server closes the connection to end it, a cut
        looks the same. Raises StreamError when the body is cut, undecodable or too large,
        and when the wire was aborted.
        """
        received = 0
        while True:
            try:
                chunk = self._read()
            except _FAILURES as error:
                if self._wire.aborted:
                    raise failure.stopped(self._where) from error
                raise failure.while_reading(error, self._where) from error
            if not chunk:
                break
            received += len(chunk)
            if received > self._longest_bytes:
                raise failure.too_large(self._longest_bytes, self._where)
            yield chunk
        if self._wire.aborted:
            raise failure.stopped(self._where)

    def finish(self) -> None:
        """Close a reply whose content is complete, keeping the connection when it allows that.

        The end of the body usually follows at once, and then the next request saves a
        handshake; a server that holds the connection open is hung up on.
        """
        raw = self._reply.raw
        ends_by_itself = raw.chunked or raw.length_remaining is not None
        try:
            if ends_by_itself and self._wire.limit_reads(_LINGER_S):
                for _ in range(_LINGER_READS):
                    if not self._read():
                        break
        except _FAILURES:
            pass  # too slow or gone: closed like any other
        finally:
            self.close()

    def close(self) -> None:
        """Hang up, unless the body was read to its end."""
        self._reply.close()
        self._wire.release()

    def __enter__(self) -> Response:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class _Sent(NamedTuple):
    """A request on its way to one URL; ``body`` is empty where it has none."""

    method: str
    url: str
    headers: MutableMapping[str, str]
    body: bytes
    where: str
    authorities: Authorities


class Transport:
    """The run's connections. ``open`` may be called from any thread; main closes.

    Proxies come from the environment but never stand between jpq and this machine;
    ``.netrc`` and cookies are not used.
    """

    def __init__(
        self,
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
        longest_reply_bytes: int = MAX_REPLY_BYTES,
    ) -> None:
        self._connect_timeout_s = connect_timeout_s
        self._longest_bytes = longest_reply_bytes
        self._session = watched_session()

    def open(
        self,
        request: HttpRequest,
        wire: Wire,
        *,
        where: str = "",
        ca_bundle: Optional[str] = None,
    ) -> Response:
        """Send ``request`` and return the reply once its headers are there.

        ``where`` names the provider in errors; ``ca_bundle`` comes before the environment's
        certificate settings. A redirect is followed only where the method and the
        server stay the same; any other is returned. Raises StreamError.
        """
        where = where or failure.shown(request.url)
        headers = _headers(request.headers, where)
        encoded = _encoded(request)
        authorities = authorities_for(ca_bundle, where)
        url = request.url
        for _ in range(_MAX_REDIRECTS):
            sent = _Sent(request.method, url, headers, encoded, where, authorities)
            reply = self._answered(sent, wire)
            target = _same_server_redirect(reply, url)
            if target is None:
                return Response(reply, wire, where, self._longest_bytes)
            reply.close()
            wire.release()
            url = target
        raise StreamError(
            ErrorKind.NOT_FOUND,
            f"The server redirected {_MAX_REDIRECTS} times without an answer.",
            where=where,
            hint="Check base_url.",
        )

    def close(self) -> None:
        """Close the idle connections."""
        self._session.close()

    def _answered(self, sent: _Sent, wire: Wire) -> requests.Response:
        """The reply to ``sent``, which is sent again when a kept connection was stale."""
        try:
            return self._send(sent, wire)
        except StreamError as error:
            # The server may have closed a kept connection in the moment it was used again, and
            # has not read the request then: this counts as no attempt. RESET says that not even
            # headers came. Once is enough: urllib3 takes none whose end has arrived already.
            if error.kind is not ErrorKind.RESET or not wire.reused:
                raise
        return self._send(sent, wire)

    def _send(self, sent: _Sent, wire: Wire) -> requests.Response:
        proxy: Optional[str] = None
        try:
            proxies = dict(proxies_for(sent.url))
            proxy = requests.utils.select_proxy(sent.url, proxies)
            request = requests.Request(sent.method, sent.url, headers=sent.headers, data=sent.body)
            if "Authorization" in sent.headers:
                request.auth = _keep_header  # or a password in the URL would replace it
            with wire.carrying_this_thread():
                return self._session.send(
                    self._session.prepare_request(request),
                    stream=True,
                    allow_redirects=False,
                    timeout=(self._connect_timeout_s, None),
                    verify=sent.authorities.verify,
                    proxies=proxies,
                )
        except BaseException as error:
            wire.release()
            if wire.aborted:
                raise failure.stopped(sent.where) from error
            if not isinstance(error, _FAILURES):
                raise
            timeout_s = self._connect_timeout_s
            route = failure.Route(sent.url, sent.where, proxy, sent.authorities, timeout_s)
            raise failure.while_opening(error, route) from error


def _encoded(request: HttpRequest) -> bytes:
    if isinstance(request.body, bytes):
        return request.body
    if request.method == "GET":
        return b""
    try:
        body = _ENCODER.encode(request.body)
    except ValueError:  # NaN or an infinity, which no server reads
        body = _ENCODER.encode(strict_json.finite(request.body))
    return body.encode("utf-8", "replace")  # text cut out of a pipe may hold half a character


def _keep_header(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _headers(given: Mapping[str, str], where: str) -> MutableMapping[str, str]:
    """The headers to send; raises StreamError for one HTTP cannot carry, without its value."""
    headers = requests.structures.CaseInsensitiveDict(
        {
            "User-Agent": f"jpq/{__version__}",
            "Accept": "*/*",
            "Accept-Encoding": "identity",  # or a proxy holds text back to compress it
            "Content-Type": "application/json",
            "Connection": "keep-alive",
        }
    )
    for name, value in given.items():
        if not name or not _NAME_CHARS.issuperset(name):
            raise StreamError(
                ErrorKind.INVALID_REQUEST,
                f"{name!r} cannot be the name of a header.",
                where=where,
                hint="Correct it in the configuration, under headers.",
            )
        stripped = value.strip()
        if not all(" " <= char <= "~" or char == "\t" for char in stripped):
            raise StreamError(
                ErrorKind.AUTH,
                f"The value of the header {name} holds a character that cannot be sent.",
                where=where,
                hint="If it is the API key, copy it again without quotes and line breaks.",
            )
        headers[name] = stripped
    return headers


def _same_server_redirect(reply: requests.Response, url: str) -> Optional[str]:
    if reply.status_code not in (307, 308):
        return None
    location = reply.headers.get("Location")
    if not location:
        return None
    try:
        target = urljoin(url, location)
        return target if _server(target) == _server(url) else None
    except ValueError:
        return None  # it is no URL


def _server(url: str) -> Tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc
