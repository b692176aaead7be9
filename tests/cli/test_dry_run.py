"""``--dry-run`` from outside: the request, and nothing sent or saved."""

from __future__ import annotations

import json
from typing import Any, Dict

import pytest

from tests.support.programs import conversations, environment, jpq, model_at, script
from tests.support.server import Server, answer

KEY = "sk-very-secret-0123456789"


def shown(*arguments: str, **environ: str) -> Dict[str, Any]:
    ran = jpq("--dry-run", *arguments, environ=environment(**environ))
    assert ran.code == 0, ran
    assert KEY not in ran.text + ran.err.decode()
    value: Dict[str, Any] = json.loads(ran.out)
    assert list(value) == ["method", "url", "headers", "body"]
    return value


def test_nothing_is_sent_and_nothing_is_saved() -> None:
    with Server(answer("Hi")) as server:
        arguments = [*model_at(server), "-s", "Be brief.", "-o", "temperature=0.5", "hi"]
        request = shown(*arguments)
        assert not server.seen and not conversations()
        assert jpq(*arguments).code == 0
        assert request["body"] == server.seen[0].json
        assert request["url"] == f"{server.url}/chat/completions"


@pytest.mark.parametrize(
    ("model", "variable", "header"),
    [
        ("openai/gpt-x", "OPENAI_API_KEY", "Authorization"),
        ("anthropic/claude-x", "ANTHROPIC_API_KEY", "x-api-key"),
        ("google/gemini-x", "GEMINI_API_KEY", "x-goog-api-key"),
        ("groq/m", "GROQ_API_KEY", "Authorization"),
    ],
)
def test_keys_are_masked(model: str, variable: str, header: str) -> None:
    request = shown("-m", model, "hi", **{variable: KEY})
    assert request["headers"][header] == "***" and request["method"] == "POST"
    assert request["url"].startswith("https://")


def test_no_key_is_needed() -> None:
    environ = environment(OPENAI_API_KEY=None)
    ran = jpq("--dry-run", "-m", "openai/gpt-x", "hi", environ=environ)
    assert ran.code == 0 and "Authorization" not in json.loads(ran.out)["headers"]
    assert "No key is set" in ran.told[0]


@pytest.mark.parametrize(
    "name", ["X-Token", "X-Passphrase", "X-Credential", "X-Signature", "X-Session", "X-PWD"]
)
def test_configured_headers_that_are_secret_are_masked(name: str) -> None:
    headers = f'providers.custom.headers={{ "{name}" = "hunter22" }}'
    request = shown("-m", "custom/m", "--base-url", "http://x.test/v1", "--set", headers, "hi")
    assert request["headers"][name] == "***"


def test_what_is_no_server_is_shown_as_a_chat(tmp_path: Any) -> None:
    request = shown("-m", "scripted/" + script(tmp_path, 'text = "x"'), "hi")
    assert request["url"].startswith("scripted:")
    assert request["body"]["messages"] == [{"role": "user", "content": "hi"}]
    assert shown("-m", "local/smollm2", "hi")["body"]["model"] == "smollm2"


def test_a_conversation_that_goes_on_stays_as_it_is(tmp_path: Any) -> None:
    model = ["-m", "scripted/" + script(tmp_path, 'text = "One."')]
    assert jpq(*model, "first").code == 0
    before = jpq("c", "show", "--format", "json").out
    messages = shown(*model, "-c", "second")["body"]["messages"]
    assert [message["content"] for message in messages] == ["first", "One.", "second"]
    assert jpq("c", "show", "--format", "json").out == before


def test_the_schema_is_in_it() -> None:
    request = shown("-m", "openai/gpt-x", "--schema", "name", "hi", OPENAI_API_KEY=KEY)
    assert request["body"]["text"]["format"]["schema"]["required"] == ["name"]


def test_what_is_wrong_is_told_as_always() -> None:
    jpq("--dry-run", "-m", "nowhere/x", "hi").failed_with(78, "nowhere")
    jpq("--dry-run", "-m", "openai/x", "--schema", "a b c", "hi").failed_with(2, "no field")


def test_into_a_file(tmp_path: Any) -> None:
    ran = jpq("--dry-run", "-m", "openai/x", "--output", f"{tmp_path}/r.json", "hi")
    assert (ran.code, ran.out) == (0, b"")
    assert json.loads((tmp_path / "r.json").read_text())["method"] == "POST"
