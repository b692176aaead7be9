"""``--template mcp:SERVER/PROMPT``: a server's prompt is the question."""

from __future__ import annotations

from typing import Any, Dict, List

import pytest

from tests.mcp.stdio_server import PICTURE
from tests.mcp.test_mcp_cmd import configure
from tests.support.programs import conversations, entries, jpq, model_at
from tests.support.server import Server, answer

ASKED = '{"city": "Oslo"}'
NAMED = "[image-1.png: image/png, 16 bytes]"


@pytest.fixture(autouse=True)
def servers() -> None:
    configure()


def sent(*arguments: str, stdin: str = "") -> List[Dict[str, Any]]:
    """The messages of the question that ``arguments`` ask."""
    with Server(answer("Hi.")) as server:
        ran = jpq(*model_at(server), "-T", *arguments, stdin=stdin.encode())
        assert ran.code == 0, ran.err
        messages: List[Dict[str, Any]] = server.seen[0].json["messages"]
    return messages


def test_a_prompt_is_the_question_and_words_follow_it() -> None:
    assert sent("--template", "mcp:x/p", "-p", "city=Oslo") == [{"role": "user", "content": ASKED}]
    (message,) = sent("--template", "mcp:x/p", "-p", "city=Oslo", "in", "winter")
    assert message["content"] == f"{ASKED}\n\nin winter"
    (message,) = sent("--template", "mcp:x/p", "-p", "city=Oslo", stdin="a list")
    assert message["content"].startswith(ASKED) and "a list" in message["content"]


def test_a_prompt_that_is_a_talk_is_sent_and_kept_as_one() -> None:
    first, said, last = sent("--template", "mcp:x/talk", "-p", "city=Oslo", "And?")
    assert (first["role"], said["role"], last["role"]) == ("user", "assistant", "user")
    text, picture = last["content"]
    assert text["text"] == f"{NAMED}\n\nAnd?"
    assert picture["image_url"]["url"].endswith(PICTURE)
    kept = [(e["type"], e.get("content") or e.get("message")) for e in entries(conversations()[0])]
    assert kept[:3] == [
        ("chat_request", ASKED),
        ("chat_response", ASKED),
        ("chat_request", f"{NAMED}\n\nAnd?"),
    ]


def test_a_prompt_goes_on_with_a_conversation() -> None:
    sent("first")
    messages = sent("-c", "--template", "mcp:x/p", "-p", "city=Oslo")
    assert [each["content"] for each in messages] == ["first", "Hi.", ASKED]


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("mcp:x/q",), 2, ("There is no prompt 'x/q'", "x/p")),
        (("mcp:x/p",), 2, ("needs a value for city", "-p city=VALUE")),
        (("mcp:x/p", "-p", "citi=Oslo"), 2, ("There is no argument 'citi'", "city")),
        (("mcp:y/p",), 2, ("There is no MCP server 'y'",)),
        (("mcp:x",), 2, ("'x' is not mcp:SERVER/PROMPT",)),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_sent(
    arguments: Any, code: int, told: Any
) -> None:
    with Server() as server:
        jpq(*model_at(server), "-T", "--template", *arguments).failed_with(code, *told)
        assert not server.seen
    assert conversations() == []


def test_a_server_that_is_not_there_is_told() -> None:
    configure("", "exit_at_once")
    with Server() as server:
        ran = jpq(*model_at(server), "-T", "--template", "mcp:x/p", "-p", "city=Oslo")
    ran.failed_with(69, "cannot find my files", "MCP server x")
