"""What could answer on this machine, and what to tell a person who has configured nothing."""

from __future__ import annotations

import http.client
import textwrap
from typing import Any, Iterable, List, Mapping, Sequence, Tuple

from jpq.config.paths import Paths, find_paths
from jpq.events import json_depth
from jpq.named import NamedTuple
from jpq.provider.base import ProviderRow
from jpq.provider.local_engine import engine_obstacle
from jpq.provider.registry import key_variable
from jpq.provider.rows import ROWS
from jpq.provider.weights import CATALOGUE, WeightsStore

PROBE_S = 0.5  # on loopback, who does not answer by then is not there
MAX_REPLY = 1 << 20


class Endpoint(NamedTuple):
    """Where a kind of local server listens by default, and where it lists its models."""

    server: str
    provider: str  # the row that asks it there
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


OLLAMA = Endpoint("Ollama", "ollama", "127.0.0.1", 11434, "/api/tags")
LLAMA_SERVER = Endpoint("llama-server", "llamacpp", "127.0.0.1", 8080, "/v1/models")
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
    """The providers with a key in the environment; ``key_env`` is the variable that has it."""
    found = [row._replace(key_env=key_variable(row, environ)) for row in rows]
    return [row for row in found if row.key_env and environ.get(row.key_env, "").strip()]


class Sources(NamedTuple):
    """What jpq looked at for a model, as found.

    ``installed`` names the embedded models on the disk; ``obstacle`` says why none can be
    run here, and is empty where one can.
    """

    config_file: str
    rows: Tuple[ProviderRow, ...]
    keyed: Tuple[ProviderRow, ...]
    listening: Tuple[Listening, ...]
    installed: Tuple[str, ...]
    obstacle: str


def look_around(
    paths: Paths,
    rows: Iterable[ProviderRow],
    environ: Mapping[str, str],
    endpoints: Iterable[Endpoint] = ENDPOINTS,
) -> Sources:
    """What there is on this machine. Waits at most PROBE_S for each of ``endpoints``."""
    rows = tuple(rows)
    store = WeightsStore(paths.data)
    return Sources(
        config_file=paths.config_file,
        rows=rows,
        keyed=tuple(rows_with_key(rows, environ)),
        listening=tuple(find_listening(endpoints)),
        installed=tuple(row.name for row in CATALOGUE if store.installed(row)),
        obstacle=engine_obstacle(),
    )


def ways_on(environ: Mapping[str, str], endpoints: Iterable[Endpoint] = ENDPOINTS) -> List[str]:
    """The lines for a person who has named no model: what was looked for, and three ways on."""
    return no_model_screen(look_around(find_paths(environ), ROWS, environ, endpoints))


def no_model_screen(sources: Sources) -> List[str]:
    """The lines of ``ways_on`` for what was found.

    One screen: at most 24 lines of 80 columns, unless the configuration's path is longer.
    """
    listening = ", ".join(
        f"{found.endpoint.server} on {found.endpoint.address}" for found in sources.listening
    )
    return [
        "No model is chosen. jpq looked for:",
        f"  `model` in {sources.config_file}: not set",
        "  JPQ_MODEL and -m: not given",
        f"  an API key: {_first([str(row.key_env) for row in sources.keyed]) or 'none found'}",
        f"  a server: {listening or 'none answers on this machine'}",
        f"  an embedded model: {_first(sources.installed) or 'none installed'}",
        "",
        "Three ways on:",
        "  1. The embedded model: no key, and nothing leaves this machine.",
        *_embedded_way(sources),
        "  2. A provider with a key:",
        *_key_way(sources),
        "  3. A server on this machine:",
        *_server_way(sources.listening),
        "",
        "To keep a choice: jpq config set model PROVIDER/MODEL",
    ]


def _first(names: Sequence[str]) -> str:
    """The names, or the first three of them and how many more there are."""
    more = len(names) - 3
    return ", ".join(names[:3]) + (f" and {more} more" if more > 0 else "")


def _embedded_way(sources: Sources) -> List[str]:
    if sources.obstacle:
        return [f"       {line}" for line in textwrap.wrap(f"Not here: {sources.obstacle}", 70)]
    if sources.installed:
        return [f'       jpq -m local/{sources.installed[0]} "Why is the sky blue?"']
    smallest = CATALOGUE[0]
    return [
        f'       jpq -m local/{smallest.name} "Why is the sky blue?"',
        f"       (fetches it once: {smallest.summary})",
    ]


def _key_way(sources: Sources) -> List[str]:
    if sources.keyed:
        return [f'       jpq -m {row.name}/MODEL "..."' for row in sources.keyed[:3]]
    variable = next((row.key_env for row in sources.rows if row.key_env), "")
    such_as = f", such as {variable}" if variable else ""
    return [f"       jpq keys set NAME, or set its variable{such_as}"]


def _server_way(listening: Sequence[Listening]) -> List[str]:
    lines = [f"       {how_to_use(found)}" for found in listening]
    return lines or ["       start Ollama or llama-server, then: jpq models ls"]


def how_to_use(found: Listening) -> str:
    """The command that asks the server ``found``."""
    model = found.models[0] if found.models else "MODEL"
    return f'jpq -m {found.endpoint.provider}/{model} "..."'


def _get(endpoint: Endpoint) -> Any:
    # http.client takes no proxy from the environment, which is what loopback needs.
    connection = http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=PROBE_S)
    try:
        connection.request("GET", endpoint.path)
        response = connection.getresponse()
        return json_depth.loads(response.read(MAX_REPLY)) if response.status == 200 else None
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
