"""Finding providers, APIs and models by name."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any, Dict

import pytest

from jpq.config import table
from jpq.conversation.thread import Message, Thread, ThreadText
from jpq.errors import ConfigError, ExitCode
from jpq.provider.base import ModelRef, ProviderRequest
from jpq.provider.registry import APIS, load_api, parse_model, provider_names, resolve
from jpq.provider.rows import ROWS


def test_every_row_resolves_to_itself() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)
    for row in ROWS:
        overrides = {"base_url": "http://x.test/v1"} if row.name in ("azure", "custom") else {}
        expected = row._replace(base_url=overrides.get("base_url", row.base_url))
        assert resolve(row.name, overrides, {}) == expected


def test_the_configuration_knows_every_api() -> None:
    assert set(APIS) <= set(table.APIS)


def test_a_wire_api_is_a_module_with_the_four_names() -> None:
    module = load_api("openai-chat")
    assert module.FRAMING == "sse"
    for name in ("encode", "make_decoder", "read_response"):
        assert callable(getattr(module, name))
    assert load_api("scripted").__name__ == "ScriptedProvider"


def test_the_registry_loads_no_api_and_nothing_heavy() -> None:
    code = (
        "import sys, jpq.provider.registry;"
        "heavy = {'requests', 'jpq.provider.openai_chat', 'difflib', 'tomllib', 'tomli'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_overrides_are_laid_over_the_built_in_row() -> None:
    overrides: Dict[str, Any] = {
        "base_url": "https://proxy.test",
        "api_key_env": "MY_KEY",
        "api_key_cmd": ["pass", "show", "x"],
        "headers": {"X-Org": "acme"},
        "ca_bundle": "/ca.pem",
        "quirks": {"prefill": True},
    }
    row = resolve("cerebras", overrides, {})
    assert row.base_url == "https://proxy.test/v1"
    assert (row.key_env, row.key_cmd) == ("MY_KEY", ("pass", "show", "x"))
    assert (row.headers, row.ca_bundle) == ({"X-Org": "acme"}, "/ca.pem")
    assert row.quirks["prefill"] and row.quirks["max_tokens_field"] == "max_completion_tokens"
    assert row.api == "openai-chat"


def test_an_empty_key_variable_means_that_no_key_is_needed() -> None:
    assert resolve("openai", {"api_key_env": ""}, {}).key_env is None


@pytest.mark.parametrize(
    "name,environ,base_url",
    [
        ("openai", {"OPENAI_BASE_URL": "http://env.test/v1/"}, "http://env.test/v1"),
        ("openai", {"OPENAI_BASE_URL": " "}, "http://file.test/v1"),
        ("ollama", {"OLLAMA_HOST": "0.0.0.0:1234"}, "http://127.0.0.1:1234"),
        ("groq", {"GROQ_BASE_URL": "https://api.groq.com"}, "https://api.groq.com/openai/v1"),
    ],
)
def test_the_environment_overrides_the_base_url(
    name: str, environ: Dict[str, str], base_url: str
) -> None:
    assert resolve(name, {"base_url": "http://file.test/v1"}, environ).base_url == base_url


def test_a_provider_of_ones_own() -> None:
    overrides = {"api": "openai-chat", "base_url": "http://box:9000", "api_key_env": "BOX_KEY"}
    row = resolve("box", overrides, {})
    assert (row.name, row.api, row.base_url) == ("box", "openai-chat", "http://box:9000/v1")
    assert row.key_env == "BOX_KEY"
    assert provider_names(["box", "openai"])[-1] == "box"


CHAT, CLAUDE = "/v1/chat/completions", "/v1/messages"
STREAM = "/v1beta/models/m:streamGenerateContent?alt=sse"


@pytest.mark.parametrize(
    "api, written, meant",
    [
        ("openai-chat", "http://box.test", CHAT),
        ("openai-chat", "http://box.test/", CHAT),
        ("openai-chat", "http://box.test/v1", CHAT),
        ("openai-chat", "http://box.test/v1/", CHAT),
        ("openai-chat", "http://box.test/v1/chat/completions", CHAT),
        ("openai-chat", "http://box.test/api/paas/v4/", "/api/paas/v4/chat/completions"),
        ("openai-responses", "http://box.test", "/v1/responses"),
        ("openai-responses", "http://box.test/v1/", "/v1/responses"),
        ("openai-responses", "http://box.test/v1/responses", "/v1/responses"),
        ("anthropic", "http://box.test", CLAUDE),
        ("anthropic", "http://box.test/v1/", CLAUDE),
        ("anthropic", "http://box.test/v1/messages", CLAUDE),
        ("anthropic", "http://box.test/anthropic", "/anthropic/v1/messages"),
        ("google", "http://box.test", STREAM),
        ("google", "http://box.test/", STREAM),
        ("google", "http://box.test/v1beta/", STREAM),
        ("google", "http://box.test/v1beta/models", STREAM),
        ("google", "http://box.test/v1beta/models/m:generateContent", STREAM),
        ("google", "http://box.test/v1", STREAM.replace("v1beta", "v1")),
        ("google", "http://box.test/gemini/v1beta", f"/gemini{STREAM}"),
        ("ollama", "http://box.test", "/api/chat"),
        ("ollama", "http://box.test/", "/api/chat"),
        ("ollama", "http://box.test/v1", "/api/chat"),
        ("ollama", "http://box.test/api", "/api/chat"),
        ("ollama", "http://box.test/api/chat", "/api/chat"),
        ("ollama", "http://box.test/ollama/", "/ollama/api/chat"),
    ],
)
@pytest.mark.parametrize("name", ["box", "custom"])
def test_where_the_requests_for_a_base_url_go(
    name: str, api: str, written: str, meant: str
) -> None:
    row = resolve(name, {"api": api, "base_url": written}, {})
    request = ProviderRequest("m", Thread("", (Message("user", (ThreadText("Hi"),)),)))
    assert load_api(api).encode(request, row, None).url == f"http://box.test{meant}"


@pytest.mark.parametrize("path", ["/openai/v1", "openai/v1/"])
def test_the_path_that_every_host_of_a_provider_has(path: str) -> None:
    overrides = {"api": "openai-chat", "base_url": "mine.test", "quirks": {"base_path": path}}
    assert resolve("box", overrides, {}).base_url == "https://mine.test/openai/v1"
    azure = resolve("azure", {}, {"AZURE_OPENAI_ENDPOINT": "https://me.openai.azure.com/"})
    assert azure.base_url == "https://me.openai.azure.com/openai/v1"


@pytest.mark.parametrize(
    "name,overrides,words",
    [
        ("opnai", {}, ["opnai", "'openai'", "[providers.opnai]"]),
        ("zzz", {}, ["zzz", "openrouter"]),
        ("box", {"base_url": "http://x.test"}, ["needs an api", "openai-chat"]),
        (
            "box",
            {"api": "openai-caht", "base_url": "http://x.test"},
            ["openai-caht", "openai-chat"],
        ),
        ("box", {"api": "openai-chat"}, ["base_url"]),
        ("custom", {}, ["base_url", "providers.custom.base_url"]),
        ("openai", {"base_url": "htp://x"}, ["htp://x", "[providers.openai]"]),
    ],
)
def test_what_cannot_be_resolved(name: str, overrides: Dict[str, Any], words: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(name, overrides, {})
    error = caught.value
    told = "\n".join((error.message, error.where, error.hint))
    assert all(word in told for word in words)
    assert error.exit_code is ExitCode.CONFIG


@pytest.mark.parametrize(
    "text,model",
    [
        ("openai/gpt-5-mini", ModelRef("openai", "gpt-5-mini")),
        ("openrouter/meta/llama-3:free", ModelRef("openrouter", "meta/llama-3:free")),
        ("scripted//tmp/demo.toml", ModelRef("scripted", "/tmp/demo.toml")),
        ("fast", ModelRef("groq", "llama")),
        ("a/b", ModelRef("openai", "o")),
        (" openai/x ", ModelRef("openai", "x")),
    ],
)
def test_models(text: str, model: ModelRef) -> None:
    assert parse_model(text, {"fast": "groq/llama", "a/b": "openai/o"}) == model


@pytest.mark.parametrize(
    "text,words",
    [
        ("fats", ["'fast'", "fats"]),
        ("gpt-5", ["PROVIDER/MODEL", "ollama/gpt-5"]),
        ("openai", ["names no model", "openai/MODEL"]),
        ("openai/", ["names no model", "openai/MODEL"]),
        ("/gpt", ["names no model"]),
        ("", ["PROVIDER/MODEL"]),
        ("broken", ["'nothing'", "alias broken"]),
    ],
)
def test_what_is_no_model(text: str, words: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_model(text, {"fast": "groq/llama", "broken": "nothing"})
    told = "\n".join((caught.value.message, caught.value.where, caught.value.hint))
    assert all(word in told for word in words)


def test_the_documentation_has_every_row_and_quirk() -> None:
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with open(os.path.join(root, "docs", "providers.md"), encoding="utf-8") as file:
        lines = file.read().split("\n")
    for row in ROWS:
        (line,) = [line for line in lines if line.startswith(f"| `{row.name}` |")]
        facts = (row.api, row.base_url, row.base_url_env, row.key_env, *row.quirks)
        assert all(f"`{fact}`" in line for fact in facts if fact), row.name
        for quirk in row.quirks:
            assert any(line.startswith(f"| `{quirk}` |") for line in lines), quirk
