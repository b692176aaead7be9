"""title, fork, prune and repair, as a person uses them."""

from __future__ import annotations

import json
import os
from typing import List

import pytest

from jpq.conversation.event import AssistantMessage, ChatRequest, Draft, ToolCall, TurnEnd
from jpq.errors import BadInputError, ConversationBusyError, UsageError
from tests.cli.conversation_shell import Output, Shell

END = TurnEnd("complete", "stop", {}, None)


def events_path(shell: Shell, id: str) -> str:
    return os.path.join(shell.library.path(id), "events.jsonl")


def test_title(shell: Shell) -> None:
    id = shell.talk(ChatRequest("a"), END, title="Old")
    assert shell("title").out == "Old\n"
    assert shell("title", id, "New", "and better") == Output("", "")
    assert json.loads(shell("title", id, "--format", "json").out) == {
        "id": id,
        "title": "New and better",
    }
    shell("title", "Of the last one")
    assert shell("title", id[:9]).out == "Of the last one\n"
    assert shell("show", "of the last").out == "You:\na\n"


def test_fork(shell: Shell) -> None:
    id = shell.talk(
        ChatRequest("a"), AssistantMessage("b"), END, ChatRequest("c"), AssistantMessage("d"), END
    )
    outputs = os.path.join(shell.library.path(id), "tool-output")
    os.mkdir(outputs)
    with open(os.path.join(outputs, "1.txt"), "w") as file:
        file.write("long")
    made = json.loads(shell("fork", "--format", "json").out)
    assert made["forked_from"] == id
    with open(events_path(shell, made["id"]), "rb") as copy, open(
        events_path(shell, id), "rb"
    ) as original:
        assert copy.read() == original.read()
    assert os.path.exists(os.path.join(shell.library.path(made["id"]), "tool-output", "1.txt"))
    last = shell("fork", id, "--last", "1").out.strip()
    assert shell("show", last).out == "You:\nc\n\nAssistant:\nd\n"
    assert shell("show", id, "--last", "1").out == "You:\nc\n\nAssistant:\nd\n"
    at = shell.library.read(id).stream.entries[1].event_id
    part = shell("fork", id, "--at", at).out.strip()
    assert shell("show", part).out == "You:\na\n\nAssistant:\nb\n"
    with pytest.raises(BadInputError, match="no entry"):
        shell("fork", id, "--at", "nothing")


def test_prune(shell: Shell) -> None:
    old, new, bad = (shell.talk(ChatRequest(word), END) for word in ("old", "new", "bad"))
    for id in (old, bad):
        with open(events_path(shell, id), "r+b") as file:
            data = file.read().replace(b'"timestamp":"2', b'"timestamp":"1')
            file.seek(0)
            file.write(data + (b"{torn" if id == bad else b""))
    busy = shell.open()
    busy.commit([])
    assert shell("prune", "--older-than", "30d", "--dry-run").out == f"{old}\n"
    assert shell.library.ids() == sorted([old, new, bad, busy.id])
    pruned = shell("prune", "--older-than", "1w", "--format", "json")
    assert json.loads(pruned.out) == [old] and f"{bad} is damaged and stays" in pruned.err
    assert old not in shell.library.ids()
    busy.close()
    for wrong in ("5", "x", "5q"):
        with pytest.raises(UsageError, match="is not an age"):
            shell("prune", "--older-than", wrong)


def test_a_fork_says_what_it_lacks(shell: Shell) -> None:
    id = shell.talk(ChatRequest("a"), AssistantMessage("b"), END)
    with open(events_path(shell, id), "ab") as file:
        file.write(b"{torn\n")
    forked = shell("fork")
    assert "1 line of" in forked.err and id in forked.err
    assert shell("show", forked.out.strip()).out == shell("show", id).out


@pytest.mark.parametrize(
    "words", [["title", "New", "words"], ["compact", "--keep", "0"], ["repair"]]
)
def test_what_writes_waits_as_long_as_is_configured_and_says_so(
    shell: Shell, words: List[str]
) -> None:
    shell.environ["JPQ_SET_CONVERSATION__LOCK_WAIT_S"] = "0.05"
    journal = shell.open()
    journal.commit([Draft(ChatRequest("a")), Draft(END)])
    words = [*words[:1], journal.id, *words[1:]]
    with pytest.raises(ConversationBusyError):
        shell(*words)
    assert "waiting up to 0.05 s" in shell.told
    journal.close()


def test_repair(shell: Shell) -> None:
    id = shell.talk(ChatRequest("a"), ToolCall("1", "x", {}), END)
    with open(events_path(shell, id), "ab") as file:
        file.write(b"{torn \x1b[2J")
    with open(events_path(shell, id), "rb") as file:
        before = file.read()
    shown = shell("repair", "--dry-run").out
    assert shown.splitlines()[0] == f"--- {events_path(shell, id)}"
    assert "@@ line 4: It is no entry.\n-{torn \u241b[2J\n" in shown
    assert "@@ put in: A tool call without a result.\n+{" in shown
    with open(events_path(shell, id), "rb") as file:
        assert file.read() == before
    done = shell("repair", "--format", "json")
    assert [change["number"] for change in json.loads(done.out)] == [4, 0]
    copy = events_path(shell, id) + ".damaged"
    assert f"kept in {copy}" in done.err
    with open(copy, "rb") as file:
        assert file.read() == before
    assert shell("repair") == Output("", f"jpq: {id} is sound.\n")
    assert shell("ls").err == ""
