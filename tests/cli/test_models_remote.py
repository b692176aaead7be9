"""``jpq models ls --provider X --remote``, against a server on this machine."""

from __future__ import annotations

import io
import json
import os
import time
from typing import Any, Dict, List

import pytest

from jpq.cli.environment import Environment
from jpq.cli.models_cmd import build_parser, run
from jpq.config.paths import find_paths
from jpq.errors import ConfigError, DeniedError, StreamError
from tests.support.server import LAST_CHUNK, Server, chunk, error, head

ABLE = {"capabilities": {"vision": True, "function_calling": True, "completion_fim": False}}
LIST = {"data": [{"id": "m-large", "context_length": 32768, **ABLE}, {"id": "m-small"}]}


class Shell:
    """Runs ``jpq models`` in this test's home; ``err`` is what the last run told."""

    def __init__(self, folder: str) -> None:
        self.environ = {**os.environ, "OPENAI_API_KEY": "sk-very-secret"}
        self.err = ""
        self._folder = folder

    def __call__(self, *words: str) -> str:
        stdout, stderr = io.BytesIO(), io.BytesIO()
        env = Environment(self.environ, self._folder, None, stdout, stderr)
        try:
            assert run(build_parser("jpq models").parse_args(words), env) == 0
        finally:
            self.err = stderr.getvalue().decode()
        return stdout.getvalue().decode()


@pytest.fixture
def models(tmp_path: Any) -> Shell:
    return Shell(str(tmp_path))


def answer(value: Any) -> List[Any]:
    return [head("application/json"), chunk(json.dumps(value).encode()), LAST_CHUNK]


def test_a_list_is_fetched_shown_and_kept(models: Shell) -> None:
    with Server(answer(LIST)) as server:
        models.environ["OPENAI_BASE_URL"] = server.url
        shown = models("ls", "--provider", "openai", "--remote")
        assert shown.splitlines() == [
            "openai/m-large  offered  32768 tokens of context, images, tools, listed just now",
            "openai/m-small  offered  listed just now",
        ]
        assert models.err == ""
        assert models("ls", "--provider", "openai") == shown, "kept, and not asked for again"
    (seen,) = server.seen
    assert seen.headers["authorization"] == "Bearer sk-very-secret"


def test_for_programs_it_is_json(models: Shell) -> None:
    with Server(answer(LIST)) as server:
        models.environ["OPENAI_BASE_URL"] = server.url
        rows = json.loads(models("ls", "--provider", "openai", "--remote", "--format", "json"))
    fields = ("model", "provider", "context_window", "abilities")
    assert [tuple(row[field] for field in fields) for row in rows] == [
        ("openai/m-large", "openai", 32768, ["images", "tools"]),
        ("openai/m-small", "openai", None, []),
    ]
    assert time.strptime(rows[0]["fetched_at"], "%Y-%m-%dT%H:%M:%SZ")


def grow_old(environ: Dict[str, str], hours: int) -> None:
    path = os.path.join(find_paths(environ).cache, "models", "openai.json")
    with open(path) as file:
        value = json.load(file)
    value["fetched_at"] -= hours * 3600
    with open(path, "w") as file:
        json.dump(value, file)


def test_offline_the_kept_list_is_shown_with_its_age(models: Shell) -> None:
    with Server(answer(LIST)) as server:
        models.environ["OPENAI_BASE_URL"] = server.url
        models("ls", "--provider", "openai", "--remote")
    grow_old(models.environ, hours=3)
    shown = models("ls", "--provider", "openai", "--remote")
    assert "openai/m-small  offered  listed 3 hours ago" in shown
    told = models.err.splitlines()
    assert "Nothing answers" in told[0] and len(told) <= 5
    assert told[-1] == "jpq: This is the list of 3 hours ago."


def test_offline_without_a_list_the_error_is_the_result(models: Shell) -> None:
    with Server([]) as server:
        models.environ["OPENAI_BASE_URL"] = server.url
    with pytest.raises(StreamError) as caught:
        models("ls", "--provider", "openai", "--remote")
    assert int(caught.value.exit_code) == 69


def test_a_refused_key_is_never_shown(models: Shell) -> None:
    refusal = error("401 Unauthorized", b'{"error": {"message": "bad key sk-very-secret"}}')
    with Server(answer(LIST), refusal) as server:
        models.environ["OPENAI_BASE_URL"] = server.url
        models("ls", "--provider", "openai", "--remote")
        shown = models("ls", "--provider", "openai", "--remote")
    assert "m-large" in shown and "API key" in models.err
    assert "very-secret" not in shown + models.err


def test_without_a_key_it_says_how_to_give_one(models: Shell) -> None:
    with pytest.raises(DeniedError) as caught:
        models("ls", "--provider", "groq", "--remote")
    assert "jpq keys set groq" in caught.value.hint


@pytest.mark.parametrize("name,problem", [("opnai", "no provider"), ("local", "no list")])
def test_a_provider_that_cannot_be_asked(models: Shell, name: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        models("ls", "--provider", name, "--remote")


def test_every_provider_with_a_key_is_asked_and_one_failure_hides_nothing(models: Shell) -> None:
    with Server(answer(LIST)) as server, Server(error("500 Oops", b'{"error": "down"}')) as broken:
        models.environ.update(
            OPENAI_BASE_URL=server.url, GROQ_API_KEY="gsk", GROQ_BASE_URL=broken.url
        )
        shown = models("ls", "--remote")
    assert "openai/m-large" in shown and "openai/MODEL" not in shown
    assert "groq/MODEL" in shown and "local/smollm2" in shown
    assert "down" in models.err


def test_without_remote_it_says_how_to_ask(models: Shell) -> None:
    shown = models("ls", "--provider", "openai")
    assert shown.split() == ["openai/MODEL", "configured", "key", "from", "OPENAI_API_KEY"]
    assert "jpq models ls --provider openai --remote" in models.err


def test_a_provider_without_models_says_so(models: Shell) -> None:
    with Server(answer({"models": []})) as server:
        models.environ["OLLAMA_HOST"] = f"127.0.0.1:{server.port}"
        assert models("ls", "--provider", "ollama", "--remote") == ""
    assert models.err == "jpq: ollama offers no model.\n"


def test_a_list_that_cannot_be_kept_is_shown_all_the_same(models: Shell, tmp_path: Any) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "cache").write_text("a file where the folder should be")
    models.environ["JPQ_HOME"] = str(home)
    with Server(answer(LIST)) as server:
        models.environ["OPENAI_BASE_URL"] = server.url
        assert "m-large" in models("ls", "--provider", "openai", "--remote")
    assert "could not be kept" in models.err
