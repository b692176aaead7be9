"""Every kind of fault at every moment of a turn: nothing is lost, repeated or poisoned.

docs/reliability.md shows what comes of each; ``JPQ_TEST_UPDATE_DOCS=1`` rewrites it.
"""

from __future__ import annotations

import concurrent.futures
import sys
from pathlib import Path
from typing import Dict, Tuple

import pytest

from tests.support.faults import FAULTS, MOMENTS, WORDS, Outcome, play
from tests.support.marked_parts import HOW, up_to_date

AT_ONCE = 6
Outcomes = Dict[Tuple[str, str], Outcome]


def amount(words: int) -> str:
    return "nothing" if not words else "all" if words == WORDS else "part"


def cell(outcome: Outcome) -> str:
    shown, kept = amount(outcome.shown), amount(outcome.kept)
    return f"{outcome.code}: {shown}, {kept}, `{outcome.then}`"


def table(outcomes: Outcomes) -> str:
    lines = [f"| | {' | '.join(MOMENTS)} |", "| --- |" + " --- |" * len(MOMENTS)]
    for name in FAULTS:
        found = (outcomes.get((name, moment)) for moment in MOMENTS)
        cells = ("-" if each is None else cell(each) for each in found)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


@pytest.mark.skipif(sys.platform != "linux", reason="changes the limits of another process")
def test_every_fault_at_every_moment(tmp_path: Path) -> None:
    cases = [(name, moment) for name in FAULTS for moment in FAULTS[name].moments]

    def outcome(case: Tuple[str, str]) -> Outcome:
        folder = tmp_path / "-".join(case).replace(" ", "_")
        folder.mkdir()
        return play(FAULTS[case[0]], case[1], str(folder))

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = dict(zip(cases, pool.map(outcome, cases)))
    problems = {case: each.problems for case, each in outcomes.items() if each.problems}
    assert problems == {}
    _check_page(table(outcomes))


def _check_page(found: str) -> None:
    shown = up_to_date("reliability.md", "faults", found)
    pairs = zip(shown.split("|"), found.split("|"))
    assert [pair for pair in pairs if pair[0] != pair[1]] == [] and shown == found, HOW
