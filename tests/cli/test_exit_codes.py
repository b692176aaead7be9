"""Every exit code, as a shell sees it, and the page that explains them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading

import pytest

from jpq.errors import ExitCode
from tests.support.programs import ROOT, model_at, shell, signalled
from tests.support.server import DROP, Pause, Server, answer, chunk, delta, error, head, reply, sse

HELLO = [head(), chunk(sse(delta("Hello"))[0])]
REFUSED = {"choices": [{"index": 0, "delta": {}, "finish_reason": "content_filter"}]}

# Code -> what the server sends, and the line of shell that ends with the code.
CASES = {
    0: (answer("Hi"), 'jpq "$@" hi'),
    1: (error("404 Not Found", b"{}"), 'jpq "$@" hi'),
    2: (answer("Hi"), 'jpq "$@"'),
    65: (answer("Hi"), 'jpq "$@" -r nosuch hi'),
    69: ([DROP], 'jpq "$@" hi'),
    74: ([*HELLO, DROP], 'jpq "$@" hi'),
    75: (error("503 Service Unavailable", b"{}"), 'jpq "$@" hi'),
    76: (reply(REFUSED), 'jpq "$@" hi'),
    77: (error("401 Unauthorized", b"{}"), 'jpq "$@" hi'),
    78: (answer("Hi"), 'jpq "$@" -m nosuch/model hi'),
    124: ([*HELLO, None], 'jpq "$@" --timeout 0.6 hi'),
    141: ([head(), *HELLO[1:] * 50_000], 'jpq "$@" hi | true; exit "${PIPESTATUS[0]}"'),
}
SIGNALS = {
    129: signal.SIGHUP,
    130: signal.SIGINT,
    131: signal.SIGQUIT,
    143: signal.SIGTERM,
}


@pytest.mark.parametrize("code", CASES)
def test_code(code: int) -> None:
    steps, command = CASES[code]
    over = threading.Event()
    with Server([Pause(over) if step is None else step for step in steps]) as server:
        ran = shell(command, *model_at(server))
        over.set()
    assert ran.code == code, ran
    assert len(ran.told) <= 5


@pytest.mark.parametrize("code", SIGNALS)
def test_code_of_a_signal(code: int) -> None:
    over = threading.Event()
    with Server([*HELLO, Pause(over)]) as server:
        arguments = [*model_at(server), "hi"]
        null = subprocess.DEVNULL
        ran = signalled(arguments, SIGNALS[code], b"Hello", "stdout", stdin=null)
        over.set()
    assert ran.code == code


def test_every_code_is_reached_and_explained() -> None:
    assert {*CASES, *SIGNALS} == {int(code) for code in ExitCode}
    with open(os.path.join(ROOT, "docs", "exit-codes.md"), encoding="utf-8") as file:
        page = file.read().partition("\nThe codes")[0]
    rows = re.findall(r"^\| ([\d, ]+) \|", page, re.MULTILINE)
    first = {int(number) for row in rows for number in row.split(",")}
    assert first == {int(code) for code in ExitCode}
