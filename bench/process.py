"""Run a program and say what it cost: wall time, CPU time and peak memory of that process alone."""

from __future__ import annotations

import os
import sys
import time
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
READ_SIZE = 65536

# These would slow the children down (no .pyc files, a write for every print) or send
# loopback requests through a proxy.
UNSET = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONDEVMODE", "PYTHONWARNINGS")
UNSET_SUFFIXES = ("_PROXY", "_API_KEY", "_BASE_URL")

OnOutput = Callable[[bytes, int], None]


class Cost(NamedTuple):
    """What one run of a program took."""

    wall_s: float
    cpu_s: float
    peak_mib: float
    output_bytes: int


class Failed(Exception):
    """A measured program ended with an error, so its figures mean nothing."""


def environment(home: str) -> Dict[str, str]:
    """The children's environment: an empty home, this checkout importable, nothing slowing."""
    environ = {
        name: value
        for name, value in os.environ.items()
        if name not in UNSET
        and not name.upper().endswith(UNSET_SUFFIXES)
        and not name.startswith("JPQ_")
    }
    environ.update(HOME=home, JPQ_HOME=os.path.join(home, "jpq"), PYTHONPATH=ROOT)
    return environ


def run(argv: Sequence[str], environ: Dict[str, str], on_output: Optional[OnOutput] = None) -> Cost:
    """Run ``argv`` to its end with stdout on a pipe that is drained as fast as it fills.

    ``on_output`` is given each piece of output and the CLOCK_MONOTONIC time, in ns, at
    which it was in hand.
    """
    out, child_out = os.pipe()
    errors = os.path.join(environ["HOME"], "stderr")
    write_new = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, child_out, 1),
        (os.POSIX_SPAWN_OPEN, 2, errors, write_new, 0o600),
    ]
    start = time.monotonic()
    pid = os.posix_spawn(argv[0], list(argv), environ, file_actions=actions)
    os.close(child_out)
    total = _drain(out, on_output)
    _, status, usage = os.wait4(pid, 0)
    wall = time.monotonic() - start
    os.close(out)
    if status:
        with open(errors, encoding="utf-8", errors="replace") as file:
            raise Failed(f"{' '.join(argv)} ended with wait status {status}:\n{file.read()}")
    kib = usage.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
    return Cost(wall, usage.ru_utime + usage.ru_stime, kib / 1024, total)


def _drain(out: int, on_output: Optional[OnOutput]) -> int:
    total = 0
    while True:
        data = os.read(out, READ_SIZE)
        if not data:
            return total
        if on_output:
            on_output(data, time.monotonic_ns())
        total += len(data)


class Program(NamedTuple):
    """A named command line that takes part in a comparison."""

    name: str
    argv: List[str]


def python(name: str, *arguments: str) -> Program:
    """A program run by the same interpreter as this one."""
    return Program(name, [sys.executable, *arguments])


def baseline(script: str, *arguments: str) -> Program:
    """A script of bench/baselines."""
    path = os.path.join(ROOT, "bench", "baselines", script + ".py")
    return python(script, path, *arguments)


def jpq(*arguments: str) -> Program:
    """The command under test: the installed console script, else what it would run."""
    installed = os.path.join(os.path.dirname(sys.executable), "jpq")
    if os.access(installed, os.X_OK):
        return Program("jpq", [installed, *arguments])
    start = "import sys; from jpq.cli.main import main; sys.exit(main())"
    return python("jpq", "-c", start, *arguments)


def jpq_query(base_url: str) -> Program:
    """jpq asking the server at ``base_url`` one question, its answer going down a pipe."""
    setting = f"providers.custom.base_url={base_url}"
    return jpq("-m", "custom/test", "--set", setting, "--format", "text", "hi")
