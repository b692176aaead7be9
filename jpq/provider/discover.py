"""What could answer on this machine, and what to tell a person who has configured nothing."""

from __future__ import annotations

import http.client
import json
from typing import Any, Iterable, List, Mapping, NamedTuple, Sequence, Tuple

from jpq.provider.base import ProviderRow

PROBE_S = 0.5  # on loopback, who does not answer by then is not there
MAX_REPLY = 1 << 20


class Endpoint(NamedTuple):
    """Where a kind of local server listens by default, and where it lists its models."""

    server: str
    host: str
    port: int
    path: str

    @property
    def address(self) -> str:
        """``host:port``."""
        return f"{self.host}:{self.port}"


class Listening(NamedTuple):
    """A server that answered, and the models that it has."""

    endpoint: Endpoint
    models: Tuple[str, ...]


OLLAMA = Endpoint("Ollama", "127.0.0.1", 11434, "/api/tags")
LLAMA_SERVER = Endpoint("llama-server", "127.0.0.1", 8080, "/v1/models")
ENDPOINTS = (OLLAMA, LLAMA_SERVER)


def find_listening(endpoints: Iterable[Endpoint] = ENDPOINTS) -> List[Listening]:
    """The servers among ``endpoints`` that answer as such a server does. Never raises."""
    found = []
    for endpoint in endpoints:
        reply = _get(endpoint)
        entries = _entries(reply)
        if entries is not None:
            found.append(Listening(endpoint, tuple(entries)))
    return found


def rows_with_key(rows: Iterable[ProviderRow], environ: Mapping[str, str]) -> List[ProviderRow]:
    """The providers whose key variable is set."""
    return [row for row in rows if row.key_env and environ.get(row.key_env, "").strip()]


def ways_on(
    config_file: str,
    rows: Sequence[ProviderRow],
    environ: Mapping[str, str],
    listening: Sequence[Listening],
    installed: Sequence[str],
) -> List[str]:
    """The lines for a person who has named no model: what was looked for, and three ways on.

    ``installed`` names the embedded models that are on the disk. One screen: at most 24
    lines of 80 columns, as long as the paths are not longer.
    """
    keyed = rows_with_key(rows, environ)
    keys = [row.key_env for row in rows if row.key_env]
    return [
        "No model is chosen. jpq looked for:",
        f"  `model` in {config_file}: not set",
        "  JPQ_MODEL and -m: not given",
        "  an API key: " + (", ".join(f"{row.key_env} is set" for row in keyed) or "none found"),
        "  a server on this machine: " + ("; ".join(map(_described, listening)) or "none answers"),
        "  an embedded model: " + (", ".join(f"local/{name}" for name in installed) or "none yet"),
        "",
        "Three ways on:",
        "  1. The embedded model: no key, nothing leaves this machine, a 93 MB download.",
        '       jpq -m local/smollm2 "Why is the sky blue?"',
        "  2. A provider with a key:",
        *_key_way(keyed, keys),
        "  3. A server on this machine:",
        *_server_way(listening),
        "",
        "To keep a choice: jpq config set model PROVIDER/MODEL",
    ]


def _key_way(keyed: Sequence[ProviderRow], keys: Sequence[Any]) -> List[str]:
    if keyed:
        return [f'       jpq -m {row.name}/MODEL "..."' for row in keyed[:3]]
    known = ", ".join(str(key) for key in keys[:3])
    return [
        f"       set {known} or another, or: jpq keys set NAME"
        if known
        else "       jpq keys set NAME"
    ]


def _server_way(listening: Sequence[Listening]) -> List[str]:
    lines = [f"       {way}" for found in listening for way in how_to_use(found)]
    return lines or ["       start Ollama or llama-server, then: jpq models ls"]


def how_to_use(found: Listening) -> List[str]:
    """The commands that make jpq ask the server ``found``."""
    model = found.models[0] if found.models else "MODEL"
    if found.endpoint.server == OLLAMA.server:
        return [f'jpq -m ollama/{model} "..."']
    return [
        "jpq config set providers.llama-server.api openai-chat",
        f"jpq config set providers.llama-server.base_url http://{found.endpoint.address}/v1",
        f'jpq -m llama-server/{model} "..."',
    ]


def _described(found: Listening) -> str:
    count = len(found.models)
    return f"{found.endpoint.server} on {found.endpoint.address} ({count} model{'s'[: count != 1]})"


def _get(endpoint: Endpoint) -> Any:
    # http.client takes no proxy from the environment, which is what loopback needs.
    connection = http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=PROBE_S)
    try:
        connection.request("GET", endpoint.path)
        response = connection.getresponse()
        return json.loads(response.read(MAX_REPLY)) if response.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError):
        return None  # nobody there, or somebody else
    finally:
        connection.close()


def _entries(reply: Any) -> Any:
    """The names in a list of models; None when it is not one."""
    if not isinstance(reply, dict):
        return None
    entries = reply.get("models" if "data" not in reply else "data")
    if not isinstance(entries, list):
        return None
    names = (entry.get("id") or entry.get("name") for entry in entries if isinstance(entry, dict))
    return [name for name in names if isinstance(name, str)]
