"""One situation for one program: a server with scripts, a fresh home, and what was seen."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from typing import Any, Callable, List, NamedTuple, Optional, Sequence

from bench.comparison.programs import Installed
from tests.support.server import (
    DONE,
    Pause,
    Script,
    Seen,
    Server,
    Step,
    delta,
    error,
    reply,
)

HANGS_AFTER_S = 40.0
# The smallest PNG: one pixel.
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


class Outcome(NamedTuple):
    """What a program did. ``code`` is None where it had to be ended."""

    code: Optional[int]
    out: bytes
    err: bytes
    seconds: float
    requests: Sequence[Seen]

    @property
    def said(self) -> str:
        return (self.out + b"\n" + self.err).decode("utf-8", "replace")


class Place:
    """A home and a server for one program in one situation. A context manager."""

    def __init__(self, installed: Installed, scripts: Sequence[Script]) -> None:
        self.installed = installed
        self.program = installed.program
        self.ended = threading.Event()
        held = [each if callable(each) else self._held(each) for each in scripts]
        self._server = Server(*held)
        self.url = self._server.url

    def __enter__(self) -> Place:
        self._folder = tempfile.TemporaryDirectory(prefix="jpq-comparison-")
        self.home = self._folder.name
        self._server.__enter__()
        self.installed.furnish(self.home, self.url)
        with open(os.path.join(self.home, "picture.png"), "wb") as file:
            file.write(PIXEL)
        with open(os.path.join(self.home, "batch.jsonl"), "w", encoding="utf-8") as file:
            file.write('{"prompt": "One?"}\n{"prompt": "Two?"}\n')
        return self

    def __exit__(self, *exc: object) -> None:
        self.ended.set()
        self._server.__exit__(*exc)
        self._folder.cleanup()

    def _held(self, script: Sequence[Step]) -> Sequence[Step]:
        return [Pause(self.ended, 2 * HANGS_AFTER_S) if step is HOLD else step for step in script]

    def can(self, *abilities: str) -> bool:
        return all(each in self.program.does or each in self.program.commands for each in abilities)

    def ask(self, question: str, *abilities: str, **how: Any) -> Outcome:
        """Ask with the options for ``abilities``, and for those of ``also`` that there are."""
        options = list(self.program.ask)
        for each in (*abilities, *how.pop("also", ())):
            options += self.program.does.get(each, ())
        return self.start([*options, *([question] if question else [])], **how)

    def command(self, name: str, **how: Any) -> Outcome:
        return self.start(self.program.commands[name], **how)

    def start(
        self,
        arguments: Sequence[str],
        *,
        stdin: Optional[bytes] = None,
        stdout: Any = subprocess.PIPE,
        url: Optional[str] = None,
        unset: Sequence[str] = (),
        when_seen: Optional[Callable[[subprocess.Popen[bytes]], None]] = None,
    ) -> Outcome:
        """Run a command line. ``when_seen`` is called once something has come on stdout."""
        url = url or self.url
        self.installed.furnish(self.home, url)
        environ = self.installed.environ(self.home, url)
        for name in unset:
            environ.pop(name, None)
        began = time.monotonic()
        process = subprocess.Popen(
            self.installed.argv(self.home, url, arguments),
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=stdout,
            stderr=subprocess.PIPE,
            env=environ,
            cwd=self.home,
            start_new_session=True,
        )
        first = b""
        if when_seen is not None and process.stdout is not None:
            first = os.read(process.stdout.fileno(), 65536)
            when_seen(process)
        try:
            out, err = process.communicate(stdin, timeout=HANGS_AFTER_S)
            code: Optional[int] = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            code = None
        except ValueError:  # its stdout was closed meanwhile
            err = process.stderr.read() if process.stderr else b""
            out, code = b"", process.wait(HANGS_AFTER_S)
        return Outcome(
            code, first + (out or b""), err or b"", time.monotonic() - began, self._server.seen
        )


HOLD = object()  # the server sends nothing more until the program has ended


def texts(requests: Sequence[Seen]) -> List[str]:
    """The bodies of the requests."""
    return [seen.body.decode("utf-8", "replace") for seen in requests]


def says(text: str, finish: str = "stop") -> Script:
    """An answer of ``text``, streamed or in one piece, as it is asked for."""
    usage = {"prompt_tokens": 4711, "completion_tokens": 3, "total_tokens": 4714}
    ending = {"index": 0, "finish_reason": finish}

    def script(seen: Seen) -> Sequence[Step]:
        if seen.json.get("stream"):
            words = [delta(piece) for piece in text.replace(" ", " \0").split("\0") if piece]
            last = {"model": "test", "choices": [{**ending, "delta": {}}]}
            return reply(*words, last, {"choices": [], "usage": usage}, DONE)
        message = {"role": "assistant", "content": text}
        whole = {"model": "test", "choices": [{**ending, "message": message}], "usage": usage}
        return error("200 OK", json.dumps(whole).encode())

    return script
