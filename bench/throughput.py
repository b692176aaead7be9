"""Fifty thousand small chunks as fast as the client takes them: CPU time an event."""

from __future__ import annotations

from typing import Dict, List

from bench import wire
from bench.compare import Row, median, ratio, rounds
from bench.process import Failed, baseline, jpq_query
from bench.server import Server

ROUNDS = 5
CHUNKS = 50_000
CPU_TARGET_US = 20


def measure(environ: Dict[str, str], count: int = ROUNDS) -> List[Row]:
    """CPU time an event of the whole process, start-up included, and its peak memory."""
    with Server(environ) as server:
        url = server.url(f"flood/{CHUNKS}")
        names = ("sseclient_alone", "socket_reader", "sseclient_script")
        others = [baseline(name, url) for name in names]
        costs = rounds([jpq_query(url), *others], environ, count)
    expected = sum(len(wire.word(number)) for number in range(CHUNKS))
    for cost in costs["jpq"]:
        if cost.output_bytes not in (expected, expected + 1):  # one final newline may be added
            raise Failed(f"jpq printed {cost.output_bytes} of {expected} bytes")
    per_event = {name: [cost.cpu_s * 1e6 / CHUNKS for cost in runs] for name, runs in costs.items()}
    ours = per_event["jpq"]
    labels = ("sseclient-py alone", "bare socket reader", "requests + sseclient script")
    rows = [
        Row(
            f"CPU an event, {CHUNKS:,} chunks",
            f"{median(ours):.1f} us",
            f"{label} {median(per_event[name]):.1f} us",
            f"x{ratio(ours, per_event[name]):.2f}",
            f"{CPU_TARGET_US} us" if name == names[0] else "",  # one target, told once
            median(ours) <= CPU_TARGET_US,
        )
        for name, label in zip(names, labels)
    ]
    peaks = {name: [cost.peak_mib for cost in runs] for name, runs in costs.items()}
    return [*rows, _memory(peaks["jpq"], peaks["sseclient_script"])]


def _memory(ours: List[float], script: List[float]) -> Row:
    return Row(
        f"peak memory, {CHUNKS:,} chunks",
        f"{median(ours):.1f} MiB",
        f"requests + sseclient script {median(script):.1f} MiB",
        f"x{ratio(ours, script):.2f}",
        "",
        True,
    )
