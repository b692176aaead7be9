"""``python -m bench``: measure, print a table, and on demand write it into the documentation."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from typing import Dict, List

from bench import (
    conversations,
    decoders,
    delay,
    durability,
    everyday,
    large,
    latency,
    oneshot,
    render,
    report,
    startup,
    throughput,
    tools,
    writers,
)
from bench.compare import Row
from bench.process import Failed, environment


def _durability(environ: Dict[str, str], count: int = durability.KILLS) -> List[Row]:
    """Kills, and a fifth as many rounds of two writers and of a full disk."""
    return [
        *durability.measure(environ, count),
        *writers.measure_writers(environ, count // 5),
        *writers.measure_full_disk(environ, count // 5),
    ]


BENCHMARKS = {
    "startup": startup.measure,
    "oneshot": oneshot.measure,
    "latency": latency.measure,
    "throughput": throughput.measure,
    "large": large.measure,
    "render": render.measure,
    "delay": delay.measure,
    "decoders": decoders.measure,
    "conversations": conversations.measure,
    "tools": tools.measure,
    "durability": _durability,
    "everyday": everyday.measure,
}
# Run only when they are named: the one takes minutes, and what it finds does not depend on the
# machine; the other installs programs of other people.
BY_NAME_ONLY = ("durability", "everyday")


def main() -> int:
    """Exit status 1 when a measured program failed; a missed target is only reported."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    names = f"{', '.join(BENCHMARKS)}; default: all but {', '.join(BY_NAME_ONLY)}"
    parser.add_argument("names", nargs="*", metavar="NAME", help=names)
    parser.add_argument(
        "--rounds", "--kills", type=int, help="runs (or kills) of each, instead of the usual number"
    )
    parser.add_argument("--update-docs", action="store_true", help="rewrite docs/performance.md")
    options = parser.parse_args()
    unknown = set(options.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}")
    if options.update_docs and options.names:
        parser.error("--update-docs needs the usual benchmarks, so name none")

    home = tempfile.mkdtemp(prefix="jpq-bench-")
    started_in = os.getcwd()
    os.chdir(home)  # so that no project configuration above the checkout is read
    try:
        rows = _measure(options.names or _usual(), home, options.rounds)
    except Failed as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        os.chdir(started_in)
        shutil.rmtree(home)
    print(report.table(rows))
    if options.update_docs:
        report.update_page(rows)
    return 0


def _usual() -> List[str]:
    return [name for name in BENCHMARKS if name not in BY_NAME_ONLY]


def _measure(names: List[str], home: str, rounds: int) -> List[Row]:
    rows: List[Row] = []
    for name in names:
        print(f"{name} ...", file=sys.stderr, flush=True)
        keywords = {"count": rounds} if rounds else {}
        rows += BENCHMARKS[name](environment(home), **keywords)
    return rows


if __name__ == "__main__":
    sys.exit(main())
