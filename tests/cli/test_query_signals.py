"""Signals before and during a turn, as the parent of the process sees them."""

from __future__ import annotations

import os
import signal
import subprocess
import threading

import pytest

from tests.support.programs import conversations, entries, model_at, signalled
from tests.support.server import Pause, Server, chunk, delta, head, sse

ENDING = {signal.SIGHUP: 129, signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.mark.parametrize("format", ["auto", "json", "jsonl"])
@pytest.mark.parametrize("signum", ENDING)
def test_during_the_turn(signum: int, format: str) -> None:
    over = threading.Event()
    events = [chunk(event) for event in sse(delta("Hello"))]
    # --json shows nothing before the end, but --verbose tells that the answer has begun.
    when, on = (b"answered by", "stderr") if format == "json" else (b"Hello", "stdout")
    with Server([head(), *events, Pause(over)]) as server:
        arguments = [*model_at(server), "-v", "--format", format, "hi"]
        ran = signalled(arguments, signum, when, on, stdin=subprocess.DEVNULL)
        over.set()
    assert ran.code == ENDING[signum]
    if format == "auto":
        assert ran.out == b"Hello\n"
    else:
        assert ran.result["status"] == "interrupted"
        assert ran.result["exit_code"] == ran.code
    (folder,) = conversations()
    assert entries(folder)[-1]["status"] == "interrupted"


@pytest.mark.parametrize("format", ["auto", "json", "jsonl"])
@pytest.mark.parametrize("signum", ENDING)
def test_before_the_turn(signum: int, format: str) -> None:
    read, write = os.pipe()
    arguments = ["-m", "ollama/x", "--set", "input.stdin_wait_s=60"]
    arguments += ["--set", "no.such=1", "--format", format, "hi"]
    try:
        ran = signalled(arguments, signum, b"no.such", "stderr", stdin=read)
    finally:
        os.close(read)
        os.close(write)
    assert b"Traceback" not in ran.err
    if format == "auto":
        assert ran.out == b""
    else:
        assert (ran.result["status"], ran.result["exit_code"]) == ("interrupted", ENDING[signum])
        assert [event["type"] for event in ran.events].count("result") == 1
    assert conversations() == []
    with open(os.path.join(os.environ["JPQ_HOME"], "state", "log", "jpq.log")) as log:
        assert log.read().endswith("INFO ended by a signal before the turn\n")


def test_quit_ends_at_once() -> None:
    over = threading.Event()
    with Server([head(), chunk(sse(delta("Hello"))[0]), Pause(over)]) as server:
        signalled(
            [*model_at(server), "hi"], signal.SIGQUIT, b"Hello", "stdout", stdin=subprocess.DEVNULL
        )
        over.set()
    (folder,) = conversations()
    assert os.path.exists(os.path.join(folder, "inflight.jsonl"))
