"""``jpq conversation ls``: searching, sorting, sizes, and what is damaged."""

from __future__ import annotations

import json
import os
from typing import Any, List

import pytest

from jpq.conversation.event import ChatRequest, TurnEnd
from tests.cli.conversation_shell import Shell

END = TurnEnd("complete", "stop", {}, None)


@pytest.fixture
def shell(tmp_path: Any) -> Shell:
    cwd = tmp_path / "work"
    cwd.mkdir()
    return Shell(str(tmp_path / "home"), str(cwd))


def ids(shell: Shell, *words: str) -> List[str]:
    rows = json.loads(shell("ls", "--format", "json", *words).out)
    return [row["id"] for row in rows]


def test_searching_and_sorting(shell: Shell) -> None:
    blue = shell.talk(ChatRequest("a"), END, title="Sky is blue")
    red = shell.talk(
        ChatRequest("x" * 999), ChatRequest("b"), END, title="Sky is RED", workspace="/elsewhere"
    )
    pond = shell.talk(ChatRequest("c"), END, title="a pond", model="local/tiny")
    assert ids(shell) == [pond, red, blue]
    assert ids(shell, "--reverse") == [blue, red, pond]
    assert ids(shell, "sky", "red") == [red]
    assert ids(shell, "tiny") == [pond]
    assert ids(shell, "--here") == [pond, blue]
    assert ids(shell, "--sort", "title") == [pond, blue, red]
    assert ids(shell, "--sort", "size")[0] == red
    assert ids(shell, "--sort", "turns", "--limit", "1") == [red]
    assert ids(shell, "--sort", "created", "--limit", "0") == []
    assert "is like that" in shell("ls", "no such").err


def test_the_long_list_has_sizes(shell: Shell) -> None:
    id = shell.talk(ChatRequest("x" * 30_000), END, workspace="/w")
    assert "  30 KiB  /w  " in shell("ls", "-l").out
    (row,) = json.loads(shell("ls", "-l", "--format", "json").out)
    folder = shell.library.path(id)
    files = ("metadata.json", "events.jsonl")
    assert row["size"] == sum(os.path.getsize(os.path.join(folder, name)) for name in files)


def test_what_is_damaged_is_named(shell: Shell) -> None:
    id = shell.talk(ChatRequest("a"), END)
    with open(os.path.join(shell.library.path(id), "events.jsonl"), "ab") as file:
        file.write(b"{torn")
    listed = shell("ls")
    assert "  damaged  " in listed.out
    assert listed.err == (
        f"jpq: {id} is damaged (1 line of events.jsonl cannot be read); "
        f"look at it with: jpq conversation repair --dry-run {id}\n"
    )
    (row,) = json.loads(shell("ls", "--format", "json").out)
    assert (row["status"], row["problem"]) == ("complete", "1 line of events.jsonl cannot be read")
