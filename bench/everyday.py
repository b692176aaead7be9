"""Start-up and a one-shot question beside other programs, each installed as its people say.

They are installed into ``JPQ_BENCH_PROGRAMS`` (a folder) the first time; see
``python -m bench.comparison`` for what they do, and how they are asked.
"""

from __future__ import annotations

import os
import tempfile
from typing import Callable, Dict, List, Sequence

from bench.compare import Row, interleave, median, ratio
from bench.comparison.programs import Installed, install, programs_folder
from bench.process import Cost, run
from bench.server import Server

ROUNDS = 5
FASTER = 2.0


def measure(environ: Dict[str, str], count: int = ROUNDS) -> List[Row]:
    """Wall time of ``--version`` and of a short answer into a pipe, beside each program."""
    return measured(install(programs_folder()), environ, count)


def measured(
    programs: Sequence[Installed], environ: Dict[str, str], count: int = ROUNDS
) -> List[Row]:
    """The same of ``programs``, of which one is jpq."""
    rows = []
    with Server(environ) as server, tempfile.TemporaryDirectory() as homes:
        url = server.url("short/10")
        measures = {
            "start-up, `--version`": _command(homes, url, "version"),
            "one-shot, 10 words into a pipe": _question(homes, url),
        }
        for what, costs in measures.items():
            rows += _rows(what, programs, _walls(programs, costs, count))
    return rows


def _walls(
    programs: Sequence[Installed], cost: Callable[[Installed], Cost], count: int
) -> Dict[str, List[float]]:
    by_name = {each.program.name: each for each in programs}
    costs = interleave(list(by_name), count, lambda name: cost(by_name[name]))
    return {name: [each.wall_s for each in runs] for name, runs in costs.items()}


def _command(homes: str, url: str, name: str) -> Callable[[Installed], Cost]:
    def cost(installed: Installed) -> Cost:
        return _run(installed, homes, url, installed.program.commands[name])

    return cost


def _question(homes: str, url: str) -> Callable[[Installed], Cost]:
    def cost(installed: Installed) -> Cost:
        program = installed.program
        options = [*program.does.get("no tools", ()), *program.does.get("plain", ())]
        return _run(installed, homes, url, [*program.ask, *options, "Hello?"])

    return cost


def _run(installed: Installed, homes: str, url: str, arguments: Sequence[str]) -> Cost:
    home = os.path.join(homes, installed.program.name)
    os.makedirs(home, exist_ok=True)
    installed.furnish(home, url)
    return run(installed.argv(home, url, arguments), installed.environ(home, url))


def _rows(what: str, programs: Sequence[Installed], walls: Dict[str, List[float]]) -> List[Row]:
    ours = walls["jpq"]
    rows = []
    for installed in programs:
        name = installed.program.name
        if name != "jpq":
            times = ratio(ours, walls[name])
            rows.append(
                Row(
                    what,
                    f"{median(ours) * 1000:.0f} ms",
                    f"{name} {installed.version} {median(walls[name]) * 1000:.0f} ms",
                    f"x{times:.2f}",
                    f"x{1 / FASTER}",
                    times <= 1 / FASTER,
                )
            )
    return rows
