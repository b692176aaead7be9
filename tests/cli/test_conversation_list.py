"""``jpq conversation ls``: searching, sorting, sizes, and what is damaged."""

from __future__ import annotations

import json
import os
from typing import List

from jpq.conversation.event import ChatRequest, TurnEnd
from jpq.render.markdown.cells import width
from tests.cli.conversation_shell import Shell

END = TurnEnd("complete", "stop", {}, None)


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
    assert "conversation matches" in shell("ls", "no such").err


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


def test_a_terminal_gets_a_header_and_lines_that_fit(shell: Shell) -> None:
    title = "Warum ist der Himmel blau \u65e5\u672c\u8a9e, und was " + "noch mehr " * 500
    shell.talk(ChatRequest("a"), END, title=title, model="openrouter/somebody/a-long-name-70b")
    for columns in (200, 80, 79, 50, 12, 1):
        shell.environ["COLUMNS"] = str(columns)
        for options in ((), ("-l",)):
            lines = shell("ls", *options, terminal=True).out.splitlines()
            assert len(lines) == 2
            assert max(width(line) for line in lines) <= columns
    shell.environ["COLUMNS"] = "80"
    header, row = shell("ls", terminal=True).out.splitlines()
    assert header.split() == ["ID", "UPDATED", "TURNS", "STATUS", "MODEL", "TITLE"]
    assert row[header.index("MODEL") :].startswith("openrouter/\u2026  Warum ist")


def test_a_pipe_gets_no_header_and_everything(shell: Shell) -> None:
    title = "noch mehr " * 50
    id = shell.talk(ChatRequest("a"), END, title=title)
    shell.environ["COLUMNS"] = "20"
    (line,) = shell("ls").out.splitlines()
    id_there, _, turns, status, model, whole = line.split("  ")
    assert (id_there, turns, status, model) == (id, "1", "complete", "openai/gpt")
    assert whole == title.strip()
