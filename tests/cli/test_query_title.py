"""Titles: how the question begins, what a model makes of it, or none; and what cannot go wrong."""

from __future__ import annotations

import json
import os
import signal
import threading
from typing import Any, List

import pytest

from jpq.cli.title_model import clean
from tests.support.programs import JPQ, environment, jpq, model_at
from tests.support.ptys import Child
from tests.support.server import FINISH, Pause, Server, Tell, answer, chunk, delta, error, head, sse

QUESTION = "Why is the sky blue?"
BY_MODEL = ["--set", "conversation.title=model", "--set", "conversation.title_wait_s=60"]


def title() -> Any:
    (row,) = json.loads(jpq("conversation", "ls", "--format", "json").text)
    return row["title"]


def on_terminal(server: Server, *arguments: str, words: str = QUESTION) -> bytes:
    """What a question on a terminal shows; it must end with 0."""
    argv = [*JPQ, *model_at(server), *arguments, words]
    with Child(argv, environment(TERM="xterm"), os.getcwd(), terminal=True) as child:
        code = child.end()
    assert code == 0, child.output
    return bytes(child.output)


def test_it_is_how_the_question_begins(tmp_path: Any) -> None:
    with Server(answer("Hi")) as server:
        on_terminal(server, words="a  b\n" + "c" * 100)
        assert len(server.seen) == 1
    assert title() == "a b " + "c" * 56


def test_none() -> None:
    with Server(answer("Hi")) as server:
        jpq(*model_at(server), "--set", "conversation.title=off", QUESTION)
    assert title() == ""


def test_none_in_a_chat() -> None:
    with Server(answer("Hi")) as server:
        off = ["--set", "conversation.title=off"]
        ran = jpq("chat", *model_at(server), *off, stdin=b"Why?\n")
    assert ran.code == 0 and title() == ""


def test_the_model_makes_one_of_question_and_answer() -> None:
    with Server(answer("Rayleigh."), answer('"**Blue sky**."\nAnd more')) as server:
        assert b"Rayleigh." in on_terminal(server, *BY_MODEL)
        asked = server.seen[1].json
    assert title() == "Blue sky"
    (message,) = asked["messages"]
    assert QUESTION in message["content"] and "Rayleigh." in message["content"]
    assert asked["model"] == "test" and "tools" not in asked


def test_another_model_can_make_it() -> None:
    with Server(answer("Hi"), answer("Blue sky")) as server:
        on_terminal(server, *BY_MODEL, "--set", "conversation.title_model=custom/small")
        assert [seen.json["model"] for seen in server.seen] == ["test", "small"]
    assert title() == "Blue sky"


def test_a_script_is_not_kept_waiting_and_a_later_turn_changes_nothing() -> None:
    with Server(answer("Hi")) as server:
        jpq(*model_at(server), *BY_MODEL, QUESTION)
        assert len(server.seen) == 1
        on_terminal(server, *BY_MODEL, "-c", words="more")
        on_terminal(server, *BY_MODEL, "--ephemeral")
        assert len(server.seen) == 3
    assert title() == QUESTION


@pytest.mark.parametrize(
    "reply",
    [
        error("401 Unauthorized", b"{}"),
        error("500 Internal Server Error", b"{}"),
        answer("   "),
        [head(), chunk(b"data: {\n\n")],
    ],
    ids=["refused", "failed", "blank", "cut"],
)
def test_what_goes_wrong_is_silent(reply: Any) -> None:
    with Server(answer("Hi"), reply) as server:
        shown = on_terminal(server, *BY_MODEL)
        assert len(server.seen) == 2
    assert b"jpq:" not in shown and title() == QUESTION


def test_a_model_that_does_not_stop_is_stopped() -> None:
    over = threading.Event()
    words = [chunk(each) for each in sse(*[delta("word ")] * 200)]
    with Server(answer("Hi"), [head(), *words, Pause(over)]) as server:
        on_terminal(server, *BY_MODEL)
        over.set()
    assert title() == " ".join(["word"] * 12)


def test_a_model_that_is_silent_is_given_up() -> None:
    over = threading.Event()
    with Server(answer("Hi"), [head(), Pause(over, 60)]) as server:
        on_terminal(server, *BY_MODEL, "--set", "conversation.title_wait_s=0.2")
        over.set()
    assert title() == QUESTION


@pytest.mark.parametrize("signum, code", [(signal.SIGINT, 0), (signal.SIGTERM, -signal.SIGTERM)])
def test_ctrl_c_ends_it_and_not_the_run_as_other_signals_do(signum: int, code: int) -> None:
    over, asked = threading.Event(), threading.Event()
    with Server(answer("Hi"), [head(), Tell(asked), Pause(over, 60)]) as server:
        argv = [*JPQ, *model_at(server), *BY_MODEL, QUESTION]
        with Child(argv, environment(TERM="xterm"), os.getcwd(), terminal=True) as child:
            child.wait_for(b"Hi")
            assert asked.wait(15)
            child.signal(signum)
            assert child.end() == code, child.output
        over.set()
    assert title() == QUESTION


def test_one_that_somebody_gave_meanwhile_stays() -> None:
    over, asked = threading.Event(), threading.Event()
    rest = [chunk(each) for each in sse(delta("Blue sky"), FINISH)]
    with Server(answer("Hi"), [head(), Tell(asked), Pause(over, 60), *rest]) as server:
        argv = [*JPQ, *model_at(server), *BY_MODEL, QUESTION]
        with Child(argv, environment(TERM="xterm"), os.getcwd(), terminal=True) as child:
            child.wait_for(b"Hi")
            assert asked.wait(15)
            jpq("conversation", "title", title_id(), "Mine")
            over.set()
            assert child.end() == 0, child.output
    assert title() == "Mine"


def title_id() -> str:
    (row,) = json.loads(jpq("conversation", "ls", "--format", "json").text)
    return str(row["id"])


@pytest.mark.parametrize(
    "said,expected",
    [
        ("Title: A b", "A b"),
        ("# A b\nmore", "A b"),
        ("\u201cA b.\u201d", "A b"),
        ("\x1b[31mA\x1b[0m\tb\x07", "A b"),
        ("A\u202eb", "Ab"),
        ("", ""),
        ("***", ""),
        ("word " * 30, " ".join(["word"] * 12)),
        ("x" * 100, "x" * 60),
    ],
)
def test_a_title_is_a_short_harmless_line(said: str, expected: str) -> None:
    assert clean(said) == expected


def kept_lines() -> List[str]:
    return jpq("conversation", "ls").text.splitlines()


def test_a_title_in_a_list_drives_no_terminal() -> None:
    with Server(answer("Hi"), answer("Blue \\u001b[2J sky\u202e")) as server:
        on_terminal(server, *BY_MODEL)
    (line,) = kept_lines()
    assert line.isprintable() and "Blue" in line
