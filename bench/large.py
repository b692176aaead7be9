"""One very large event: what it adds to a one-shot, and whether that grows in proportion."""

from __future__ import annotations

from typing import Dict, List

from bench.compare import Row, interleave, median
from bench.process import Cost, Failed, jpq_query, run
from bench.server import Server

ROUNDS = 9
SIZES = (800_000, 1_600_000, 3_200_000)
ADDED_TARGET_MS = 100
# Linear is x2 a doubling and quadratic x4; between them is room for the machine's noise.
GROWTH_TARGET = 2.6


def measure(environ: Dict[str, str], count: int = ROUNDS) -> List[Row]:
    """The wall time that an event of 0.8, 1.6 and 3.2 MB adds to an answer of one letter."""
    with Server(environ) as server:
        commands = {str(size): jpq_query(server.url(f"large/{size}")).argv for size in (1, *SIZES)}

        def one_run(name: str) -> Cost:
            cost = run(commands[name], environ)
            if cost.output_bytes < int(name):
                raise Failed(f"jpq printed {cost.output_bytes} of {name} bytes")
            return cost

        costs = interleave(list(commands), count, one_run)
    added = {}
    for size in SIZES:
        pairs = zip(costs[str(size)], costs["1"])
        added[size] = median([(large.wall_s - small.wall_s) * 1000 for large, small in pairs])
    small, middle, large = (max(added[size], 0.1) for size in SIZES)
    return [
        Row(
            "one event of 3.2 MB, added to a one-shot",
            f"{large:.0f} ms",
            f"0.8 MB {small:.0f} ms, 1.6 MB {middle:.0f} ms",
            f"x{large / middle:.2f} a doubling",
            f"{ADDED_TARGET_MS} ms, linear",
            large <= ADDED_TARGET_MS and large / middle <= GROWTH_TARGET,
        )
    ]
