"""What ``import jpq.mcp`` costs while nothing is connected."""

from __future__ import annotations

import subprocess
import sys
from typing import List, Set

from tests.support.programs import ROOT

HEAVY = {"requests", "urllib3", "subprocess", "asyncio", "logging", "http.client", "ssl"}


def loaded_by(code: str) -> Set[str]:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return {line.rpartition("|")[2].strip() for line in done.stderr.split("\n")}


def seconds_for(code: str) -> float:
    """The least of several, in one fresh interpreter each: what it takes when nothing disturbs."""
    timed = f"import time; t = time.perf_counter(); {code}; print(time.perf_counter() - t)"
    runs: List[float] = [
        float(subprocess.check_output([sys.executable, "-c", timed], cwd=ROOT)) for _ in range(5)
    ]
    return min(runs)


def test_it_costs_less_than_three_times_json() -> None:
    assert seconds_for("import jpq.mcp") < 3 * seconds_for("import json")


def test_a_client_loads_neither_http_nor_processes_before_they_are_needed() -> None:
    loaded = loaded_by("import jpq.mcp.client")
    assert "jpq.mcp.client" in loaded
    assert not loaded & HEAVY


def test_a_server_that_is_a_process_needs_no_http() -> None:
    assert not loaded_by("import jpq.mcp.stdio") & (HEAVY - {"subprocess"})


def test_its_names_are_loaded_when_they_are_used() -> None:
    code = "import jpq.mcp; print(jpq.mcp.Client, jpq.mcp.StdioTransport, jpq.mcp.HttpTransport)"
    assert "requests" in loaded_by(code)
