"""One question, ten words back: the whole program beside a requests script."""

from __future__ import annotations

from typing import Dict, List

from bench.compare import Row, median, ratio, rounds
from bench.process import baseline, jpq_query
from bench.server import Server

ROUNDS = 15
WALL_TARGET = 1.2
PEAK_TARGET_MIB = 38


def measure(environ: Dict[str, str], count: int = ROUNDS) -> List[Row]:
    """Wall time and peak memory of a short answer into a pipe."""
    with Server(environ) as server:
        url = server.url("short/10")
        script = baseline("requests_script", url)
        costs = rounds([script, jpq_query(url)], environ, count)
    ours, theirs = costs["jpq"], costs[script.name]
    walls = [cost.wall_s for cost in ours], [cost.wall_s for cost in theirs]
    times = ratio(*walls)
    peaks = [cost.peak_mib for cost in ours], [cost.peak_mib for cost in theirs]
    peak = median(peaks[0])
    return [
        Row(
            "one-shot, 10 words into a pipe",
            f"{median(walls[0]) * 1000:.0f} ms",
            f"requests script {median(walls[1]) * 1000:.0f} ms",
            f"x{times:.2f}",
            f"x{WALL_TARGET}",
            times <= WALL_TARGET,
        ),
        Row(
            "peak memory of the one-shot",
            f"{peak:.1f} MiB",
            f"requests script {median(peaks[1]):.1f} MiB",
            f"x{ratio(*peaks):.2f}",
            f"{PEAK_TARGET_MIB} MiB",
            peak <= PEAK_TARGET_MIB,
        ),
    ]
