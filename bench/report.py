"""The table that a benchmark run prints, and its copy in docs/performance.md."""

from __future__ import annotations

import os
import sys
import time
from typing import List, Sequence

from bench.compare import Row
from bench.process import ROOT

PAGE = os.path.join(ROOT, "docs", "performance.md")
BEGIN, END = "<!-- bench -->", "<!-- /bench -->"
TITLES = ("what", "jpq", "against", "ratio", "target", "met")


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    lines = [TITLES, ("---",) * len(TITLES)]
    lines += [(*row[:-1], ("yes" if row.met else "**no**") if row.target else "") for row in rows]
    return "\n".join("| {} |".format(" | ".join(line)) for line in lines)


def machine() -> str:
    """Where and when this ran, in one sentence."""
    system = os.uname()
    python = "{}.{}.{}".format(*sys.version_info[:3])
    load = os.getloadavg()[0]
    return (
        f"Measured on {time.strftime('%Y-%m-%d')}: {system.sysname} {system.release.split('-')[0]} "
        f"on {system.machine}, {_processor()}, {os.cpu_count()} cores, CPython {python}, "
        f"load {load:.1f} at the end."
    )


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if "model name" in line]
    except OSError:
        names = []
    return names[0] if names else "unknown processor"


def update_page(rows: List[Row], page: str = PAGE) -> None:
    """Replace what stands between the markers of ``page``."""
    with open(page, encoding="utf-8") as file:
        before, _, rest = file.read().partition(BEGIN)
    after = rest.partition(END)[2]
    with open(page, "w", encoding="utf-8") as file:
        file.write(f"{before}{BEGIN}\n{machine()}\n\n{table(rows)}\n{END}{after}")
