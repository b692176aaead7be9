"""URLs of a provider: forgiving about what people write as ``base_url``."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit

from jpq.errors import ConfigError

_VERSION = r"(?i)/v\d+[a-z0-9]*(/|$)"
# A server that listens on every address is reached on this machine through loopback.
_EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}
_IPV6 = r"(?i)[0-9a-f:]+$"  # without its brackets


def complete_base_url(text: str, usual: str, source: str) -> str:
    """The base URL meant by ``text``, without a slash at its end.

    Scheme and port, where ``text`` names none (``OLLAMA_HOST=0.0.0.0``), are those of
    ``usual``, the provider's own URL. So is the path, where that of ``text`` is only the
    beginning of it (``https://openrouter.ai`` for ``https://openrouter.ai/api/v1``); any
    other path stands as it is. Raises ConfigError, naming ``source``.
    """
    text = text.strip()
    own = urlsplit(usual)
    if text.count(":") > 1 and "/" not in text and re.match(_IPV6, text):
        text = f"[{text}]"
    try:
        parts = urlsplit(text if "://" in text else f"{own.scheme or 'http'}://{text}")
        port = parts.port
    except ValueError as error:
        raise _not_a_url(text, source) from error
    host = parts.netloc.rpartition("@")[2]
    name = host[: -len(f":{port}")] if port is not None else host.rstrip(":")
    if "://" not in text:
        port = own.port if port is None else port
        name = name or "127.0.0.1"
    name = _EVERY_ADDRESS.get(name, name)
    if parts.scheme not in ("http", "https") or not name or any(c.isspace() for c in text):
        raise _not_a_url(text, source)
    user = parts.netloc[: -len(host)] if host else parts.netloc
    netloc = user + name + (f":{port}" if port is not None else "")
    path = _completed_path(parts.path.rstrip("/"), own.path.rstrip("/"))
    return SplitResult(parts.scheme, netloc, path, parts.query, "").geturl()


def join(base_url: str, resource: str) -> str:
    """``base_url`` with ``resource`` (``/chat/completions``), unless it ends with that already."""
    parts = urlsplit(base_url)
    path = parts.path.rstrip("/")
    if not path.endswith(resource):
        path += resource
    return parts._replace(path=path).geturl()


def has_version(base_url: str) -> bool:
    """Whether the path of ``base_url`` names a version (``/v1``)."""
    return re.search(_VERSION, urlsplit(base_url).path) is not None


def _completed_path(path: str, usual: str) -> str:
    for end in ("/chat/completions", "/responses", "/messages"):
        if path.endswith(end):
            path = path[: -len(end)]
    if usual.startswith(path + "/") and not re.search(_VERSION, path):
        return usual
    return path


def _not_a_url(text: str, source: str) -> ConfigError:
    return ConfigError(
        f"{text!r} is not a base URL.",
        where=source,
        hint="Write it like https://api.example.com/v1",
    )
