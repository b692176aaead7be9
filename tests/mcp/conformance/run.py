"""Runs the public conformance suite of MCP against jpq: ``python tests/mcp/conformance/run.py``.

Prints one line a revision. Exit code 0: every required scenario passes. 1: one does not, or
the suite could not be installed although npm is here. 77: there is no npm, so nothing was run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import Dict, List

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(HERE))))

from tests.mcp.real_servers import NotToBeHad, node_folder  # noqa: E402

# How many scenarios each revision requires, frozen with its release.
REQUIRED = {"2026-07-28": 32, "2025-11-25": 18}
FAILED, NOT_RUN = 1, 77
_SUITE_S = 300
# All scenarios run at once; the suite's own 30 s each are short for a busy machine.
_SCENARIO_MS = "100000"
# How the suite marks a scenario in its summary.
PASSED, BAD = "\u2713", "\u2717"


def failures(folder: str, revision: str, python: str) -> List[str]:
    """What is wrong with ``revision``: the scenarios that fail, or that were not run."""
    programs = os.path.join(folder, "node_modules", ".bin")
    suite = [os.path.join(programs, "node"), os.path.join(programs, "conformance")]
    client = f"{python} {os.path.join(HERE, 'client.py')}"
    with tempfile.TemporaryDirectory() as results:
        done = subprocess.run(
            [*suite, "client", "--command", client, "--requirements", revision]
            + ["--timeout", _SCENARIO_MS, "-o", results],
            capture_output=True,
            text=True,
            timeout=_SUITE_S,
            env=environment(),
        )
    lines = (done.stdout + done.stderr).split("\n")
    # Scenarios that a revision does not require are listed once more, indented.
    unscored = {line.split()[1] for line in lines if line.startswith(("  " + PASSED, "  " + BAD))}
    outcomes = {
        line.split()[1].rstrip(":"): line
        for line in lines
        if line.startswith((PASSED, BAD)) and ": " in line
    }
    scored = {name: line for name, line in outcomes.items() if name not in unscored}
    wrong = [line for line in scored.values() if line.startswith(BAD)]
    if done.returncode != 0 or len(scored) != REQUIRED[revision]:
        wrong.append(f"{len(scored)} of {REQUIRED[revision]} ran, exit code {done.returncode}")
    return wrong


def environment() -> Dict[str, str]:
    """Ours, without what would send requests to this machine elsewhere."""
    return {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}


def main() -> int:
    try:
        folder = node_folder(os.environ)
    except NotToBeHad as error:
        print(f"mcp conformance: nothing was run: {error}")
        return NOT_RUN if error.hopeless else FAILED
    bad = False
    for revision, count in REQUIRED.items():
        wrong = failures(folder, revision, sys.executable)
        bad = bad or bool(wrong)
        print(f"mcp conformance {revision}: {'FAILED' if wrong else f'{count} of {count} pass'}")
        print("".join(f"    {line}\n" for line in wrong), end="")
    return FAILED if bad else 0


if __name__ == "__main__":
    sys.exit(main())
