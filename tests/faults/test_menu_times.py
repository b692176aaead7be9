"""From the key to the menu, or to what it does, everywhere; the table of docs/interrupts.md.

``JPQ_TEST_UPDATE_DOCS=1`` presses fifty times in each phase and writes the table.
"""

from __future__ import annotations

import os
import platform
import statistics
from pathlib import Path
from typing import Dict, List

import pytest

from tests.support.marked_parts import UPDATES, marked_part, up_to_date
from tests.support.press_rows import ROWS, times_of
from tests.support.pressing import MARK, SCENES, Stage, press
from tests.support.ptys import Child
from tests.support.server import Server
from tests.support.weights import ENGINE_MISSING

PRESSES = 50 if UPDATES else 3
# A loaded machine may take long; what is usual is in the table.
BOUND_S = 5.0

times: Dict[str, List[float]] = {}


@pytest.mark.parametrize("name", SCENES)
def test_the_menu_is_there_at_once(name: str, tmp_path: Path) -> None:
    scene = SCENES[name]
    stage = Stage(str(tmp_path))
    with Server(*scene.scripts(stage.end)) as server:
        with stage.start(server, *scene.options) as child:
            stage.wait_for(scene, child, server)
            times[name] = []
            for _ in range(PRESSES):
                times[name].append(press(child, MARK[scene.place]))
                _go_on(child)
            press(child, MARK[scene.place])
            child.type(b"s")
            assert child.end() == 0
        stage.end.set()
    assert max(times[name]) < BOUND_S


@pytest.mark.parametrize("name", ROWS)
def test_where_one_press_is_made(name: str, tmp_path: Path) -> None:
    if name.startswith("`models install`") and ENGINE_MISSING:
        pytest.skip(ENGINE_MISSING)
    times[name] = times_of(name, str(tmp_path), PRESSES)
    assert max(times[name]) < BOUND_S


def _go_on(child: Child) -> None:
    del child.output[:]
    child.type(b"c")
    child.wait_for(b"\x1b[J")


def table() -> str:
    """The times as Markdown, in the order of the phases."""
    lines = ["| phase | median | worst of 50 |", "| --- | --- | --- |"]
    for name in (*SCENES, *ROWS):
        taken = times[name]
        lines.append(
            f"| {name} | {statistics.median(taken) * 1000:.1f} ms | {max(taken) * 1000:.1f} ms |"
        )
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()}"
    first = hasattr(os, "sched_getscheduler") and os.sched_getscheduler(0) != os.SCHED_OTHER
    beside = "with priority over other work" if first else "while other work was going on"
    return "\n".join(lines) + f"\n\nMeasured on {machine}, {beside}.\n"


def test_the_page_has_a_time_for_every_phase() -> None:
    page, part = "interrupts.md", "times"
    shown = up_to_date(page, part, table()) if UPDATES else marked_part(page, part)
    for name in (*SCENES, *ROWS):
        assert f"| {name} | " in shown
