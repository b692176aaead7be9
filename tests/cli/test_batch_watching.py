"""How far a batch is, as a terminal and a log file see it."""

from __future__ import annotations

import io
from typing import Any, List, Optional

import pytest

from jpq.cli.batch.run import Totals
from jpq.cli.batch.watching import Watching
from jpq.cli.environment import Environment
from jpq.events.turn import Error, Result
from jpq.events.usage import Usage


class Clock:
    """A clock that stands still until it is told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.BytesIO):
    """A stderr that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def result(code: int = 0, kind: str = "", cost: Optional[float] = None) -> Result:
    told = Error(kind, "x") if kind else None
    usage = Usage(input_tokens=10, output_tokens=2)
    return Result("error" if code else "complete", "", None, usage, cost, code, told)


def totals(answered: int, *failures: str, skipped: int = 0) -> Totals:
    made = Totals()
    for _ in range(answered):
        made.add(result(cost=0.5))
    for kind in failures:
        made.add(result(1, kind))
    made.skipped = skipped
    return made


def watching(err: Any, total: Optional[int], clock: Clock, quiet: bool = False) -> Watching:
    env = Environment({"TERM": "xterm"}, "/", None, None, err)
    return Watching(env, total, quiet, clock=clock)


def lines(err: io.BytesIO) -> List[str]:
    return err.getvalue().decode().splitlines()


def test_a_file_gets_a_line_now_and_then() -> None:
    err, clock = io.BytesIO(), Clock()
    shows = watching(err, 40, clock)
    for seconds in range(0, 65, 5):
        clock.now = 100.0 + seconds
        shows.show(totals(10))
    assert lines(err) == [
        "jpq: 10 of 40, 0.3 a second, 1 min 30 s left",
        "jpq: 10 of 40, 0.2 a second, 3 min 0 s left",
    ]


def test_a_terminal_gets_one_line_that_is_rewritten() -> None:
    err, clock = Terminal(), Clock()
    shows = watching(err, 4, clock)
    clock.now += 1
    shows.show(totals(1))
    shows.show(totals(2))  # too soon after it
    clock.now += 1
    shows.show(totals(1, "busy", skipped=1))
    shows.tell("Stopping.")
    drawn = err.getvalue().decode()
    assert drawn.count("\r[") == 2 and "2 of 4" not in drawn
    assert f"\r[{'#' * 18}{'-' * 6}] 3 of 4, 1 failed, 1.0 a second, 1 s left" in drawn
    assert drawn.endswith(" \rjpq: Stopping.\n")


@pytest.mark.parametrize("columns", [10, 25, 40, 60, 200])
def test_the_line_fits_the_terminal(columns: int) -> None:
    err, clock = Terminal(), Clock()
    env = Environment({"TERM": "xterm", "COLUMNS": str(columns)}, "/", None, None, err)
    shows = Watching(env, 10_001, False, clock=clock)
    for count in (1, 2, 3):
        clock.now += 100
        shows.show(totals(count, *["cut"] * 9))
    shows.clear()
    drawn = err.getvalue().decode().split("\r")
    assert max(map(len, drawn)) < columns and "\n" not in "".join(drawn)
    if columns > 30:
        assert " of 10001, 9 failed" in drawn[1]


def test_a_terminal_with_the_answers_on_it_gets_lines_that_stay() -> None:
    err, clock = Terminal(), Clock()
    env = Environment({"TERM": "xterm"}, "/", None, None, err)
    shows = Watching(env, 4, False, moves=False, clock=clock)
    clock.now += 1
    shows.show(totals(1))
    clock.now += 30
    shows.show(totals(2))
    assert err.getvalue().startswith(b"jpq: 2 of 4") and b"\r" not in err.getvalue()


def test_what_has_no_known_end() -> None:
    err, clock = io.BytesIO(), Clock()
    shows = watching(err, None, clock)
    clock.now += 31
    running = totals(0)
    running.running = 3
    shows.show(running)
    assert lines(err) == ["jpq: 0 answered, 3 running"]


def test_hours() -> None:
    err, clock = io.BytesIO(), Clock()
    shows = watching(err, 10_001, clock)
    clock.now += 100
    shows.show(totals(1, *["cut"] * 9))
    assert lines(err) == ["jpq: 10 of 10001, 9 failed, 0.1 a second, 27 h 45 min left"]


@pytest.mark.parametrize("err", [io.BytesIO, Terminal])
def test_quiet_says_nothing(err: Any) -> None:
    channel, clock = err(), Clock()
    shows = watching(channel, 4, clock, quiet=True)
    clock.now += 100
    shows.show(totals(1))
    shows.tell("x")
    shows.sum_up(totals(1))
    assert channel.getvalue() == b""


def test_the_sum() -> None:
    err = io.BytesIO()
    watching(err, 9, Clock()).sum_up(totals(2, "cut", "busy", "cut", skipped=4))
    assert lines(err) == [
        "jpq: 2 answered, 3 failed (cut 2, busy 1), 4 answered before; "
        "tokens: 50 in, 10 out, 1.0000 USD."
    ]
