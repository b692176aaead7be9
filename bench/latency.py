"""Added latency: from the server's send to the bytes on the other end of the client's stdout."""

from __future__ import annotations

import os
import shutil
from typing import Dict, List, Optional

from bench.compare import Row, interleave, median, percentile
from bench.process import ROOT, Cost, Failed, Program, baseline, jpq_query, run
from bench.server import Server

ROUNDS = 5
RATE = 100
CHUNKS = 200
FLOOR_TARGET = 3.0
SCRIPT_TARGET = 1.3  # where there is no compiler to make the C client with
PATH = f"paced/{RATE}/{CHUNKS}"


class Delays:
    """The delay of each chunk, read from the stamps that the server put into the text."""

    def __init__(self) -> None:
        self.ms: List[float] = []
        self._unfinished = b""

    def __call__(self, data: bytes, now_ns: int) -> None:
        *lines, self._unfinished = (self._unfinished + data).split(b"\n")
        self.ms.extend((now_ns - int(line)) / 1e6 for line in lines if line.strip())


def measure(environ: Dict[str, str], count: int = ROUNDS) -> List[Row]:
    """The median delay at 100 chunks a second against a C client and a bare script."""
    with Server(environ) as server:
        url = server.url(PATH)
        script = baseline("sseclient_script", url)
        floor = _compiled_floor(environ, url)
        programs = [jpq_query(url), script] + ([floor] if floor else [])
        delays: Dict[str, List[Delays]] = {program.name: [] for program in programs}
        commands = {program.name: program.argv for program in programs}

        def one_run(name: str) -> Cost:
            delays[name].append(Delays())
            cost = run(commands[name], environ, delays[name][-1])
            if len(delays[name][-1].ms) != CHUNKS:
                raise Failed(f"{name} printed {len(delays[name][-1].ms)} of {CHUNKS} chunks")
            return cost

        interleave(list(delays), count, one_run)
    # The warm-up round came first.
    medians = {name: [median(run.ms) for run in runs[1:]] for name, runs in delays.items()}
    late = median([percentile(run.ms, 0.99) for run in delays["jpq"][1:]])
    label = "requests + sseclient script"
    if floor is None:
        return [_row(medians, script, SCRIPT_TARGET, late, label)]
    return [
        _row(medians, floor, FLOOR_TARGET, late, "C client"),
        _row(medians, script, None, late, label),
    ]


def _row(
    medians: Dict[str, List[float]],
    other: Program,
    target: Optional[float],
    late: float,
    label: str,
) -> Row:
    ours, theirs = medians["jpq"], medians[other.name]
    times = median([mine / their for mine, their in zip(ours, theirs)])
    return Row(
        f"added latency, {RATE} chunks/s",
        f"{median(ours):.2f} ms (p99 {late:.2f})",
        f"{label} {median(theirs):.2f} ms",
        f"x{times:.2f}",
        "" if target is None else f"x{target}",
        target is None or times <= target,
    )


def _compiled_floor(environ: Dict[str, str], url: str) -> Optional[Program]:
    """The C client, or None where there is no compiler."""
    compiler = shutil.which("cc")
    if not compiler:
        return None
    source = os.path.join(ROOT, "bench", "baselines", "floor.c")
    binary = os.path.join(environ["HOME"], "floor")
    run([compiler, "-O2", "-o", binary, source], environ)
    port, _, path = url[len("http://127.0.0.1:") :].partition("/")
    return Program("floor", [binary, port, f"/{path}/chat/completions"])
