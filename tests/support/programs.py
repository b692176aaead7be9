"""Runs the real program as a script does, and reads what it said on every channel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Union

from jpq.store.library import Library
from tests.support.events import checked
from tests.support.server import Server

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WAIT_S = 60.0
JPQ = (sys.executable, "-W", "error", "-m", "jpq")

Channel = Union[int, Any]  # what subprocess takes: a descriptor, a file, PIPE, DEVNULL


class Ran(NamedTuple):
    """A finished program."""

    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        """stdout."""
        return self.out.decode()

    @property
    def told(self) -> List[str]:
        """The lines of stderr."""
        return self.err.decode("utf-8", "replace").splitlines()

    @property
    def events(self) -> List[Dict[str, Any]]:
        """stdout as JSON Lines, each of which is as the schema of them has it."""
        return [checked(line) for line in self.out.splitlines()]

    @property
    def result(self) -> Dict[str, Any]:
        """The last of them, which must be a result."""
        last = self.events[-1]
        assert last["type"] == "result" and last["schema"] == 1
        return last

    def failed_with(self, code: int, *words: str) -> None:
        """It ended with ``code``, said ``words`` in one to five lines, and showed no traceback."""
        assert (self.code, len(self.told) in range(1, 6)) == (code, True), self
        message = self.err.decode("utf-8", "replace")
        assert "Traceback" not in message
        assert not [word for word in words if word not in message], message


def environment(**changes: Optional[str]) -> Dict[str, str]:
    """This test's environment, in which the checkout can be run from any folder.

    None takes a variable away.
    """
    environ = {**os.environ, "PYTHONPATH": ROOT, "NO_PROXY": "*"}
    for name, value in changes.items():
        environ.pop(name, None)
        if value is not None:
            environ[name] = value
    return environ


def jpq(
    *arguments: str,
    stdin: Union[bytes, Channel] = subprocess.DEVNULL,
    environ: Optional[Mapping[str, str]] = None,
    cwd: str = ROOT,
    stdout: Channel = subprocess.PIPE,
    stderr: Channel = subprocess.PIPE,
) -> Ran:
    """Run ``jpq`` to its end; ``stdin`` is what it reads, or what to read from."""
    given: Dict[str, Any] = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}
    done = subprocess.run(
        [*JPQ, *arguments],
        env=environment() if environ is None else dict(environ),
        cwd=cwd,
        stdout=stdout,
        stderr=stderr,
        timeout=WAIT_S,
        **given,
    )
    return Ran(done.returncode, done.stdout or b"", done.stderr or b"")


def shell(
    command: str, *words: str, environ: Optional[Mapping[str, str]] = None, cwd: str = ROOT
) -> Ran:
    """Run a line of bash in which ``jpq`` is the program and ``$1``, ``$2`` are ``words``."""
    line = 'jpq() { "${JPQ[@]}" "$@"; }; ' + command
    quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in JPQ)
    given = environment() if environ is None else dict(environ)
    if "ulimit" in command:  # else Python keeps bytecode of which only the beginning was written
        given["PYTHONDONTWRITEBYTECODE"] = "1"
    done = subprocess.run(
        ["bash", "-c", f"JPQ=({quoted}); {line}", "bash", *words],
        env=given,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=WAIT_S,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def signalled(arguments: List[str], signum: int, when: bytes, on: str, **channels: Any) -> Ran:
    """Run ``jpq`` and send ``signum`` once ``when`` is on stdout or stderr (``on``).

    It must end by that signal; ``code`` is what a shell makes of that.
    """
    process = subprocess.Popen(
        [*JPQ, *arguments],
        env=environment(CI="true"),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **channels,
    )
    with process:
        file = getattr(process, on)
        seen = b""
        while when not in seen:
            piece = os.read(file.fileno(), 65536)
            assert piece, seen
            seen += piece
        process.send_signal(signum)
        out, err = process.communicate(timeout=WAIT_S)
    rest = {"stdout": (seen + out, err), "stderr": (out, seen + err)}[on]
    assert process.returncode == -signum
    return Ran(128 + signum, *rest)


def model_at(server: Server) -> List[str]:
    """The options that make jpq ask ``server``, once."""
    return ["-m", "custom/test", "--retries", "0", *base_url(server.url)]


def base_url(url: str) -> List[str]:
    """The option that sets where the provider ``custom`` is."""
    return ["--set", f"providers.custom.base_url={url}"]


def script(folder: object, *replies: str) -> str:
    """A new file with the TOML of ``replies``, for the model ``scripted/FILE``."""
    path = os.path.join(str(folder), "script.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(f"[[reply]]\n{reply}\n" for reply in replies))
    return path


def conversations(home: Optional[str] = None) -> List[str]:
    """The folders of the saved conversations, the oldest first."""
    folder = os.path.join(home or os.environ["JPQ_HOME"], "data", "conversations")
    return [Library(folder).path(id) for id in Library(folder).ids()]


def entries(folder: str) -> List[Dict[str, Any]]:
    """What is saved in a conversation's folder."""
    with open(os.path.join(folder, "events.jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def question(seen: Any) -> str:
    """The last question in a chat request that a server saw."""
    messages: Sequence[Mapping[str, Any]] = seen.json["messages"]
    text = messages[-1]["content"]
    return text if isinstance(text, str) else "".join(part["text"] for part in text)
