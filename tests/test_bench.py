"""The benchmark's own arithmetic, and one small run of it over real processes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import List

import pytest

from bench import report
from bench.compare import Row, interleave, median, percentile, ratio
from bench.latency import Delays
from bench.process import Cost, Failed, baseline, environment, python, run
from bench.server import Server


@pytest.mark.parametrize(
    ("values", "middle"), [([3.0], 3.0), ([5.0, 1.0, 3.0], 3.0), ([4.0, 1.0, 2.0, 9.0], 3.0)]
)
def test_median(values: List[float], middle: float) -> None:
    assert median(values) == middle


def test_percentile_is_a_value_that_was_measured() -> None:
    values = [float(number) for number in range(100)]
    assert percentile(values, 0.99) == 99.0
    assert percentile([7.0], 0.99) == 7.0


def test_ratio_is_taken_round_by_round() -> None:
    assert ratio([1.0, 20.0, 3.0], [1.0, 10.0, 1.0]) == 2.0


def test_rounds_are_interleaved_and_the_warm_up_does_not_count() -> None:
    order: List[str] = []

    def measure(name: str) -> Cost:
        order.append(name)
        return Cost(1.0, 1.0, 1.0, 0)

    costs = interleave(["a", "b"], 2, measure)
    assert order == ["b", "a", "a", "b", "b", "a"]
    assert {name: len(runs) for name, runs in costs.items()} == {"a": 2, "b": 2}


def test_delays_wait_for_whole_stamps() -> None:
    delays = Delays()
    delays(b"1000000\n20", 3_000_000)
    delays(b"00000\n\n", 5_000_000)
    assert delays.ms == [2.0, 3.0]


def test_a_failing_program_is_never_a_figure(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="no figure"):
        run(python("fails", "-c", "raise SystemExit('no figure')").argv, environment(str(tmp_path)))


def test_only_the_marked_part_of_the_page_changes(tmp_path: Path) -> None:
    page = os.path.join(str(tmp_path), "page.md")
    with open(page, "w", encoding="utf-8") as file:
        file.write("before\n<!-- bench -->\nold\n<!-- /bench -->\nafter\n")
    report.update_page([Row("start-up", "1 ms", "other 2 ms", "x0.50", "x1", True)], page)
    with open(page, encoding="utf-8") as file:
        text = file.read()
    assert text.startswith("before\n<!-- bench -->\nMeasured on ")
    assert "| start-up | 1 ms | other 2 ms | x0.50 | x1 | yes |" in text
    assert text.endswith("<!-- /bench -->\nafter\n") and "old" not in text


@pytest.mark.parametrize("script", ["requests_script", "sseclient_script"])
def test_a_baseline_prints_the_whole_answer(script: str, tmp_path: Path) -> None:
    printed: List[bytes] = []
    environ = environment(str(tmp_path))
    with Server(environ) as server:
        program = baseline(script, server.url("short/3"))
        cost = run(program.argv, environ, lambda data, _: printed.append(data))
    assert b"".join(printed) == b"word0 word1 word2 \n"
    assert cost.output_bytes == 19 and cost.cpu_s > 0 and cost.peak_mib > 5
