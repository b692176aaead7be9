"""A jpq that streams is killed at a random moment, and nothing that was shown is lost.

``python -m bench durability`` does the same five hundred times.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Dict

import pytest

from bench import durability, kill_plan
from jpq.conversation.event import AssistantMessage, ChatRequest, Draft
from jpq.store.library import Library
from tests.support.ptys import environment, jpq, run

# A dozen that see every scenario, moment and channel (tested below), each a different pair.
SEEDS = (0, 1, 2, 5, 6, 7, 8, 9, 11, 12, 19, 26)


@pytest.fixture
def home(tmp_path: Path) -> str:
    return os.path.join(str(tmp_path), "home")


@pytest.fixture
def environ(home: str) -> Dict[str, str]:
    return environment(home)


@pytest.fixture
def workspace(tmp_path: Path) -> str:
    folder = os.path.join(str(tmp_path), "workspace")
    os.mkdir(folder)
    return folder


@pytest.mark.parametrize("seed", SEEDS)
def test_a_kill_loses_nothing(seed: int, environ: Dict[str, str], workspace: str) -> None:
    plan = kill_plan.plan(seed)
    print(plan)
    assert durability.kill_once(plan, environ, workspace).problems == []


def test_the_seeds_cover_what_there_is() -> None:
    plans = [kill_plan.plan(seed) for seed in SEEDS]
    assert {plan.scenario for plan in plans} == set(kill_plan.SCENARIOS)
    assert {plan.moment for plan in plans} == set(kill_plan.MOMENTS)
    assert {(plan.terminal, plan.goes_on) for plan in plans} == {
        (terminal, goes_on) for terminal in (False, True) for goes_on in (False, True)
    }


@pytest.mark.parametrize("cut", [1, 2, 40, 5000, 9000])
def test_a_kill_in_the_middle_of_the_last_write(
    cut: int, home: str, environ: Dict[str, str], workspace: str
) -> None:
    """The system may write a part of a long line before the process dies; what is left of it
    is a copy of what the in-flight file holds, and disappears with the next command."""
    library = Library(os.path.join(home, "data", "conversations"))
    journal = library.create({"workspace": workspace, "model": "custom/test"})
    journal.commit([Draft(ChatRequest("Hello"))])
    folder = journal.folder
    assert folder is not None
    before = _size(folder, "events.jsonl")
    text = "long " * 2000

    class Killed(BaseException):
        pass

    def kill(path: str) -> None:
        raise Killed

    journal.begin_cycle()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", kill)
        with pytest.raises(Killed):
            journal.commit([Draft(AssistantMessage(text))])
    os.truncate(os.path.join(folder, "events.jsonl"), before + cut)
    dead = os.path.join(os.path.dirname(folder), "zzz")
    journal.close()
    os.rename(folder, dead)  # nothing of the dead process is held any more

    shown = run(jpq("conversation", "show"), environ, workspace)
    assert (shown.process.returncode, text.strip() in shown.output.decode()) == (0, True)
    assert "cannot be read" not in shown.errors.decode()
    again = library.open("zzz", 0, pytest.fail)
    again.commit([Draft(ChatRequest("More"))])
    again.close()
    with open(os.path.join(dead, "events.jsonl"), "rb") as file:
        lines = file.read().splitlines()
    assert len(lines) == 3 and all(line.endswith(b"}") for line in lines)
    shutil.rmtree(dead)


def _size(folder: str, name: str) -> int:
    return os.stat(os.path.join(folder, name)).st_size
