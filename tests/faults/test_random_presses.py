"""Presses at random moments of scripted turns: nothing hangs, nothing is lost or said twice.

``JPQ_TEST_PRESSES`` says how many turns (a few here; a thousand before a release), and
``JPQ_TEST_SEED`` which.
"""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path
from typing import List, NamedTuple

import pytest

from jpq.conversation.event import AssistantMessage, ChatRequest, TurnEnd
from tests.support.pressing import Stage, check_next_turn, events, rest, slow
from tests.support.ptys import Child
from tests.support.server import Pause, Server, Step, delta

COUNT = int(os.environ.get("JPQ_TEST_PRESSES", "12"))
SEED = int(os.environ.get("JPQ_TEST_SEED", "20260503"))
LONGEST_TURN_S = 0.6
HANGS_S = 20.0
WORDS = [f"w{number} " for number in range(120)]
CHOICES = "cccsart?nx"


class Plan(NamedTuple):
    """When keys are pressed, in seconds from the start of the turn, and which come between."""

    number: int
    presses: List[float]
    keys: str


def plans() -> List[Plan]:
    chance = random.Random(SEED)
    made = []
    for number in range(COUNT):
        moments = sorted(chance.uniform(0, LONGEST_TURN_S) for _ in range(number % 3 + 1))
        made.append(Plan(number, moments, "".join(chance.choices(CHOICES, k=6))))
    return made


def script(stage: Stage) -> List[Step]:
    """The answer, which comes word by word, and takes its time in the middle."""
    half = len(WORDS) // 2
    return [*events(*map(delta, WORDS[:half])), Pause(stage.end), *rest(*map(delta, WORDS[half:]))]


@pytest.mark.parametrize("plan", plans(), ids=lambda plan: str(plan.number))
def test_presses_at_random_moments(plan: Plan, tmp_path: Path) -> None:
    stage = Stage(str(tmp_path))
    tools = slow(2)
    with Server(tools, script(stage)) as server, stage.start(server) as child:
        began = _begun(child, server)
        for moment in plan.presses:
            _pass_time(child, began + moment, stage)
            if child.process.poll() is None:
                child.signal(signal.SIGINT)
        _answer(child, plan.keys, stage)
        code = child.exit(1.0)
        stage.end.set()
    assert code in (0, 130, -signal.SIGINT), child.output
    assert b"Traceback" not in child.output and b"fault of its own" not in child.output
    _check(stage, child)


def _begun(child: Child, server: Server) -> float:
    deadline = time.monotonic() + HANGS_S
    while not server.seen and time.monotonic() < deadline:
        child.read(0.01)
    return time.monotonic()


def _pass_time(child: Child, until: float, stage: Stage) -> None:
    while time.monotonic() < until and child.read(min(0.02, until - time.monotonic())):
        pass
    stage.let_tools_go()


def _answer(child: Child, keys: str, stage: Stage) -> None:
    """Press keys whenever a menu or a question waits, until the process has ended."""
    deadline = time.monotonic() + HANGS_S
    typed = iter(keys + "s" * 1000)
    while child.process.poll() is None:
        assert time.monotonic() < deadline, f"it hangs: {bytes(child.output[-2000:])!r}"
        child.read(0.05)
        stage.end.set()
        waits = child.output.rstrip(b" ")
        if waits.endswith(b"[?]"):
            child.type(next(typed).encode())
        elif waits.endswith((b"back):", b"none)")):
            child.type(b"1\n")
    child.read(0.0)


def _check(stage: Stage, child: Child) -> None:
    """The conversation is whole, each word of the answer is in it at most once, in order."""
    saved = stage.saved
    if saved is None:
        return  # it ended before there was a turn, or the turn was discarded
    assert not [notice for notice in saved.notices if "amaged" in notice]
    turns: List[List[str]] = []
    for entry in saved.stream.entries:
        if isinstance(entry.event, ChatRequest):
            turns.append([])
        elif isinstance(entry.event, AssistantMessage):
            turns[-1].append(entry.event.text)
    for texts in turns:
        said = "".join(texts).split()
        assert said == [word.strip() for word in WORDS[: len(said)]]
    last = saved.stream.entries[-1].event
    if isinstance(last, TurnEnd) and last.status == "complete":
        assert "".join(turns[-1]).split() == [word.strip() for word in WORDS]
    for word in _shown(child.output):
        assert word in "".join("".join(texts) for texts in turns), "it was shown and not saved"
    check_next_turn(saved)


def _shown(output: bytes) -> List[str]:
    words = output.decode("utf-8", "replace").replace("\r\n", "\n").split()
    return [word for word in words if word[:1] == "w" and word[1:].isdigit()]
