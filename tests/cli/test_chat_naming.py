"""A chat whose conversation the model names meanwhile."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from tests.support.chatting import Desk, say
from tests.support.programs import jpq
from tests.support.server import (
    FINISH,
    Pause,
    Seen,
    Server,
    Tell,
    answer,
    chunk,
    delta,
    error,
    head,
    sse,
)

BY_MODEL = ("--set", "conversation.title=model")


@pytest.fixture
def desk(tmp_path: Any) -> Desk:
    return Desk(str(tmp_path))


def title(desk: Desk) -> Any:
    listed = jpq("conversation", "ls", "--format", "json", environ=desk.environ, cwd=desk.work)
    (row,) = json.loads(listed.text)
    return row["title"]


def test_it_is_asked_for_while_the_person_reads_and_given_after_the_next_turn(desk: Desk) -> None:
    asked, over = threading.Event(), threading.Event()
    slow = [head(), Tell(asked), Pause(over, 60), *map(chunk, sse(delta("Two words"), FINISH))]
    with Server(answer("One"), slow, answer("Two")) as server, desk.chat(
        server, *BY_MODEL
    ) as child:
        say(child, "first?")
        assert asked.wait(15)
        assert title(desk) == "first?"
        say(child, "second?")
        assert title(desk) == "first?", "it has not come, and nobody waits for it"
        over.set()
        for _ in range(100):  # it is given after the turn before which it came
            say(child, "more?")
            if title(desk) == "Two words":
                break
        child.type(b"\x04")
        assert child.end() == 0
    assert title(desk) == "Two words"


def test_it_is_done_without_when_the_person_leaves(desk: Desk) -> None:
    asked, over = threading.Event(), threading.Event()
    with Server(answer("One"), [head(), Tell(asked), Pause(over, 60)]) as server:
        with desk.chat(server, *BY_MODEL) as child:
            say(child, "first?")
            assert asked.wait(15)
            child.type(b"\x04")
            assert child.end() == 0
        over.set()
    assert title(desk) == "first?"


def test_what_goes_wrong_is_silent_and_one_that_was_given_stays(desk: Desk) -> None:
    def reply(seen: Seen) -> Any:
        title_is_asked = b"Write a title" in seen.body
        return error("401 Unauthorized", b"{}") if title_is_asked else answer("Yes")

    with Server(reply) as server, desk.chat(server, *BY_MODEL) as child:
        say(child, "first?")
        shown = say(child, "second?")
        assert b"401" not in shown
        say(child, "/title Mine")
        child.type(b"\x04")
        assert child.end() == 0
    assert title(desk) == "Mine"
