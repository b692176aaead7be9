"""Which models a provider says it has, asked over real sockets."""

from __future__ import annotations

import json
import os
import threading
from typing import Any, Iterator, List, Tuple

import pytest

from jpq.config.paths import find_paths
from jpq.errors import ConfigError, ErrorKind, StreamError
from jpq.provider.base import ProviderRow
from jpq.provider.listing import LISTINGS, fetch_models
from jpq.provider.listing_cache import KeptList, RemoteModel, age_words, keep, kept
from jpq.provider.registry import APIS, resolve
from jpq.wire.transport import Transport
from tests.support.server import LAST_CHUNK, Pause, Seen, Server, chunk, error, head, refusing

OPENAI = {"data": [{"id": "b", "object": "model"}, {"id": "a", "context_length": 8192}]}
ANTHROPIC = {"data": [{"type": "model", "id": "claude", "max_input_tokens": 200000}]}
GOOGLE = {
    "models": [
        {
            "name": "models/gemini",
            "inputTokenLimit": 1048576,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
        },
        {"name": "models/embedding", "supportedGenerationMethods": ["embedContent"]},
    ]
}
OLLAMA = {"models": [{"name": "qwen3:4b", "model": "qwen3:4b", "size": 1}]}


@pytest.fixture
def transport() -> Iterator[Transport]:
    opened = Transport()
    yield opened
    opened.close()


def answer(value: Any) -> List[Any]:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return [head("application/json"), chunk(body), LAST_CHUNK]


def asked(
    transport: Transport, name: str, value: Any, **overrides: Any
) -> Tuple[List[RemoteModel], Seen]:
    with Server(answer(value)) as server:
        base_url = f"http://127.0.0.1:{server.port}"
        row = resolve(name, {"base_url": base_url, **overrides}, {})
        models = fetch_models(row, "secret-key", transport)
    (seen,) = server.seen
    assert (seen.method, seen.body) == ("GET", b"")
    return models, seen


@pytest.mark.parametrize(
    "name,reply,path,header,models",
    [
        ("openai", OPENAI, "/v1/models", "authorization", [("a", 8192), ("b", None)]),
        ("groq", {"data": [{"id": "x", "context_window": 9}]}, "/openai/v1/models",
         "authorization", [("x", 9)]),
        ("mistral", {"data": [{"id": "x", "max_context_length": 9}]}, "/v1/models",
         "authorization", [("x", 9)]),
        ("vllm", {"data": [{"id": "x", "max_model_len": 9}]}, "/v1/models",
         "authorization", [("x", 9)]),
        ("together", [{"id": "x", "context_length": 9}], "/v1/models",
         "authorization", [("x", 9)]),
        ("anthropic", ANTHROPIC, "/v1/models?limit=1000", "x-api-key", [("claude", 200000)]),
        ("google", GOOGLE, "/v1beta/models?pageSize=1000", "x-goog-api-key",
         [("gemini", 1048576)]),
        ("ollama", OLLAMA, "/api/tags", "authorization", [("qwen3:4b", None)]),
    ],
)  # fmt: skip
def test_each_api_lists_its_models_in_its_own_way(
    transport: Transport, name: str, reply: Any, path: str, header: str, models: List[Any]
) -> None:
    found, seen = asked(transport, name, reply)
    assert found == [RemoteModel(*model) for model in models]
    assert seen.path == path
    sent = {key.lower(): value for key, value in seen.headers.items()}
    assert "secret-key" in sent[header]
    assert ("anthropic-version" in sent) == (name == "anthropic")


OPENROUTER_MODEL = {
    "id": "x",
    "architecture": {"input_modalities": ["text", "image", "file"], "modality": "text->text"},
    "supported_parameters": ["tools", "tool_choice", "reasoning", "temperature"],
}
MISTRAL_MODEL = {"id": "x", "capabilities": {"vision": True, "function_calling": False}}
ANTHROPIC_MODEL = {
    "id": "x",
    "capabilities": {
        "image_input": {"supported": True},
        "pdf_input": {"supported": False},
        "thinking": {"supported": True, "types": {"enabled": {"supported": True}}},
    },
}


@pytest.mark.parametrize(
    "name, entry, abilities",
    [
        ("openrouter", OPENROUTER_MODEL, ("images", "pdf", "tools", "reasoning")),
        ("mistral", MISTRAL_MODEL, ("images",)),
        ("anthropic", ANTHROPIC_MODEL, ("images", "reasoning")),
        ("anthropic", {"id": "x", "capabilities": None}, ()),
        ("google", {"name": "models/x", "thinking": True}, ("reasoning",)),
        ("openai", {"id": "x", "architecture": "MoE", "supported_parameters": 3}, ()),
        ("openai", {"id": "x", "capabilities": ["vision"], "supported_parameters": {}}, ()),
        ("ollama", {"name": "x", "capabilities": {"vision": True}}, ()),
    ],
)
def test_what_a_model_is_said_to_be_able_to(
    transport: Transport, name: str, entry: Any, abilities: Any
) -> None:
    listed = {LISTINGS[resolve(name, {}, {}).api].entries: [entry]}
    assert asked(transport, name, listed)[0] == [RemoteModel("x", None, abilities)]


def test_a_gateway_without_a_version_in_its_url_is_asked_where_it_is(transport: Transport) -> None:
    with Server(answer(ANTHROPIC)) as server:
        base = f"http://127.0.0.1:{server.port}/gate"
        fetch_models(resolve("anthropic", {"base_url": base}, {}), None, transport)
    assert server.seen[0].path == "/gate/v1/models?limit=1000"


def test_a_query_in_the_url_stays(transport: Transport) -> None:
    with Server(answer(GOOGLE)) as server:
        row = ProviderRow("g", "google", f"http://127.0.0.1:{server.port}/v1beta?a=1")
        fetch_models(row, None, transport)
    assert server.seen[0].path == "/v1beta/models?a=1&pageSize=1000"


@pytest.mark.parametrize(
    "reply",
    [
        {"data": [1, {}, {"id": 3}, {"id": ""}, {"id": "\x1b[2J"}, {"id": "ok"}, {"id": "ok"}]},
        {"data": [{"id": "ok", "context_length": "8k"}]},
        {"data": [{"id": "ok", "context_length": True}]},
    ],
)
def test_what_is_no_model_is_passed_over(transport: Transport, reply: Any) -> None:
    assert asked(transport, "openai", reply)[0] == [RemoteModel("ok")]


@pytest.mark.parametrize("reply", [{"data": []}, {"data": None}, []])
def test_no_models_are_no_error(transport: Transport, reply: Any) -> None:
    assert asked(transport, "openai", reply)[0] == []


@pytest.mark.parametrize("reply", [b"<html><title>Hi</title></html>", b"", {"x": 1}, b"7"])
def test_what_is_no_list_is_refused(transport: Transport, reply: Any) -> None:
    with pytest.raises(StreamError) as caught:
        asked(transport, "openai", reply)
    assert caught.value.kind is ErrorKind.MALFORMED and caught.value.hint


def test_a_refused_key_is_told_and_never_shown(transport: Transport) -> None:
    refusal = {"error": {"message": "Incorrect API key provided: secret-key", "code": "x"}}
    with Server(error("401 Unauthorized", json.dumps(refusal).encode())) as server:
        row = resolve("openai", {"base_url": server.url}, {})
        with pytest.raises(StreamError) as caught:
            fetch_models(row, "secret-key", transport)
    assert caught.value.kind is ErrorKind.AUTH
    assert "secret-key" not in str(caught.value) and "/v1/models" in caught.value.where


def test_a_server_that_is_not_there(transport: Transport) -> None:
    with refusing() as port, pytest.raises(StreamError) as caught:
        row = resolve("openai", {"base_url": f"http://127.0.0.1:{port}/v1"}, {})
        fetch_models(row, None, transport)
    assert caught.value.kind is ErrorKind.UNREACHABLE


@pytest.mark.parametrize("headers_come", [True, False])
def test_a_list_that_does_not_come_is_given_up(transport: Transport, headers_come: bool) -> None:
    never = threading.Event()
    start = [head("application/json"), chunk(b'{"data":')] if headers_come else []
    with Server([*start, Pause(never)]) as server:
        row = resolve("openai", {"base_url": server.url}, {})
        with pytest.raises(StreamError) as caught:
            fetch_models(row, None, transport, timeout_s=0.1)
        never.set()
    assert caught.value.kind is ErrorKind.STALLED and "0.1 s" in caught.value.message


@pytest.mark.parametrize("name", ["local", "scripted"])
def test_what_has_no_list_says_so(transport: Transport, name: str) -> None:
    with pytest.raises(ConfigError, match="no list"):
        fetch_models(resolve(name, {}, {}), None, transport)


def test_every_wire_api_has_a_list() -> None:
    assert set(LISTINGS) == {name for name, api in APIS.items() if not api.provider}


# What is kept

ROW = ProviderRow("acme/x", "openai-chat", "http://a.test/v1")
MODELS = (RemoteModel("a", 8192, ("images", "tools")), RemoteModel("b"))


@pytest.fixture
def cache(own_home: str) -> str:
    return find_paths(os.environ).cache


def test_a_list_is_kept_for_its_address_only(cache: str) -> None:
    assert kept(cache, ROW) is None
    keep(cache, ROW, MODELS, 1000.5)
    assert kept(cache, ROW) == KeptList(MODELS, 1000.5)
    assert kept(cache, ROW._replace(base_url="http://b.test/v1")) is None
    assert os.listdir(os.path.join(cache, "models")) == ["acme%2Fx.json"]


@pytest.mark.parametrize("text", ["", "{", "null", "[]", "{}", '{"base_url": "http://a.test/v1"}'])
def test_a_damaged_list_is_as_good_as_none(cache: str, text: str) -> None:
    keep(cache, ROW, MODELS, 1.0)
    with open(os.path.join(cache, "models", "acme%2Fx.json"), "w") as file:
        file.write(text)
    assert kept(cache, ROW) is None


@pytest.mark.parametrize(
    "seconds,words",
    [
        (-5, "just now"),
        (59, "just now"),
        (60, "1 minute ago"),
        (3599, "59 minutes ago"),
        (7200, "2 hours ago"),
        (86400, "1 day ago"),
        (86400 * 40, "40 days ago"),
    ],
)
def test_ages_in_words(seconds: float, words: str) -> None:
    assert age_words(seconds) == words
