"""What the Tab key finds in ``jpq chat``."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any, Sequence

import pytest

from jpq.cli.chat.completion import Completion
from jpq.config.load import load_config
from jpq.config.paths import find_paths
from jpq.provider.listing_cache import RemoteModel, keep
from jpq.provider.registry import resolve

SETTINGS = """
[aliases]
fast = "custom/quick"
[providers.mine]
api = "openai-chat"
base_url = "http://127.0.0.1:1/v1"
[providers.broken]
base_url = "http://127.0.0.1:1/v1"
[tools.count]
command = ["true"]
[tools.shell]
run = "ask"
"""


@pytest.fixture
def complete(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    paths = find_paths(os.environ)
    os.makedirs(os.environ["JPQ_HOME"], exist_ok=True)
    with open(os.path.join(os.environ["JPQ_HOME"], "config.toml"), "w", encoding="utf-8") as file:
        file.write(SETTINGS)
    config = load_config(paths, os.environ, str(tmp_path))
    row = resolve("mine", config.table("providers")["mine"], os.environ)
    keep(paths.cache, row, [RemoteModel("small"), RemoteModel("large")], 0.0)
    for name in ("notes.txt", "notes.md", ".hidden", "bad\nname", "my file"):
        (tmp_path / name).write_text("x")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "inside").write_text("x")
    env = SimpleNamespace(paths=paths, environ=os.environ, cwd=str(tmp_path))
    answering = SimpleNamespace(server_tools={"server/echo": None})
    completion = Completion(SimpleNamespace(config=config, env=env, answering=answering))  # type: ignore[arg-type]

    def completed(line: str) -> Sequence[str]:
        return completion(line, line.rpartition(" ")[2])

    return completed


def test_commands(complete: Any) -> None:
    assert complete("/mo") == ["/model "]
    assert complete("/t") == ["/tools", "/title", "/tokens"]
    assert complete("/nothing") == [] == complete("mo")
    assert complete("/help und") == ["undo "]
    assert complete("/edit ") == ["last "] and complete("/compact s") == ["summary "]
    assert complete("/retry x") == []


def test_models(complete: Any) -> None:
    assert complete("/model fa") == ["fast "]
    assert complete("/model mine/") == ["mine/small", "mine/large"]
    assert complete("/model mine/l") == ["mine/large "]
    assert "openai/" in complete("/model ") and "broken/" not in complete("/model ")
    assert "local/smollm2" in map(str.strip, complete("/model local/smollm2"))


def test_tools(complete: Any) -> None:
    assert complete("/tools cou") == ["count "]
    assert complete("/tools count serv") == ["server/echo "]
    assert complete("/tools sh") == ["shell "]
    assert "off" in complete("/tools ")


def test_files(complete: Any) -> None:
    assert complete("/attach notes") == ["notes.md", "notes.txt"]
    assert complete("/attach fo") == ["folder" + os.sep]
    assert complete(f"/attach folder{os.sep}") == [f"folder{os.sep}inside "]
    assert complete("/save ./notes.m") == ["./notes.md "]
    assert complete("/attach ") == ["folder" + os.sep, "my file", "notes.md", "notes.txt"]
    assert complete("/attach .h") == [".hidden "]
    assert complete("/system @notes.t") == ["@notes.txt "] and complete("/system o") == ["off "]
    assert complete("look at ./notes.t") == ["./notes.txt "]
    assert complete("look at notes") == [] == complete("/attach nowhere/x")
