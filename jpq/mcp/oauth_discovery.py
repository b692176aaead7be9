"""Finds who gives out the tokens for a server, and by which rules.

From the specification's pages on authorization (2025-11-25 and 2026-07-28), which build on
RFC 9728 (protected resource metadata) and RFC 8414 (authorization server metadata).
"""

from __future__ import annotations

import re
from typing import Dict, List, Optional
from urllib.parse import urlsplit, urlunsplit

from jpq.mcp.failure import McpError, McpUnauthorized
from jpq.mcp.http_fetch import Fetcher
from jpq.mcp.protocol import Json, text_of
from jpq.named import NamedTuple

_PARAMETER = re.compile(r'([A-Za-z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))')
_HEADERS = {"Accept": "application/json", "MCP-Protocol-Version": "2025-11-25"}


class Authority(NamedTuple):
    """Who gives out tokens for ``resource``: the issuer's ``metadata``.

    ``scopes`` are those that the server lists. ``proven`` is False where only the oldest
    rules apply, by which the server is its own authority and says nothing about it.
    """

    metadata: Json
    resource: str
    scopes: List[str]
    proven: bool

    @property
    def issuer(self) -> str:
        """Its name."""
        return text_of(self.metadata.get("issuer"))

    def offers(self, name: str) -> List[str]:
        """The list ``name`` of its metadata."""
        return _texts(self.metadata.get(name))

    def endpoint(self, name: str) -> str:
        """The address of one of its services; empty where there is none. Raises
        McpUnauthorized for one that would send secrets over an open line."""
        url = text_of(self.metadata.get(name))
        parts = urlsplit(url)
        local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        if url and parts.scheme != "https" and not (parts.scheme == "http" and local):
            raise McpUnauthorized(f"The {name} {url} is not https.")
        return url


def challenge_of(header: str) -> Dict[str, str]:
    """The parameters of a ``WWW-Authenticate: Bearer`` header."""
    found = re.search(r"(?i)\bbearer\b(.*)", header, re.DOTALL)
    if found is None:
        return {}
    return {
        name.lower(): (quoted or plain)
        for name, quoted, plain in _PARAMETER.findall(found.group(1))
    }


def find_authority(url: str, challenge: Dict[str, str], fetcher: Fetcher) -> Authority:
    """The authority for the server at ``url``. Raises McpError."""
    described = _resource_metadata(url, challenge, fetcher)
    issuers = _texts(described.get("authorization_servers")) if described else []
    proven = bool(issuers)
    issuer = issuers[0] if proven else _origin(url)
    return Authority(
        _issuer_metadata(issuer, proven, fetcher),
        text_of((described or {}).get("resource")) or url,
        _texts((described or {}).get("scopes_supported")),
        proven,
    )


def is_same_issuer(one: str, other: str) -> bool:
    """Whether both name the same authority: the same text, but that the slash which stands for
    no path may be left out (RFC 3986, section 6.2.3). Google's own servers write it so."""
    return one == other or (
        one.rstrip("/") == other.rstrip("/") and not urlsplit(one).path.strip("/")
    )


def _resource_metadata(url: str, challenge: Dict[str, str], fetcher: Fetcher) -> Optional[Json]:
    known = _origin(url) + "/.well-known/oauth-protected-resource"
    path = urlsplit(url).path.rstrip("/")
    places = [challenge["resource_metadata"]] if challenge.get("resource_metadata") else []
    places += [known + path, known] if path else [known]
    for place in places:
        described = _document(place, fetcher)
        if described is None:
            continue
        resource = text_of(described.get("resource"))
        if resource and not _covers(resource, url):
            raise McpUnauthorized(
                f"The server's metadata is about {resource}, which is not this server."
            )
        return described
    return None


def _issuer_metadata(issuer: str, proven: bool, fetcher: Fetcher) -> Json:
    origin, path = _origin(issuer), urlsplit(issuer).path.rstrip("/")
    places = [
        f"{origin}/.well-known/oauth-authorization-server{path}",
        f"{origin}/.well-known/openid-configuration{path}",
    ]
    if path:
        places.append(f"{origin}{path}/.well-known/openid-configuration")
    for place in places:
        metadata = _document(place, fetcher)
        if metadata is None:
            continue
        if proven and not is_same_issuer(text_of(metadata.get("issuer")), issuer):
            raise McpUnauthorized(
                f"The authorization server calls itself {metadata.get('issuer')}, not {issuer}."
            )
        return metadata
    if proven:
        raise McpUnauthorized(f"The authorization server {issuer} does not describe itself.")
    return {  # where revision 2025-03-26 says they are
        "issuer": origin,
        "authorization_endpoint": origin + "/authorize",
        "token_endpoint": origin + "/token",
        "registration_endpoint": origin + "/register",
    }


def _document(url: str, fetcher: Fetcher) -> Optional[Json]:
    try:
        return fetcher.get(url, _HEADERS).json
    except McpError:
        return None


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc, "", "", ""))


def _covers(resource: str, url: str) -> bool:
    mine, theirs = _canonical(url), _canonical(resource)
    return mine == theirs or mine.startswith(theirs + "/")


def _canonical(url: str) -> str:
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    return urlunsplit((parts.scheme.lower(), parts.netloc.lower(), path, parts.query, ""))


def _texts(value: object) -> List[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
