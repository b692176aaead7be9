"""No turn imports asyncio: not jpq, and nothing that jpq imports on the way."""

from __future__ import annotations

import subprocess
import sys
from typing import Dict, List

from tests.support import programs
from tests.support.programs import ROOT, WAIT_S, Ran, base_url
from tests.support.server import Server, answer, error
from tests.support.weights import needs_engine

# jpq ends with os._exit, which is replaced to look at what has been imported by then.
LOOK_AT_THE_END = """
import os, sys
from jpq.cli.main import main

def look(code, end=os._exit):
    print(*sorted({"asyncio", "requests", "tenacity"} & set(sys.modules)), file=sys.stderr)
    sys.stderr.flush()
    end(code)

os._exit = look
main(sys.argv[1:])
"""


def jpq(environ: Dict[str, str], *words: str) -> Ran:
    """A turn whose last line of stderr names the modules of interest that it imported."""
    done = subprocess.run(
        [sys.executable, "-c", LOOK_AT_THE_END, *words],
        env=environ,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=WAIT_S,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def imported(ran: Ran) -> List[str]:
    return ran.told[-1].split()


def test_a_turn_over_http() -> None:
    """With a retry, as that is what tenacity is loaded for."""
    with Server(error("503 Service Unavailable", b"{}"), answer("Hello there.")) as server:
        where = [*base_url(server.url), "--set", "request.backoff_base_s=0.01"]
        ran = jpq(programs.environment(), "-m", "custom/test", *where, "Hello?")
    assert (ran.code, ran.text) == (0, "Hello there.\n")
    assert imported(ran) == ["requests", "tenacity"]


@needs_engine
def test_a_turn_with_the_embedded_model(home: str) -> None:
    environ = programs.environment(JPQ_HOME=home)
    ran = jpq(environ, "-m", "local/smollm2", "-o", 'grammar=root ::= "Hello."', "Hello?")
    assert (ran.code, ran.text) == (0, "Hello.\n")
    assert imported(ran) == ["requests"]
