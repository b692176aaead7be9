"""What an HTTP tool sends: its configured parts with the arguments filled in.

``{name}`` is an argument and ``${NAME}`` a variable of the environment, which is how a
service's own key gets into a header.
"""

from __future__ import annotations

import json
import re
from typing import Any, Dict, Iterator, List, Mapping, Match
from urllib.parse import quote, urlencode, urlsplit

from jpq.errors import ConfigError
from jpq.named import NamedTuple
from jpq.tools.schema import json_text
from jpq.wire.message import HttpRequest

_PLACE = re.compile(r"(?<!\$)\{([A-Za-z_][\w-]*)\}")
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_WITHOUT_BODY = ("GET", "HEAD", "DELETE")
_METHODS = (*_WITHOUT_BODY, "POST", "PUT", "PATCH")
_MISSING: Any = object()


class CannotFill(Exception):
    """The request cannot be made of these arguments in this environment; the text says why."""


class RequestTemplate(NamedTuple):
    """The parts of the request as configured. ``json`` None: no body is configured."""

    method: str
    url: str
    query: Mapping[str, Any]
    headers: Mapping[str, str]
    json: Any
    spread: bool  # whether arguments that have no place go into the query or the body

    def fill(self, arguments: Mapping[str, Any], environ: Mapping[str, str]) -> HttpRequest:
        """The request. Raises CannotFill."""
        url = self.url_for(arguments, environ)
        # However they are quoted, on the way they would lead to another part of the server.
        if not {".", ".."}.isdisjoint(urlsplit(url).path.split("/")):
            raise CannotFill("Not sent: an argument must not be '.' or '..' in a path.")
        return HttpRequest(
            url=url,
            headers={name: _text(value, arguments, environ) for name, value in self._sent_headers},
            body=self.body_for(arguments, environ),
            method=self.method,
        )

    def url_for(self, arguments: Mapping[str, Any], environ: Any = None) -> str:
        """The whole URL; without ``environ`` its variables stay as they are."""
        url = _PLACE.sub(lambda place: _in_path(place, arguments), self.url)
        fields = list(self._query_fields(arguments, environ))
        if not fields:
            return url
        return url + ("&" if urlsplit(url).query else "?") + urlencode(fields, errors="replace")

    def body_for(self, arguments: Mapping[str, Any], environ: Any = None) -> bytes:
        """The body as JSON; empty where there is none."""
        if self.json is not None:
            value = _value(self.json, arguments, environ)
        elif self.spread and self.method not in _WITHOUT_BODY:
            value = self._unplaced(arguments)
        else:
            return b""
        if value is _MISSING:
            return b""
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")

    @property
    def _sent_headers(self) -> List[Any]:
        given = dict(self.headers)
        if not any(name.lower() == "accept" for name in given):
            given["Accept"] = "application/json"
        return list(given.items())

    def _query_fields(self, arguments: Mapping[str, Any], environ: Any) -> Iterator[Any]:
        query: Mapping[str, Any] = self.query
        if self.spread and self.method in _WITHOUT_BODY:
            query = {name: f"{{{name}}}" for name in self._unplaced(arguments)}
        for name, template in query.items():
            value = _value(template, arguments, environ)
            if value is _MISSING or value is None:
                continue
            for item in value if isinstance(value, list) else [value]:
                yield name, item if isinstance(item, str) else json_text(item)

    def _unplaced(self, arguments: Mapping[str, Any]) -> Dict[str, Any]:
        placed = set(_PLACE.findall(self.url))
        return {name: value for name, value in arguments.items() if name not in placed}


def read_template(settings: Mapping[str, Any], names: Any, where: str) -> RequestTemplate:
    """The template in a tool's settings. Raises ConfigError."""
    url, method = str(settings.get("url", "")), str(settings.get("method", "GET")).upper()
    if urlsplit(url).scheme not in ("http", "https"):
        raise ConfigError(
            f"{url!r} is not an address of an HTTP tool." if url else "An HTTP tool needs a url.",
            where=f"{where}.url",
            hint='Write it as url = "https://HOST/path/{argument}"',
        )
    if method not in _METHODS:
        raise ConfigError(
            f"The method {method!r} is none that an HTTP tool can use.",
            where=f"{where}.method",
            hint=f"Methods are {', '.join(_METHODS)}.",
        )
    if _PLACE.search(urlsplit(url).netloc):
        raise ConfigError(
            "An argument must not choose the server.",
            where=f"{where}.url",
            hint="Put places for arguments behind the host, or into query.",
        )
    query, headers, body = (settings.get(key) for key in ("query", "headers", "json"))
    for place in _places([url, query, headers, body]):
        if place not in names:
            raise ConfigError(
                f"The request has the place {{{place}}}, but no parameter has that name.",
                where=where,
                hint=f"Parameters are {', '.join(names) or 'none'}.",
            )
    spread = query is None and body is None
    return RequestTemplate(method, url, query or {}, headers or {}, body, spread)


def _places(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from _PLACE.findall(value)
    elif isinstance(value, Mapping):
        yield from (place for inner in value.values() for place in _places(inner))
    elif isinstance(value, list):
        yield from (place for inner in value for place in _places(inner))


def _in_path(place: Match[str], arguments: Mapping[str, Any]) -> str:
    value = arguments.get(place.group(1), "")
    return quote(value if isinstance(value, str) else json_text(value), safe="", errors="replace")


def _value(template: Any, arguments: Mapping[str, Any], environ: Any) -> Any:
    """The template filled in; _MISSING for a place alone whose argument was not given."""
    if isinstance(template, Mapping):
        filled = {key: _value(inner, arguments, environ) for key, inner in template.items()}
        return {key: value for key, value in filled.items() if value is not _MISSING}
    if isinstance(template, (list, tuple)):
        items = [_value(inner, arguments, environ) for inner in template]
        return [item for item in items if item is not _MISSING]
    if not isinstance(template, str):
        return template
    whole = _PLACE.fullmatch(template)
    if whole is not None:
        return arguments.get(whole.group(1), _MISSING)
    if any(name not in arguments for name in _PLACE.findall(template)):
        return _MISSING
    return _text(template, arguments, environ)


def _text(template: str, arguments: Mapping[str, Any], environ: Any) -> str:
    # Variables first, in one pass over the template only: an argument must not name one.
    def filled(found: Match[str]) -> str:
        if found.group().startswith("$"):
            return _variable(found.group(1), environ)
        value = arguments.get(found.group(2), "")
        return value if isinstance(value, str) else json_text(value)

    return re.sub(f"{_VARIABLE.pattern}|{_PLACE.pattern}", filled, template)


def _variable(name: str, environ: Any) -> str:
    if environ is None:
        return f"${{{name}}}"
    if name not in environ:
        raise CannotFill(f"The environment variable {name} is not set.")
    return str(environ[name])
