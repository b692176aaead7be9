"""What jpq must do however it was installed.

``JPQ_TEST_COMMAND="python3.9 jpq.pyz" pytest tests/smoke`` tests that command, else the
checkout. Needs nothing but a Python for the test itself.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from typing import Any, Dict, List

import pytest

from tests.support.pressing import calls
from tests.support.ptys import ROOT, Child, jpq
from tests.support.server import DONE, FINISH, Server, answer, delta, error, reply

COMMAND = shlex.split(os.environ.get("JPQ_TEST_COMMAND", "")) or jpq()
INSTALLED = "JPQ_TEST_COMMAND" in os.environ
WAIT_S = 60


@pytest.fixture
def environ(own_home: str) -> Dict[str, str]:
    """An almost empty environment, as cron and ssh give it."""
    environ = {"PATH": os.environ["PATH"], "HOME": own_home, "JPQ_HOME": own_home}
    return environ if INSTALLED else {**environ, "PYTHONPATH": ROOT}


def run(environ: Dict[str, str], *arguments: str, stdin: bytes = b"") -> Any:
    return subprocess.run(
        [*COMMAND, *arguments],
        env=environ,
        cwd=environ["HOME"],
        input=stdin,
        capture_output=True,
        timeout=WAIT_S,
    )


def pointed(server: Server) -> List[str]:
    return ["-m", "custom/test", "--base-url", server.url]


def test_version_and_help(environ: Dict[str, str]) -> None:
    assert re.fullmatch(rb"jpq \d+\.\d+\.\d+\n", run(environ, "--version").stdout)
    assert b"Why is the sky blue?" in run(environ, "--help").stdout


def test_an_answer_is_streamed_and_saved(environ: Dict[str, str]) -> None:
    with Server(answer("Because of Rayleigh.")) as server:
        done = run(environ, *pointed(server), "Why?")
    assert (done.stdout, done.stderr, done.returncode) == (b"Because of Rayleigh.\n", b"", 0)
    shown = run(environ, "conversation", "show").stdout
    assert b"Because of Rayleigh." in shown


def test_an_error_has_its_code(environ: Dict[str, str]) -> None:
    with Server(error("401 Unauthorized", b'{"error": {"message": "Bad key"}}')) as server:
        done = run(environ, *pointed(server), "--json", "Why?")
    assert done.returncode == json.loads(done.stdout)["exit_code"] == 77
    assert b"Bad key" in done.stderr


def test_a_tool_runs_and_files_are_searched(environ: Dict[str, str]) -> None:
    with open(os.path.join(environ["HOME"], "notes.txt"), "w") as file:
        file.write("the needle\n")
    called = reply(*calls(("search_files", '{"pattern": "needle"}')), DONE)
    with Server(called, answer("Found.")) as server:
        done = run(environ, *pointed(server), "-t", "search_files", "-y", "Where is it?")
    assert (done.stdout, done.returncode) == (b"Found.\n", 0)
    assert "notes.txt:1: the needle" in server.seen[1].body.decode()


def test_markdown_is_drawn_on_a_terminal(environ: Dict[str, str]) -> None:
    with Server(reply(delta("**bold**"), FINISH, DONE)) as server:
        command = [*COMMAND, *pointed(server), "Why?"]
        screen = {**environ, "TERM": "xterm"}
        with Child(command, screen, environ["HOME"], terminal=True) as child:
            assert child.end(WAIT_S) == 0
    assert b"\x1b[1mbold" in child.output


def test_what_ships_with_it(environ: Dict[str, str]) -> None:
    """Data files are found: an engine that is missing is the only thing that is wrong."""
    done = run(environ, "models", "ls")
    assert b"smollm2" in done.stdout and done.returncode == 0


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_only_the_model_s_host_is_talked_to(environ: Dict[str, str], tmp_path: Any) -> None:
    trace = str(tmp_path / "trace")
    with Server(answer("Hello.")) as server:
        command = [*COMMAND, *pointed(server), "Hi"]
        done = subprocess.run(
            ["strace", "-f", "-qq", "-e", "trace=network", "-o", trace, *command],
            env=environ,
            cwd=environ["HOME"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=WAIT_S,
        )
        port = server.url.rsplit(":", 1)[1].split("/")[0]
    if b"ptrace" in done.stderr:
        pytest.skip("processes may not be traced here")
    assert done.stdout == b"Hello.\n"
    with open(trace) as file:
        calls = [line for line in file if "AF_INET" in line and re.search(r"connect|sendto", line)]
    assert calls
    assert all(f"htons({port})" in line and '"127.0.0.1"' in line for line in calls), calls


def test_python_is_what_it_says(environ: Dict[str, str]) -> None:
    """The command under test runs on the Python that its first word is."""
    wanted = subprocess.run(
        [COMMAND[0], "-c", "import platform; print(platform.python_version())"],
        capture_output=True,
        env=environ,
        timeout=WAIT_S,
    ).stdout.strip()
    if not wanted or not INSTALLED:
        wanted = sys.version.split()[0].encode()
    assert wanted in run(environ, "doctor").stdout
