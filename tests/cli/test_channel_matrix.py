"""Each standard stream as a terminal, a pipe, a file, closed and /dev/null; in bare environments.

Nothing hangs, each channel gets its own and nothing else, and the exit code is the same.
"""

from __future__ import annotations

import itertools
import os
import shlex
import shutil
import subprocess
import sys
import threading
from typing import Any, Dict, Iterator, List, Optional

import pytest

from tests.support.programs import ROOT, script

KINDS = ("terminal", "pipe", "file", "closed", "null")
REDIRECTION = {0: "<", 1: ">", 2: "2>"}
WAIT_S = 60.0
ANSWER = 'match = "this one"\ntext = "It works."\n\n[[reply]]\nstatus = 401\nerror = "Bad key"'

# What starts the command, and the environment it gets besides PATH and HOME.
BARE: Dict[str, Dict[str, Optional[str]]] = {
    "bash": {"LANG": "C.UTF-8", "TERM": "xterm"},
    "dash": {"LANG": "C", "TERM": "dumb"},
    "cron": {"SHELL": "/bin/sh"},
    "ssh": {"SSH_CONNECTION": "::1 1 ::1 22"},
    "strict": {"LANG": "C.UTF-8"},
}
SHELLS = {"bash": ["bash"], "strict": ["bash", "-euo", "pipefail"]}


class Stream:
    """One end of a standard stream of a kind, and what was found on the other end."""

    def __init__(self, number: int, kind: str, folder: str) -> None:
        self.number, self.kind, self.data = number, kind, b""
        self.given: Any = subprocess.DEVNULL
        self._ours = -1
        self._path = os.path.join(folder, f"stream{number}")
        if kind == "terminal":
            self._ours, self.given = os.openpty()
        elif kind == "pipe":
            read, write = os.pipe()
            self.given, self._ours = (read, write) if number == 0 else (write, read)
        elif kind == "file":
            with open(self._path, "wb") as file:
                file.write(b"From a file." if number == 0 else b"")
            self.given = os.open(self._path, os.O_RDONLY if number == 0 else os.O_WRONLY)

    @property
    def redirection(self) -> str:
        """For the shell: a closed stream is closed by it."""
        return f"{REDIRECTION[self.number]}&-" if self.kind == "closed" else ""

    def started(self) -> None:
        """The child has its end."""
        if self.number == 0 and self.kind == "pipe":
            os.write(self._ours, b"From a pipe.")
            self._close("_ours")
        self._close("given")

    def collect(self) -> None:
        """Read to the end."""
        while self.number != 0 and self._ours >= 0:
            try:
                data = os.read(self._ours, 65536)
            except OSError:  # EIO: nobody has the terminal open any more
                data = b""
            self.data += data
            if not data:
                self._close("_ours")

    def end(self) -> None:
        self._close("_ours")
        if self.kind == "file":
            with open(self._path, "rb") as file:
                self.data = file.read()

    def _close(self, name: str) -> None:
        if isinstance(getattr(self, name), int) and getattr(self, name) >= 0:
            os.close(getattr(self, name))
        setattr(self, name, -1)


def run(command: str, shell: List[str], environ: Any, streams: List[Stream]) -> int:
    line = " ".join([command, *(stream.redirection for stream in streams)])
    process = subprocess.Popen(
        [*shell, "-c", line],
        stdin=streams[0].given,
        stdout=streams[1].given,
        stderr=streams[2].given,
        env=environ,
        cwd=environ["HOME"],
        start_new_session=True,
    )
    for stream in streams:
        stream.started()
    readers = [threading.Thread(target=stream.collect) for stream in streams]
    for reader in readers:
        reader.start()
    try:
        code = process.wait(WAIT_S)
    finally:
        process.kill()
        process.wait()
        for reader in readers:
            reader.join()
    for stream in streams:
        stream.end()
    return code


def few(rest: int) -> Iterator[Any]:
    """Every pair of kinds on every pair of streams is among these 25; with a ``rest`` from 0 to 4
    they are all 125 ways to choose three kinds, each once."""
    count = len(KINDS)
    for first, second in itertools.product(range(count), repeat=2):
        yield KINDS[first], KINDS[second], KINDS[(rest - first - second) % count]


def check(kinds: Any, folder: str, shell: List[str], own: Any, *, works: bool = True) -> None:
    question, code = ("Does this one work?", 0) if works else ("Does that one fail?", 77)
    given = {"PATH": os.environ["PATH"], "HOME": folder, "PYTHONPATH": ROOT, **own}
    model = "scripted/" + script(folder, ANSWER)
    command = [sys.executable, "-m", "jpq", "-m", model, "--retries", "0", question]
    streams = [Stream(number, kind, folder) for number, kind in enumerate(kinds)]
    ended = run(" ".join(map(shlex.quote, command)), shell, given, streams)
    where = (kinds, question, [stream.data for stream in streams])
    assert ended == code, where
    _, out, err = streams
    if out.kind in ("pipe", "file"):
        assert out.data == (b"It works.\n" if works else b""), where
    if out.kind == "terminal":
        assert (b"It works." in out.data) == works, where
    if err.kind in ("pipe", "file", "terminal"):
        assert (b"Bad key" in err.data) != works, where
    if err.kind in ("pipe", "file") and works:
        assert err.data == b"", where


def test_an_error_on_every_two_kinds_of_streams(tmp_path: Any) -> None:
    for kinds in few(0):
        check(kinds, str(tmp_path), ["/bin/sh"], {"LANG": "C.UTF-8"}, works=False)


def test_all_kinds_of_streams_are_tried_together() -> None:
    tried = [kinds for rest, _ in enumerate(BARE) for kinds in few(rest)]
    assert sorted(tried) == sorted(itertools.product(KINDS, repeat=3))


@pytest.mark.parametrize("bare", BARE)
def test_every_environment(bare: str, tmp_path: Any) -> None:
    shell = SHELLS.get(bare, ["/bin/sh"])
    if shutil.which(shell[0]) is None:
        pytest.skip(f"{shell[0]} is not installed")
    for kinds in few(list(BARE).index(bare)):
        check(kinds, str(tmp_path), shell, BARE[bare])
    for kind in KINDS:
        check((kind, kind, kind), str(tmp_path), shell, BARE[bare], works=False)
