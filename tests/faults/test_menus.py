"""Every choice of the menus in every phase, by real keys on a real terminal."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple

import pytest

from jpq.conversation.event import TurnEnd
from jpq.interrupt.menus import MENUS
from tests.support.pressing import (
    MARK,
    PRESS,
    SCENES,
    Scene,
    Stage,
    check_next_turn,
    press,
    wait_until,
)
from tests.support.ptys import Child
from tests.support.server import Server

# What must hold on any machine; bench/interrupts.py measures what is usual.
SOON_S = 5.0


class Act(NamedTuple):
    """A scene that is being played."""

    scene: Scene
    stage: Stage
    server: Server
    child: Child
    modes: List[Any]


def statuses(stage: Stage) -> List[str]:
    saved = stage.saved
    entries = [] if saved is None else saved.stream.entries
    return [each.event.status for each in entries if isinstance(each.event, TurnEnd)]


def goes_on(act: Act) -> None:
    """*continue*: nothing has happened, until it is pressed and stopped again."""
    act.child.type(b"c")
    if act.scene.seen in (b"[x] result mode [?] ", b"[e]dit ", b"Which one?\r\n>"):
        act.child.wait_for(act.scene.seen)  # the question is asked again
    elif act.scene.seen == b"Attempt 2 of":
        act.child.wait_for(b"[?] \r\x1b[J")
    else:
        act.stage.end.set()
        act.stage.let_tools_go()
        assert act.child.end() == 0
        assert statuses(act.stage) == ["complete"]
        return
    press(act.child, MARK[act.scene.place])
    stops(act)


def stops(act: Act) -> None:
    act.child.type(b"s")
    assert act.child.end() == 0
    assert b"Stopped; what arrived is saved." in act.child.output
    assert statuses(act.stage) == ["interrupted"]


def aborts(act: Act) -> None:
    act.child.type(b"a")
    assert act.child.end() == 130
    assert b"Discarded" in act.child.output
    assert act.stage.files() == {}


def replies(act: Act) -> None:
    act.child.type(b"r")
    act.child.wait_for(b"Your reply")
    act.child.type("Kürzer, bitte\n".encode())
    act.child.wait_for(b"Fine.")
    assert act.child.end() == 0
    assert statuses(act.stage) == ["interrupted", "complete"]
    assert act.server.seen[-1].json["messages"][-1]["content"].endswith("Kürzer, bitte")


def responds(act: Act) -> None:
    act.child.type(b"r")
    act.child.wait_for(b"Tell the model")
    act.child.type(b"Not that one\n")
    act.child.wait_for(b"Fine.")
    assert act.child.end() == 0
    messages = act.server.seen[-1].json["messages"]
    assert messages[-1]["content"] == "Not that one"
    results = [each["content"] for each in messages if each["role"] == "tool"]
    assert len(results) == (act.scene.seen if isinstance(act.scene.seen, int) else 1)
    if isinstance(act.scene.seen, int):
        assert all("Cancelled after" in each for each in results)
        assert all("begun" in each for each in results)


def restarts(act: Act) -> None:
    """One of them runs again, and its siblings are untouched; where nothing runs, nothing is."""
    runs = len(act.stage.runs)
    act.child.type(b"t")
    if runs == 8:
        act.child.wait_for(b"Restart which?")
        act.child.type(b"4\n")
    if act.scene.seen == runs:
        wait_until(lambda: len(act.stage.runs) > runs)
        act.stage.let_tools_go()
        assert act.child.end() == 0
        assert len(act.stage.runs) == runs + 1
        assert act.stage.runs[-1] == ("3" if runs == 8 else "0")
        results = [m for m in act.server.seen[-1].json["messages"] if m["role"] == "tool"]
        again = [each for each in results if "Started anew" in each["content"]]
        assert len(again) == 1 and len(results) == runs
        return
    act.child.wait_for(act.scene.seen)  # the question is asked again
    press(act.child, MARK[act.scene.place])
    stops(act)


def tries_now(act: Act) -> None:
    act.child.type(b"n")
    assert act.child.end() == 0
    assert b"Fine." in act.child.output
    assert statuses(act.stage) == ["complete"]


def presses_again(act: Act) -> None:
    act.child.type(PRESS)
    assert act.child.end() == -signal.SIGINT
    assert b"Stopped; what arrived is saved." in act.child.output
    assert statuses(act.stage) == ["interrupted"]


PLAYS: Dict[str, Callable[[Act], None]] = {
    "continue": goes_on,
    "stop": stops,
    "abort": aborts,
    "reply": replies,
    "respond": responds,
    "restart": restarts,
    "now": tries_now,
    "press": presses_again,
}


@pytest.mark.parametrize("name", SCENES)
def test_every_choice(name: str, tmp_path: Path) -> None:
    """All choices of the phase's menu, each in a process of its own."""
    scene = SCENES[name]
    choices = [*(item.choice.value for item in MENUS[scene.place]), "press"]
    with contextlib.ExitStack() as stack:
        acts = [_begin(scene, str(tmp_path / choice), stack) for choice in choices]
        for choice, act in zip(choices, acts):
            act.stage.wait_for(scene, act.child, act.server)
            assert press(act.child, MARK[scene.place]) < SOON_S
            PLAYS[choice](act)
            assert b"Traceback" not in act.child.output
            assert act.child.modes() == act.modes
            with pytest.raises(ProcessLookupError):
                os.killpg(act.child.process.pid, 0)
            saved = act.stage.saved
            if saved is not None:
                check_next_turn(saved)


def _begin(scene: Scene, folder: str, stack: contextlib.ExitStack) -> Act:
    stage = Stage(folder)
    server = stack.enter_context(Server(*scene.scripts(stage.end)))
    stack.callback(stage.end.set)
    stack.callback(stage.let_tools_go)
    child = stack.enter_context(stage.start(server, *scene.options))
    return Act(scene, stage, server, child, child.modes())
