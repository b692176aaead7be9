"""Start-up: what jpq costs before it does anything, beside a bare interpreter."""

from __future__ import annotations

from typing import Dict, List

from bench.compare import Row, median, ratio, rounds
from bench.process import jpq, python

ROUNDS = 21
TARGETS = {"--version": 2.5, "--help": 4.5}


def measure(environ: Dict[str, str], count: int = ROUNDS) -> List[Row]:
    """``jpq --version`` and ``--help`` against ``python -c pass``."""
    bare = python("python -c pass", "-c", "pass")
    programs = [bare] + [jpq(option)._replace(name=option) for option in TARGETS]
    costs = rounds(programs, environ, count)
    walls = {name: [cost.wall_s for cost in runs] for name, runs in costs.items()}
    rows = []
    for option, target in TARGETS.items():
        times = ratio(walls[option], walls[bare.name])
        rows.append(
            Row(
                f"start-up, `jpq {option}`",
                f"{median(walls[option]) * 1000:.1f} ms",
                f"`{bare.name}` {median(walls[bare.name]) * 1000:.1f} ms",
                f"x{times:.2f}",
                f"x{target}",
                times <= target,
            )
        )
    return rows
