"""What went wrong on the way to a server and back, said so that a person can act on it.

The libraries wrap one another's exceptions differently from version to version, so the kind
is read off the cause at the bottom and not off the class at the top.
"""

from __future__ import annotations

import http.client
import socket
import ssl
from typing import Iterator, List, Optional, Tuple, Type
from urllib.parse import urlsplit

import requests.exceptions
import urllib3.exceptions

from jpq.errors import ErrorKind, StreamError
from jpq.named import NamedTuple
from jpq.wire.route import Authorities

_NOT_A_URL = (
    requests.exceptions.InvalidURL,
    requests.exceptions.MissingSchema,
    requests.exceptions.InvalidSchema,
    urllib3.exceptions.LocationValueError,
    ValueError,  # from the URL parsers; so are the ones above in newer versions
)
_HUNG_UP = (
    ConnectionResetError,
    ConnectionAbortedError,
    BrokenPipeError,
    http.client.IncompleteRead,
    ssl.SSLEOFError,
    ssl.SSLZeroReturnError,
)


class Route(NamedTuple):
    """The way a request went; ``proxy`` is its URL as configured."""

    url: str
    where: str
    proxy: Optional[str]
    authorities: Authorities
    connect_timeout_s: float


def stopped(where: str) -> StreamError:
    """The reading was aborted by us."""
    return StreamError(ErrorKind.CUT, "The request was stopped.", where=where)


def too_large(limit: int, where: str) -> StreamError:
    """The body passed ``limit`` bytes."""
    message = f"The reply is larger than {limit // (1024 * 1024)} MiB, so it was not read on."
    return StreamError(ErrorKind.MALFORMED, message, where=where)


def while_reading(error: BaseException, where: str) -> StreamError:
    """From an exception that ended a reply in its body."""
    if any(isinstance(cause, urllib3.exceptions.DecodeError) for cause in _causes(error)):
        message = "The reply is compressed in a way that cannot be undone."
        return StreamError(ErrorKind.MALFORMED, message, where=where)
    return StreamError(
        ErrorKind.CUT,
        "The answer was cut off: the server closed the connection in the middle of it.",
        where=where,
    )


def while_opening(error: BaseException, route: Route) -> StreamError:
    """From an exception that came before a reply's headers did."""
    causes = list(_causes(error))
    kind, message, hint = (
        _proxy(causes, route)
        or _tls(causes, route)
        or _unreachable(causes, route)
        or _no_answer(causes, route)
        or _odd(causes, route)
    )
    return StreamError(kind, message, where=route.where, hint=hint)


def shown(url: str) -> str:
    """``url`` without what may be secret in it: user, password and query."""
    address = url.partition("?")[0].partition("#")[0]
    scheme, separator, rest = address.rpartition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"


_Told = Tuple[ErrorKind, str, str]


def _causes(error: BaseException) -> Iterator[BaseException]:
    """``error`` and all that it was made of, from the outside in."""
    waiting: List[object] = [error]
    seen: List[BaseException] = []
    while waiting:
        cause = waiting.pop(0)
        if isinstance(cause, BaseException) and cause not in seen:
            seen.append(cause)
            yield cause
            waiting += [cause.__cause__, getattr(cause, "reason", None)]
            waiting += [*cause.args, cause.__context__]


def _first(causes: List[BaseException], *kinds: Type[BaseException]) -> Optional[BaseException]:
    return next((cause for cause in causes if isinstance(cause, kinds)), None)


def _server(url: str) -> str:
    """``host:port``, with the scheme's own port where the URL names none."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return shown(url)
    host = f"[{host}]" if ":" in host else host
    return f"{host}:{port or (443 if parts.scheme == 'https' else 80)}"


def _has_host(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _proxy(causes: List[BaseException], route: Route) -> Optional[_Told]:
    if route.proxy is None:
        return None
    proxy = _server(route.proxy if "//" in route.proxy else f"http://{route.proxy}")
    hint = "The proxy comes from the environment: correct https_proxy, http_proxy or all_proxy,"
    hint += " or list the server in no_proxy."
    socks = _first(causes, requests.exceptions.InvalidSchema)
    if socks is not None and "SOCKS" in str(socks):
        message = f"The proxy {proxy} speaks SOCKS, which needs the package PySocks."
        return ErrorKind.INVALID_REQUEST, message, hint
    refusal = next((str(c) for c in causes if str(c).startswith("Tunnel connection failed")), None)
    if refusal is not None:
        status = refusal.partition(": ")[2]
        kind = ErrorKind.AUTH if status.startswith("407") else ErrorKind.UNREACHABLE
        return kind, f"The proxy {proxy} refused to connect to {_server(route.url)}: {status}", hint
    if not _has_host(route.proxy if "//" in route.proxy else f"http://{route.proxy}"):
        message = f"{shown(route.proxy)!r} is not the address of a proxy."
        return ErrorKind.INVALID_REQUEST, message, hint
    if _first(causes, urllib3.exceptions.ProxyError) is None:
        return None
    told = _tls(causes, route) or _unreachable(causes, route._replace(url=f"//{proxy}"))
    reason = "no answer" if told is None else told[1]
    return ErrorKind.UNREACHABLE, f"The proxy {proxy} could not be used: {reason}", hint


def _tls(causes: List[BaseException], route: Route) -> Optional[_Told]:
    server, (_, setting) = _server(route.url), route.authorities
    bad = _first(causes, ssl.SSLCertVerificationError)
    if isinstance(bad, ssl.SSLCertVerificationError):
        if setting:
            hint = f"It was checked against {route.authorities.verify}, named by {setting}."
        else:
            hint = "If a company proxy signs with its own certificate, name that file in"
            hint += " SSL_CERT_FILE or in the provider's ca_bundle."
        message = f"The certificate of {server} is not trusted: {bad.verify_message}"
        return ErrorKind.TLS, message, hint
    if _first(causes, *_HUNG_UP) is not None:
        return None
    other = _first(causes, ssl.SSLError)
    if other is None:
        return None
    reason = str(getattr(other, "reason", None) or other)
    if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
        message = f"{server} does not speak https."
        return ErrorKind.TLS, message, "If it speaks plain http, begin base_url with http://."
    hint = f"The certificates come from {route.authorities.verify}, named by {setting}."
    return (
        ErrorKind.TLS,
        f"No secure connection to {server}: {reason.lower().replace('_', ' ')}",
        hint if setting else "Check base_url, and whether a proxy or firewall is in the way.",
    )


def _unreachable(causes: List[BaseException], route: Route) -> Optional[_Told]:
    server = _server(route.url)
    if _first(causes, socket.gaierror) is not None:
        message = f"There is no address for {server.rpartition(':')[0]}."
        return ErrorKind.UNREACHABLE, message, "Check the network connection and base_url."
    if _first(causes, ConnectionRefusedError) is not None:
        message = f"Nothing answers at {server}: the connection was refused."
        return ErrorKind.UNREACHABLE, message, "Start the server there, or correct base_url."
    if any(_is_slow(cause) for cause in causes):
        message = f"{server} did not answer within {route.connect_timeout_s:g} seconds."
        hint = "Check the network connection, or raise request.connect_timeout_s."
        return ErrorKind.UNREACHABLE, message, hint
    return None


def _is_slow(cause: BaseException) -> bool:
    # urllib3 derives other failures to connect from its time-out, so the class is not enough.
    timed_out = type(cause) is urllib3.exceptions.ConnectTimeoutError
    return timed_out or isinstance(cause, socket.timeout)


def _no_answer(causes: List[BaseException], route: Route) -> Optional[_Told]:
    server = _server(route.url)
    # http.client's word for no answer at all is a ConnectionResetError, too.
    if _first(causes, *_HUNG_UP) is not None or any(map(_is_cut_status, causes)):
        message = f"{server} closed the connection before it answered."
        return ErrorKind.RESET, message, "Try again in a moment."
    if _first(causes, http.client.HTTPException, urllib3.exceptions.HTTPError) is None:
        return None
    failed = next((c for c in reversed(causes) if isinstance(c, OSError) and c.strerror), None)
    if isinstance(failed, OSError):
        message = f"{server} cannot be reached: {failed.strerror}"
        return ErrorKind.UNREACHABLE, message, "Check the network connection and base_url."
    if _first(causes, http.client.HTTPException, urllib3.exceptions.InvalidHeader) is not None:
        message = f"What {server} sent is not HTTP."
        return ErrorKind.MALFORMED, message, "Check the port in base_url."
    return None


def _is_cut_status(cause: BaseException) -> bool:
    """Whether it is a status line of which not all came."""
    line = str(cause).strip() if isinstance(cause, http.client.BadStatusLine) else ""
    return bool(line) and line[:5] == "HTTP/"[: len(line)]


def _odd(causes: List[BaseException], route: Route) -> _Told:
    if _first(causes, *_NOT_A_URL) is not None:
        message = f"{shown(route.url)!r} is not an address that can be asked."
        return ErrorKind.INVALID_REQUEST, message, "Correct base_url, such as https://HOST/v1."
    message = f"The request to {_server(route.url)} failed: {type(causes[-1]).__name__}"
    return ErrorKind.UNREACHABLE, message, "Check the network connection and base_url."
