"""``jpq conversation``: what is printed where, and which conversation is meant."""

from __future__ import annotations

import json
import os
import re
from typing import Any, Dict, List

import pytest

from jpq.conversation.event import (
    AssistantMessage,
    AssistantReasoning,
    ChatRequest,
    Draft,
    ToolCall,
    ToolResponse,
    TurnEnd,
)
from jpq.errors import BadInputError, ConversationBusyError
from jpq.events.parts import MessageDelta, Part
from tests.cli.conversation_shell import Output, Shell

END = TurnEnd("complete", "stop", {"output_tokens": 3}, "gpt")
ESCAPE = "\x1b]0;title\x07"


def test_ls_json_has_the_documented_fields(shell: Shell) -> None:
    id = shell.talk(ChatRequest("Hi \u00e9"), AssistantMessage("x"), END)
    (row,) = json.loads(shell("ls", "--format", "json").out)
    assert list(row) == [
        "id",
        "title",
        "created_at",
        "updated_at",
        "workspace",
        "model",
        "turns",
        "status",
    ]
    assert (row["id"], row["title"], row["turns"]) == (id, "Hi \u00e9", 1)
    assert (row["status"], row["model"]) == ("complete", "openai/gpt")


def test_ls_of_nothing(shell: Shell) -> None:
    assert json.loads(shell("ls", "--format", "json").out) == []
    listed = shell("ls")
    assert listed.out == "" and "no saved conversations" in listed.err


def test_ls_is_an_aligned_list_that_cannot_drive_the_terminal(shell: Shell) -> None:
    one = shell.talk(ChatRequest("x"), END, title=f"One{ESCAPE}\nline")
    two = shell.talk(ChatRequest("x"), ChatRequest("y"), title="Two")
    lines = shell("ls", terminal=True).out.splitlines()
    assert [line.split()[0] for line in lines] == ["ID", two, one]
    assert lines[1].endswith("  2      interrupted  openai/gpt  Two")
    assert lines[2].endswith("  1      complete     openai/gpt  One line")


def test_show_prints_every_byte_of_the_answer(shell: Shell) -> None:
    answer = f"# Sky\n\n  blue\t{ESCAPE}\u200b\u202e\n> quoted \n\n"
    shell.talk(ChatRequest("Why?\nReally"), AssistantReasoning("hm"), AssistantMessage(answer), END)
    shown = shell("show")
    assert shown == Output(f"You:\nWhy?\nReally\n\nReasoning:\nhm\n\nAssistant:\n{answer}\n", "")


def test_show_on_a_terminal_neutralises_controls(shell: Shell) -> None:
    shell.talk(ChatRequest("a"), AssistantMessage(f"b{ESCAPE}c"), END)
    shown = shell("show", "--format", "text", terminal=True).out
    assert shown == "You:\na\n\nAssistant:\nbc\n"
    shown = shell("show", terminal=True).out
    assert "bc" in shown and "\x07" not in shown and "title" not in shown


def test_show_of_tools(shell: Shell) -> None:
    shell.talk(
        ChatRequest("a"),
        ToolCall("1", "greet", {"name": "\u00e9"}),
        ToolCall("2", "greet", {"raw": '{"na'}, '{"na'),
        ToolResponse("1", "hello"),
        ToolResponse("2", "not JSON", True),
        END,
    )
    assert shell("show").out == (
        'You:\na\n\nTool call greet:\n{"name": "\u00e9"}\n\nTool call greet:\n{"na\n\n'
        "Tool result:\nhello\n\nTool error:\nnot JSON\n"
    )


def test_show_of_a_turn_that_runs_or_was_killed(shell: Shell) -> None:
    journal = shell.open()
    journal.commit([Draft(ChatRequest("a")), Draft(AssistantMessage("He"), {"partial": True})])
    journal.record([Part(0, MessageDelta("llo"))])
    shown = shell("show")
    assert shown.out == "You:\na\n\nAssistant:\nHello\n"
    assert shown.err.count("\n") == 1 and f"--retry -r {journal.id}" in shown.err
    journal.close()


def test_show_says_what_cannot_be_read(shell: Shell) -> None:
    id = shell.talk(ChatRequest("a"), END)
    path = os.path.join(shell.library.path(id), "events.jsonl")
    with open(path, "ab") as file:
        file.write(b'{"torn')
    shown = shell("show")
    assert shown.out == "You:\na\n" and shown.err.count("\n") == 1 and path in shown.err


def test_show_as_markdown(shell: Shell) -> None:
    shell.talk(ChatRequest("a"), AssistantMessage("b"), END, title="The\nsky")
    shown = shell("show", "--format", "markdown")
    assert shown.out == "# The sky\n\n## You\n\na\n\n## Assistant\n\nb\n"


def test_show_as_json_and_json_lines(shell: Shell) -> None:
    id = shell.talk(ChatRequest("a"), END)
    line = b'{"event_id":"zzzzzzz","type":"new", "x":1}'
    with open(os.path.join(shell.library.path(id), "events.jsonl"), "ab") as file:
        file.write(line + b"\n")
    with open(os.path.join(shell.library.path(id), "events.jsonl"), "rb") as file:
        stored = file.read()
    whole = json.loads(shell("show", "--format", "json").out)
    assert (whole["id"], whole["model"], whole["schema"]) == (id, "openai/gpt", 1)
    assert [entry["type"] for entry in whole["entries"]] == ["chat_request", "turn_end", "new"]
    assert whole["entries"][2]["x"] == 1
    assert shell("show", "--format", "jsonl").out.encode() == stored


def test_without_an_id_it_is_the_last_of_the_workspace(shell: Shell) -> None:
    with pytest.raises(BadInputError) as raised:
        shell("show")
    assert raised.value.exit_code == 65 and raised.value.hint
    elsewhere = shell.talk(ChatRequest("a"), END, workspace="/elsewhere")
    with pytest.raises(BadInputError):
        shell("path")
    assert shell("path", elsewhere).out == shell.library.path(elsewhere) + "\n"
    here = shell.talk(ChatRequest("b"), END)
    assert json.loads(shell("path", "--format", "json").out) == {
        "id": here,
        "path": shell.library.path(here),
    }


def test_rm_removes_all_or_finds_out_first(shell: Shell) -> None:
    ids: List[str] = [shell.talk(ChatRequest(text), END, title=text) for text in ("one", "two")]
    with pytest.raises(BadInputError):
        shell("rm", "one", "three")
    with pytest.raises(BadInputError):
        shell("rm", "tw")  # which every other command takes for the second
    assert shell.library.ids() == ids
    assert json.loads(shell("rm", "--format", "json", "one", ids[0], "two").out) == ids
    assert shell.library.ids() == []


def test_rm_refuses_a_conversation_in_use(shell: Shell) -> None:
    journal = shell.open()
    journal.commit([Draft(ChatRequest("a"))])
    with pytest.raises(ConversationBusyError):
        shell("rm", journal.id)
    journal.close()
    assert shell("rm", journal.id) == Output("", "")


def test_reading_commands_write_nothing(shell: Shell) -> None:
    journal = shell.open()
    journal.commit([Draft(ChatRequest("a"))])
    journal.record([Part(0, MessageDelta("b"))])
    journal.close()

    def state() -> Dict[str, Any]:
        return {
            entry.name: (entry.stat().st_mtime_ns, entry.stat().st_size)
            for entry in os.scandir(journal.folder)
        }

    before = state()
    for words in (["ls"], ["show"], ["path"]):
        shell(*words)
    assert state() == before


def test_a_terminal_gets_adjacent_answers_as_one_markdown_text(shell: Shell) -> None:
    """A text that was cut goes on in the middle of its emphasis, and of its code."""
    shell.environ["TERM"] = "xterm"
    journal = shell.open()
    journal.commit(
        [
            Draft(ChatRequest("a **question**")),
            Draft(AssistantMessage("so **bo"), {"partial": True}),
            Draft(TurnEnd("incomplete", None, {}, None)),
            Draft(AssistantMessage("ld**:\n\n```\nco"), {"partial": True}),
            Draft(AssistantMessage("de\n```\n")),
            Draft(END),
        ]
    )
    journal.close()
    shown = shell("show", terminal=True).out
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert "**" not in plain and plain.count("Assistant:") == 1
    assert "so bold:" in plain and "\ncode\n" in plain
