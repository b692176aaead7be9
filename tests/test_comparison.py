"""What docs/comparison.md says of jpq is true of this checkout."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from bench.comparison import everyday, failing
from bench.comparison.everyday import Situation
from bench.comparison.programs import JPQ, PROGRAMS, Installed
from bench.comparison.run import Place
from bench.everyday import measured
from tests.support.ptys import ROOT

ENDINGS = {
    "The key is wrong (401)": "code 77, says why",
    "No key is set": "code 77, says why",
    "The model does not exist (404)": "code 1, says why",
    "The quota is used up (429)": "code 77, says why",
    "Too long for the model's context (400)": "code 65, says why",
    "Rate limited once, with Retry-After: 1": "answers after a retry",
    "Overloaded once (503)": "answers after a retry",
    "No server there": "code 69, says why",
    "A host that does not exist": "code 69, says why",
    "A web page instead of an answer (200)": "code 74, says why",
    "The connection breaks in the middle": "code 74, says why",
    "The stream ends in the middle, without its end marker": "code 74, says why",
    "An error inside the stream, in the middle": "code 75, says why",
    "A piece of the stream is broken JSON": "code 74, says why",
    "Silence in the middle, where a limit can be set": "code 74, says why",
    "The output limit cuts the answer": "code 76, says why",
    "The answer is empty": "code 76, says why",
    "The disk under stdout is full": "code 74, says why",
    "Ctrl+C in the middle: what was shown": "kept, code 130",
    "Killed in the middle: what was shown": "kept, code 137",
}


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    """The checkout, as if it had been installed."""
    command = tmp_path / "bin" / "jpq"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m jpq "$@"\n')
    os.chmod(command, 0o755)
    return Installed(JPQ, str(command.parent), "0", ">=3.8")


def judged(situation: Situation, installed: Installed) -> str:
    with Place(installed, situation.scripts) as place:
        return situation.judge(place)


def test_the_same_commands_are_measured(installed: Installed) -> None:
    """``python -m bench everyday`` runs one that no situation does, and once it was not there."""
    assert all("version" in program.commands for program in PROGRAMS)
    other = installed._replace(program=JPQ._replace(name="other"))
    rows = measured((installed, other), dict(os.environ), 1)
    assert [row.against.split()[0] for row in rows] == ["other", "other"]


@pytest.mark.parametrize("situation", everyday.SITUATIONS, ids=lambda each: each.what)
def test_every_day(situation: Situation, installed: Installed) -> None:
    assert judged(situation, installed) == everyday.YES


@pytest.mark.parametrize("situation", failing.SITUATIONS, ids=lambda each: each.what)
def test_when_something_is_wrong(situation: Situation, installed: Installed) -> None:
    assert judged(situation, installed) == ENDINGS[situation.what]
