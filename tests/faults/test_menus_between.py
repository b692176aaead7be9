"""The menu between two phases, and Ctrl+Z and fg wherever something is pending."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import Iterator, List

import pytest

from jpq.conversation.event import TurnEnd
from jpq.interrupt.menus import MENUS, Place
from tests.support.pressing import (
    MARK,
    PRESS,
    SCENES,
    Stage,
    check_next_turn,
    press,
    slow,
    wait_until,
)
from tests.support.ptys import Child
from tests.support.server import Server, answer
from tests.support.signalled import HELD

BETWEEN = MARK[Place.BETWEEN]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(str(tmp_path))
    stage.environ["JPQ_TEST_POINTS"] = os.path.join(stage.folder, "points")
    yield stage
    stage.end.set()
    stage.let_tools_go()


@contextlib.contextmanager
def committing(stage: Stage, server: Server) -> Iterator[Child]:
    """A turn whose disk takes its time over what the tools gave, with the menu open."""
    stage.let_tools_go()
    program = [sys.executable, "-m", "tests.support.signalled", "call:commit_left", "0"]
    argv = [*program, *stage.argv(server)[3:]]
    with Child(argv, stage.environ, stage.folder, terminal=True) as child:
        child.wait_for(HELD)
        press(child, BETWEEN)
        yield child


def statuses(stage: Stage) -> List[str]:
    saved = stage.saved
    assert saved is not None
    check_next_turn(saved)
    entries = stage.saved.stream.entries if stage.saved is not None else []
    return [each.event.status for each in entries if isinstance(each.event, TurnEnd)]


def test_it_has_no_other_choices() -> None:
    choices = [item.choice.value for item in MENUS[Place.BETWEEN]]
    assert choices == ["continue", "reply", "stop"]


def test_continue_goes_on_with_the_next_request(stage: Stage) -> None:
    with Server(slow(2), answer("Fine.")) as server, committing(stage, server) as child:
        child.type(b"c")
        assert child.end() == 0
        assert b"Fine." in child.output
    assert statuses(stage) == ["complete"] and len(stage.runs) == 2


def test_reply_sends_the_results_and_what_is_typed(stage: Stage) -> None:
    with Server(slow(2), answer("Fine.")) as server, committing(stage, server) as child:
        child.type(b"r")
        child.wait_for(b"back): ")
        child.type(b"Rather this\r")
        child.wait_for(b"Fine.")
        assert child.end() == 0
        messages = server.seen[-1].json["messages"]
    assert [each["role"] for each in messages].count("tool") == 2
    assert messages[-1]["content"] == "Rather this"
    assert statuses(stage) == ["interrupted", "complete"]


def test_stop_keeps_the_results(stage: Stage) -> None:
    with Server(slow(2)) as server:
        with committing(stage, server) as child:
            child.type(b"s")
            assert child.end() == 0
        assert statuses(stage) == ["interrupted"]


def test_a_second_press_keeps_the_results(stage: Stage) -> None:
    with Server(slow(2)) as server:
        with committing(stage, server) as child:
            child.type(PRESS)
            assert child.end() == -signal.SIGINT
        assert statuses(stage) == ["interrupted"]
        assert len(server.seen) == 1


PENDING = {
    "text": "c",
    "backoff": "s",
    "one tool": "c",
    "permission": "y",
    "question": "This one\r",
    "result": "y",
}


@pytest.mark.parametrize("name", PENDING)
def test_ctrl_z_and_fg_where_something_is_pending(name: str, stage: Stage) -> None:
    """The shell gets its terminal as it was, and what was asked stands there again."""
    scene = SCENES[name]
    environ = {**stage.environ, "PS1": "$ "}
    asks = name in ("permission", "question", "result")
    shell = Child(["/bin/sh", "-i"], environ, stage.folder, terminal=True)
    with Server(*scene.scripts(stage.end)) as server, shell as child:
        before = child.modes()
        command = stage.argv(server, *scene.options)
        child.type(" ".join(command).encode() + b"\n")
        stage.wait_for(scene, child, server)
        if not asks:
            press(child, MARK[scene.place])
        wait_until(lambda: child.modes() != before)
        child.type(b"\x1a")
        child.wait_for(b"Stopped")
        wait_until(lambda: child.modes() == before)
        del child.output[:]
        child.type(b"fg; echo co''de=$?\n")
        child.wait_for(scene.seen.rpartition(b"\n")[2] if asks else MARK[scene.place])
        stage.end.set()
        stage.let_tools_go()
        child.type(PENDING[name].encode())
        child.wait_for(b"code=0")
        assert child.modes() == before
        child.type(b"exit\n")
        child.exit()
    assert statuses(stage) == ["interrupted" if name == "backoff" else "complete"]
