"""Asks a provider which models it has: one GET, whose shape is a row of data for each API.

Facts are from the pages "List models" of OpenAI's, Anthropic's, Groq's, Mistral's and Ollama's
references, "Models" of OpenRouter's documentation and "models.list" of Google's reference.
"""

from __future__ import annotations

import json
from typing import Any, Callable, Iterator, List, Mapping, Optional, Tuple

from jpq.conversation.thread import Thread
from jpq.errors import ConfigError, ErrorKind, StreamError
from jpq.events import json_depth
from jpq.named import NamedTuple
from jpq.provider.anthropic_encoder import VERSION
from jpq.provider.base import ProviderRequest, ProviderRow
from jpq.provider.endpoint import has_version, join
from jpq.provider.failure import from_status, html_summary
from jpq.provider.fetch import within
from jpq.provider.http import mask_error, secrets_of
from jpq.provider.listing_cache import RemoteModel
from jpq.provider.ollama_encoder import api_url
from jpq.provider.wire_request import request_headers
from jpq.wire.connection import Wire
from jpq.wire.failure import shown
from jpq.wire.message import HttpRequest
from jpq.wire.transport import Transport

_HINT = "Check that base_url belongs to the provider's API."
LIST_TIMEOUT_S = 30.0  # for the whole list


class NoListError(StreamError):
    """The server answered with something else than a list of models; it may have none."""


class Listing(NamedTuple):
    """How an API lists its models.

    ``url`` makes the URL from the base URL and ``query`` is added to it; ``entries`` is
    the field with the list and ``id`` that with a model's name, without ``prefix``.
    ``windows`` are the fields that may hold its context window. ``abilities`` has, for each
    of RemoteModel's, the places that may tell of it: ``a.b`` is the field b of the table a,
    which must be true, and ``a.b=c`` a list there, which must have c. Where an entry has the
    field ``methods``, ``wanted`` must be in it.
    """

    url: Callable[[str], str]
    entries: str = "data"
    id: str = "id"
    windows: Tuple[str, ...] = ()
    abilities: Mapping[str, Tuple[str, ...]] = {}
    query: str = ""
    prefix: str = ""
    methods: str = ""
    wanted: str = ""
    key_header: str = "Authorization"
    headers: Mapping[str, str] = {}


def _openai_url(base_url: str) -> str:
    return join(base_url, "/models")


def _anthropic_url(base_url: str) -> str:
    return join(base_url, "/models" if has_version(base_url) else "/v1/models")


def _ollama_url(base_url: str) -> str:
    return api_url(base_url, "/api/tags")


_OPENAI = Listing(
    _openai_url,
    # OpenRouter and Together, Groq, Mistral, vLLM
    windows=("context_length", "context_window", "max_context_length", "max_model_len"),
    # OpenRouter, Mistral
    abilities={
        "images": ("architecture.input_modalities=image", "capabilities.vision"),
        "pdf": ("architecture.input_modalities=file",),
        "tools": ("supported_parameters=tools", "capabilities.function_calling"),
        "reasoning": ("supported_parameters=reasoning",),
    },
)
LISTINGS: Mapping[str, Listing] = {
    "openai-chat": _OPENAI,
    "openai-responses": _OPENAI,
    "anthropic": Listing(
        _anthropic_url,
        windows=("max_input_tokens",),
        abilities={
            "images": ("capabilities.image_input.supported",),
            "pdf": ("capabilities.pdf_input.supported",),
            "reasoning": ("capabilities.thinking.supported",),
        },
        query="limit=1000",
        key_header="x-api-key",
        headers={"anthropic-version": VERSION},
    ),
    "google": Listing(
        _openai_url,
        entries="models",
        id="name",
        windows=("inputTokenLimit",),
        abilities={"reasoning": ("thinking",)},
        query="pageSize=1000",
        prefix="models/",
        methods="supportedGenerationMethods",
        wanted="generateContent",
        key_header="x-goog-api-key",
    ),
    "ollama": Listing(_ollama_url, entries="models", id="name"),
}


def fetch_models(
    row: ProviderRow,
    key: Optional[str],
    transport: Transport,
    timeout_s: float = LIST_TIMEOUT_S,
) -> List[RemoteModel]:
    """The models that the provider of ``row`` offers now, sorted by name.

    Raises ConfigError for an API that has no list, StreamError for all that can go wrong
    on the way, with every credential masked.
    """
    listing = LISTINGS.get(row.api)
    if listing is None:
        raise ConfigError(
            f"The provider {row.name!r} has no list of models to fetch.",
            hint="See what is on this machine with: jpq models ls",
        )
    request = _request(listing, row, key)
    where = f"{row.name}, {shown(request.url)}"
    try:
        reply = _fetched(request, row, transport, where, timeout_s)
        models = {model.id: model for model in _models(listing, reply, where)}
    except StreamError as error:
        mask_error(error, secrets_of(request, key))
        raise
    return [models[name] for name in sorted(models)]


def _request(listing: Listing, row: ProviderRow, key: Optional[str]) -> HttpRequest:
    whole = ProviderRequest("", Thread("", ()), stream=False)
    headers = request_headers(whole, row, key, key_header=listing.key_header, extra=listing.headers)
    url = listing.url(row.base_url)
    if listing.query:
        url += ("&" if "?" in url else "?") + listing.query
    return HttpRequest(url, headers, {}, method="GET")


def _fetched(
    request: HttpRequest, row: ProviderRow, transport: Transport, where: str, timeout_s: float
) -> Any:
    """The JSON of the reply."""
    wire = Wire()
    with within(wire, timeout_s, "The list of models", where), transport.open(
        request, wire, where=where, ca_bundle=row.ca_bundle
    ) as response:
        body = b"".join(response.chunks())
    if not 200 <= response.status < 300:
        raise from_status(response.status, response.headers, body, where)
    text = body.decode("utf-8-sig", "replace").strip()
    try:
        return json_depth.loads(text)
    except ValueError as error:
        if text.startswith("<"):
            message = f'There is a web page, and no API: "{html_summary(text)}"'
            raise StreamError(ErrorKind.MALFORMED, message, where=where, hint=_HINT) from error
        raise _no_list(where, html_summary(text)) from error


def _models(listing: Listing, value: Any, where: str) -> Iterator[RemoteModel]:
    # Together sends the list without an object around it.
    entries = value.get(listing.entries) if isinstance(value, dict) else value
    if entries is None and isinstance(value, dict) and listing.entries in value:
        entries = []
    if not isinstance(entries, list):
        raise _no_list(where, json.dumps(value)[:80])
    for entry in entries:
        name = entry.get(listing.id) if isinstance(entry, dict) else None
        if not isinstance(name, str) or not name.isprintable():
            continue
        methods = entry.get(listing.methods)
        if isinstance(methods, list) and listing.wanted not in methods:
            continue
        if name.startswith(listing.prefix):
            name = name[len(listing.prefix) :]
        if name:
            windows = (_tokens(entry.get(field)) for field in listing.windows)
            window = next((window for window in windows if window), None)
            yield RemoteModel(name, window, tuple(_abilities(listing, entry)))


def _abilities(listing: Listing, entry: Any) -> Iterator[str]:
    for ability, places in listing.abilities.items():
        if any(_tells(entry, place) for place in places):
            yield ability


def _tells(entry: Any, place: str) -> bool:
    path, _, member = place.partition("=")
    value = entry
    for field in path.split("."):
        value = value.get(field) if isinstance(value, dict) else None
    return isinstance(value, list) and member in value if member else value is True


def _tokens(value: Any) -> Optional[int]:
    return value if type(value) is int and value > 0 else None


def _no_list(where: str, what: str) -> NoListError:
    message = f"The reply is not a list of models: {what}"
    return NoListError(ErrorKind.MALFORMED, message, where=where, hint=_HINT)
