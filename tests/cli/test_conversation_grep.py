"""``jpq conversation grep``: what is found, where, and what the exit code says."""

from __future__ import annotations

import json
import os
from typing import Any, List

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.conversation.event import AssistantMessage, ChatRequest, ToolResponse, TurnEnd
from jpq.errors import UsageError
from tests.cli.conversation_shell import Shell

END = TurnEnd("complete", "stop", {}, None)


def test_lines_with_ids_and_context(shell: Shell) -> None:
    id = shell.talk(ChatRequest("one\ntwo\nthree\nfour"), END)
    (entry, _) = shell.library.read(id).stream.entries
    assert shell("grep", "t.o$").out == f"{id}:{entry.event_id}:two\n"
    assert shell("grep", "-C", "1", "^two").out == (
        f"{id}-{entry.event_id}-one\n{id}:{entry.event_id}:two\n{id}-{entry.event_id}-three\n--\n"
    )
    assert shell("grep", "-l", "o").out == f"{id}\n"
    (found,) = json.loads(shell("grep", "--format", "json", "-C", "1", "four").out)
    assert found == {
        "id": id,
        "event_id": entry.event_id,
        "speaker": "You",
        "line": 4,
        "text": "four",
        "before": ["three"],
        "after": [],
    }


def test_exit_codes_and_where_it_looks(shell: Shell) -> None:
    one = shell.talk(ChatRequest("apple"), AssistantMessage("Pear"), END, title="chat_request")
    two = shell.talk(ChatRequest("x"), ToolResponse("1", 'say "pear"\t!'), END)
    assert shell("grep", "-l", "-i", "PEAR").out.split() == [two, one]
    assert shell("grep", "-l", "pear", one, code=1).out == ""
    assert shell("grep", "chat_request|event_id", code=1).out == "", "only what was said"
    assert shell("grep", "-F", 'say "pear"').out.count("\n") == 1
    assert shell("grep", "-F", "p.ar", code=1).out == ""
    for odd in ("(", "a{99999999999999}", "(" * 5000 + ")" * 5000):
        with pytest.raises(UsageError, match="regular expression"):
            shell("grep", odd)
    assert json.loads(shell("grep", "--format", "json", "nothing", code=1).out) == []


def test_letters_that_another_program_wrote_as_escapes(shell: Shell) -> None:
    id = shell.talk(ChatRequest("x"))
    with open(os.path.join(shell.library.path(id), "events.jsonl"), "ab") as file:
        file.write(b'{"event_id":"zzzzzzz","type":"chat_request","content":"bl\\u0075e"}\n')
    assert shell("grep", "blue").out == f"{id}:zzzzzzz:blue\n"


def test_on_a_terminal_no_control_character_gets_through(shell: Shell) -> None:
    shell.talk(ChatRequest("a\x1b[2Jb"), END)
    assert shell("grep", "a", terminal=True).out.endswith(":ab\n")
    assert shell("grep", "a").out.endswith(":a\x1b[2Jb\n")


def test_a_conversation_that_cannot_be_read_is_told(shell: Shell) -> None:
    bad = shell.talk(ChatRequest("apple"))
    good = shell.talk(ChatRequest("apple"))
    path = os.path.join(shell.library.path(bad), "events.jsonl")
    os.unlink(path)
    os.mkfifo(path)
    found = shell("grep", "-l", "apple")
    assert found.out == f"{good}\n" and f"{bad} is left out" in found.err


LETTERS = st.text(st.sampled_from('ab\u00e9\u212akK"\\\n\ud800'), max_size=6)


@given(LETTERS, LETTERS.filter(lambda text: "\n" not in text), st.booleans())
def test_plain_text_is_found_exactly_where_it_is(
    tmp_path_factory: Any, text: str, wanted: str, ignore_case: bool
) -> None:
    shell = Shell(str(tmp_path_factory.mktemp("home")), "/")
    shell.talk(ChatRequest(text))
    lines: List[str] = (text or "").split("\n") if text else []
    if ignore_case:
        expected = any(wanted.lower() in line.lower() for line in lines)
    else:
        expected = any(wanted in line for line in lines)
    option = ["-i"] if ignore_case else []
    shell("grep", "-F", "-l", *option, "--", wanted, code=0 if expected else 1)
