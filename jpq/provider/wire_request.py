"""What the requests of all wire APIs have in common."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any, Container, Dict, Iterable, Mapping, Optional

from jpq.errors import ConfigError
from jpq.provider.base import ProviderRequest, ProviderRow

# Asks for the rest of a cut answer where the API does not go on with it by itself.
CONTINUE = (
    "Your last answer was cut off. Go on exactly where it stopped. "
    "Repeat nothing, and say nothing about the cut."
)

# What to do about an option that an API has nothing for.
_INSTEAD = {
    "stop": 'Remove it, or use the chat API: jpq config set providers.{name}.api "openai-chat"',
    "reasoning_budget": "Set reasoning_effort instead: low, medium or high.",
}


def request_headers(
    request: ProviderRequest,
    row: ProviderRow,
    key: Optional[str],
    *,
    key_header: str = "Authorization",
    extra: Optional[Mapping[str, str]] = None,
) -> Dict[str, str]:
    """The headers of ``request``: ``extra``, the key, and those that the row brings.

    The key goes into ``key_header`` unless the quirk of that name says otherwise. A header
    that the person configured replaces ours, however it is spelt.
    """
    headers = {"Accept": "text/event-stream" if request.stream else "application/json"}
    headers.update(extra or {})
    if key:
        name = str(row.quirks.get("key_header", key_header))
        headers[name] = f"Bearer {key}" if name == "Authorization" else key
    configured = {name.lower() for name in row.headers}
    kept = {name: value for name, value in headers.items() if name.lower() not in configured}
    return {**kept, **row.headers}


def refuse_own_fields(options: Iterable[str], own: Container[str], row: ProviderRow) -> None:
    """Raise ConfigError where an option is a field of the request that jpq fills in itself."""
    for name in options:
        if name in own:
            raise ConfigError(
                f"The option {name!r} cannot be set: jpq fills it in itself.",
                where=f"provider {row.name}",
                hint="Remove it from -o and from [options].",
            )


def missing_option(name: str, api: str, row: ProviderRow) -> ConfigError:
    """The error that the option ``name`` means where the ``api`` has nothing like it."""
    hint = _INSTEAD.get(name, "Remove it.").format(name=row.name)
    return ConfigError(
        f"The {api} API has no option {name!r}.", where=f"provider {row.name}", hint=hint
    )


def applies(quirk: Any, model: str) -> bool:
    """Whether a quirk holds for ``model``: it is a flag or a list of patterns of models."""
    if isinstance(quirk, (list, tuple)):
        return any(fnmatchcase(model, str(pattern)) for pattern in quirk)
    return bool(quirk)
