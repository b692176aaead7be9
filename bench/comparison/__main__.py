"""``python -m bench.comparison``: run every situation, and write docs/comparison.md.

Installs the other programs into ``--folder`` once, from the package index.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import List, Sequence, Tuple

from bench.comparison import everyday, failing
from bench.comparison.everyday import Situation
from bench.comparison.programs import PROGRAMS, Installed, install, programs_folder
from bench.comparison.run import Place
from bench.process import ROOT
from bench.report import machine

PAGE = os.path.join(ROOT, "docs", "comparison.md")
BEGIN, END = "<!-- comparison -->", "<!-- /comparison -->"
_HEADINGS = (
    ("## Every day", everyday.SITUATIONS),
    ("## When something is wrong", failing.SITUATIONS),
)


def cells(situation: Situation, programs: Sequence[Installed]) -> List[str]:
    """What each program does there."""
    row = []
    for installed in programs:
        with Place(installed, situation.scripts) as place:
            row.append(situation.judge(place))
    return row


def section(heading: str, situations: Sequence[Situation], programs: Sequence[Installed]) -> str:
    names = [installed.program.name for installed in programs]
    lines = [["", *names], ["---"] * (len(names) + 1)]
    for situation in situations:
        lines.append([situation.what, *cells(situation, programs)])
        print(" | ".join(lines[-1]), file=sys.stderr)
    table = "\n".join("| {} |".format(" | ".join(line)) for line in lines)
    return f"{heading}\n\n{table}"


def write(text: str) -> None:
    with open(PAGE, encoding="utf-8") as file:
        before, _, rest = file.read().partition(BEGIN)
    after = rest.partition(END)[2]
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(f"{before}{BEGIN}\n{text}\n{END}{after}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.comparison", description=__doc__)
    parser.add_argument("programs", nargs="*", help="only these; default: all")
    parser.add_argument("--folder", default=programs_folder(), help="where they are installed")
    parser.add_argument("--only", default="", help="situations whose name holds this")
    parser.add_argument("--update-docs", action="store_true", help="rewrite docs/comparison.md")
    options = parser.parse_args()
    whole = not (options.programs or options.only)
    if options.update_docs and not whole:
        parser.error("--update-docs needs every program and situation")
    names = options.programs or [program.name for program in PROGRAMS]
    programs = install(options.folder, names)
    versions = ", ".join(f"{each.program.name} {each.version}" for each in programs)
    parts: List[str] = [f"{versions}, on {time.strftime('%Y-%m-%d')}. {machine()}"]
    for heading, situations in _HEADINGS:
        chosen: Tuple[Situation, ...] = tuple(
            each for each in situations if options.only.lower() in each.what.lower()
        )
        parts.append(section(heading, chosen, programs))
    text = "\n\n".join(parts)
    print(text)
    if options.update_docs:
        write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
