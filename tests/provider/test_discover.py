"""Finding what can answer, and the screen for who has configured nothing."""

from __future__ import annotations

import json
import threading
from typing import Any, List

import pytest

from jpq.config.paths import find_paths
from jpq.provider import discover
from jpq.provider.base import ProviderRow
from jpq.provider.discover import (
    ENDPOINTS,
    LLAMA_SERVER,
    OLLAMA,
    Endpoint,
    Listening,
    Sources,
    find_listening,
    how_to_use,
    look_around,
    no_model_screen,
    ways_on,
)
from jpq.provider.rows import ROWS as BUILT_IN
from tests.support.server import DROP, WAIT_S, Pause, Server, error, head, refusing
from tests.support.weights import ENGINE_MISSING

ROWS = [
    ProviderRow("openai", "openai-chat", key_env="OPENAI_API_KEY"),
    ProviderRow("anthropic", "anthropic", key_env="ANTHROPIC_API_KEY"),
    ProviderRow("local", "local"),
]
TAGS = {"models": [{"name": "llama3.2:latest"}, {"name": "qwen3:4b"}]}
MODELS = {"models": [{"name": "/x.gguf"}], "object": "list", "data": [{"id": "gemma"}]}


BOTH = (Listening(OLLAMA, ("llama3.2:latest",)), Listening(LLAMA_SERVER, ("gemma",)))


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who answers is heard on any machine."""
    monkeypatch.setattr(discover, "PROBE_S", WAIT_S)


def reply(value: Any) -> List[Any]:
    return [head("application/json", chunked=False), json.dumps(value).encode()]


def at(kind: Endpoint, port: int) -> Endpoint:
    return kind._replace(port=port)


@pytest.mark.parametrize(
    "kind,value,models",
    [
        (OLLAMA, TAGS, ("llama3.2:latest", "qwen3:4b")),
        (OLLAMA, {"models": []}, ()),
        (LLAMA_SERVER, MODELS, ("gemma",)),
        (LLAMA_SERVER, {"data": [{"id": 3}, None, {"id": "ok"}]}, ("ok",)),
    ],
)
def test_a_server_that_listens_is_found(kind: Endpoint, value: Any, models: Any) -> None:
    with Server(reply(value)) as server:
        found = find_listening([at(kind, server.port)])
        assert [listening.models for listening in found] == [models]
        assert server.seen[0].path == kind.path


@pytest.mark.parametrize(
    "script",
    [
        error("404 Not Found", b"{}"),
        reply({"status": "ok"}),
        reply([1]),
        reply({"models": 3}),
        [head("text/html", chunked=False), b"<html>"],
        [b"SSH-2.0-OpenSSH\r\n"],
        [DROP],
    ],
    ids=["404", "other", "array", "number", "html", "ssh", "reset"],
)
def test_somebody_else_is_not(script: Any) -> None:
    with Server(script) as server:
        assert find_listening([at(OLLAMA, server.port), at(LLAMA_SERVER, server.port)]) == []


def test_proxies_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with Server(reply(TAGS)) as server:
        assert find_listening([at(OLLAMA, server.port)])


def test_a_closed_port_and_a_silent_server_do_not_hold_it_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(discover, "PROBE_S", 0.5)
    hurry = threading.Event()
    with refusing() as port, Server([Pause(hurry)]) as silent:
        assert find_listening([at(OLLAMA, port), at(OLLAMA, silent.port)]) == []
        hurry.set()


def test_the_usual_ports() -> None:
    assert [endpoint.address for endpoint in ENDPOINTS] == ["127.0.0.1:11434", "127.0.0.1:8080"]


FOUND = Sources(
    config_file="~/.config/jpq/config.toml",
    rows=tuple(ROWS),
    keyed=(),
    listening=(),
    installed=(),
    obstacle="",
)


@pytest.mark.parametrize("keyed", [(), tuple(ROWS[:2]), tuple(ROWS[:2] * 4)])
@pytest.mark.parametrize("listening", [(), BOTH[:1], BOTH])
@pytest.mark.parametrize("installed", [(), ("smollm2",)])
@pytest.mark.parametrize("obstacle", ["", "The embedded model needs Python 3.10 or newer; " * 2])
def test_the_ways_on_fit_one_screen(
    keyed: Any, listening: Any, installed: Any, obstacle: str
) -> None:
    lines = no_model_screen(FOUND._replace(**locals()))
    text = "\n".join(lines)
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    assert "~/.config/jpq/config.toml" in text and "JPQ_MODEL" in text
    assert ("OPENAI_API_KEY" in text and "jpq -m openai/MODEL" in text) or not keyed
    assert ("jpq -m ollama/llama3.2:latest" in text) == bool(listening)
    assert ("an embedded model: smollm2" in text) == bool(installed)
    assert ("jpq -m local/smollm2" in text) == (not obstacle)
    assert ("fetches it once" in text) == (not obstacle and not installed)


def test_looking_around(own_home: str) -> None:
    environ = {"JPQ_HOME": own_home, "OPENAI_API_KEY": "sk-very-secret", "ANTHROPIC_API_KEY": " "}
    with Server(reply(TAGS)) as server:
        here = at(OLLAMA, server.port)
        sources = look_around(find_paths(environ), ROWS, environ, [here])
    assert sources.keyed == (ROWS[0],)
    assert sources.listening == (Listening(here, ("llama3.2:latest", "qwen3:4b")),)
    assert sources.installed == ()
    assert bool(sources.obstacle) == bool(ENGINE_MISSING)


def test_the_variable_that_has_the_key_is_the_one_that_is_told(own_home: str) -> None:
    for variable in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
        text = "\n".join(ways_on({"JPQ_HOME": own_home, variable: "AI-very-secret"}, []))
        assert f"an API key: {variable}\n" in text and "jpq -m google/MODEL" in text


def test_the_screen_for_this_machine_shows_no_key(own_home: str) -> None:
    environ = {"JPQ_HOME": own_home, "OPENAI_API_KEY": "sk-very-secret"}
    with Server(reply(TAGS)) as server:
        text = "\n".join(ways_on(environ, [at(OLLAMA, server.port)]))
        assert f"Ollama on 127.0.0.1:{server.port}" in text and own_home in text
    assert "OPENAI_API_KEY" in text and "jpq -m openai/MODEL" in text
    assert "sk-very" not in text


def test_the_screen_with_all_built_in_providers_fits(own_home: str) -> None:
    found = look_around(find_paths({"JPQ_HOME": "/h"}), BUILT_IN, {}, [])
    assert max(map(len, no_model_screen(found))) <= 80


def test_how_a_server_is_used() -> None:
    assert how_to_use(Listening(OLLAMA, ())) == 'jpq -m ollama/MODEL "..."'
    assert how_to_use(Listening(LLAMA_SERVER, ("gemma",))) == 'jpq -m llamacpp/gemma "..."'


def test_a_server_is_asked_where_it_was_found() -> None:
    rows = {row.name: row for row in BUILT_IN}
    for endpoint in ENDPOINTS:
        assert endpoint.address in rows[endpoint.provider].base_url
