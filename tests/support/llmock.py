"""llmock: a mock of many providers that breaks on demand, and judges how its client copes.

It needs Python 3.10 and much that jpq must not depend on, so it lives in an environment of
its own, which is made once and kept between runs.
"""

from __future__ import annotations

import http.client
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence

VERSION = "0.2.2"
WAIT_S = 20.0
CONTEXT_TOKENS = 2000
CHUNK_DELAY_MS = 10  # without a pause it has sent everything before a client can hang up

_OLD_ENOUGH = "import sys, ensurepip; sys.exit(sys.version_info < (3, 10))"
_MAIN = "from llmock.cli import app; app()"


class NoLlmock(Exception):
    """llmock can be neither found nor installed; says what was tried."""


def llmock_command(environ: Mapping[str, str]) -> List[str]:
    """The command that runs llmock.

    JPQ_TEST_LLMOCK names one. Without it, pip installs llmock below JPQ_TEST_CACHE, else
    below the user's cache folder. Raises NoLlmock.
    """
    named = environ.get("JPQ_TEST_LLMOCK")
    if named:
        return shlex.split(named)
    cache = environ.get("JPQ_TEST_CACHE") or os.path.join(
        environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "jpq-tests"
    )
    folder = os.path.join(cache, f"llmock-{VERSION}")
    if not os.path.isdir(folder):
        _install(folder, _python(environ), environ)
    return [_python_of(folder), "-c", _MAIN]


def _python(environ: Mapping[str, str]) -> str:
    """A Python that can run llmock: the one that runs the tests, one on PATH, or pyenv's."""
    pyenv = environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    tried = [sys.executable]
    for version in ("3.13", "3.12", "3.11", "3.10"):
        tried.append(shutil.which(f"python{version}", path=environ.get("PATH")) or "")
        tried.extend(_pyenv_pythons(pyenv, version))
    for candidate in filter(None, tried):
        # Each has to run: on PATH there may be a pyenv shim that leads nowhere.
        command = [candidate, "-c", _OLD_ENOUGH]
        if subprocess.run(command, env=dict(environ), stderr=subprocess.DEVNULL).returncode == 0:
            return candidate
    raise NoLlmock("llmock needs Python 3.10 or newer, with ensurepip, on PATH or in pyenv")


def _pyenv_pythons(pyenv: str, version: str) -> Iterator[str]:
    versions = os.path.join(pyenv, "versions")
    for name in sorted(os.listdir(versions)) if os.path.isdir(versions) else ():
        if name.startswith(f"{version}."):
            yield os.path.join(versions, name, "bin", "python")


def _install(folder: str, python: str, environ: Mapping[str, str]) -> None:
    """Make the environment aside and move it into place whole; another run may do the same."""
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    aside = tempfile.mkdtemp(prefix="llmock-", dir=os.path.dirname(folder))
    try:
        _run([python, "-m", "venv", aside], environ)
        pip = [_python_of(aside), "-m", "pip", "--disable-pip-version-check", "-q"]
        _run([*pip, "install", f"llmock=={VERSION}"], environ)
        if not os.path.isdir(folder):
            os.rename(aside, folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _python_of(folder: str) -> str:
    return os.path.join(folder, "bin", "python")


def _run(command: Sequence[str], environ: Mapping[str, str]) -> None:
    done = subprocess.run(
        command, env=dict(environ), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode:
        said = done.stdout.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise NoLlmock(f"{' '.join(command)} failed: {' '.join(said)}")


class Finding(NamedTuple):
    """What llmock holds against a client: its word for it, and the model that was asked."""

    code: str
    model: str


class Llmock:
    """A running server. What it does and what it saw is told apart by the model's name."""

    def __init__(self, command: Sequence[str], log: str) -> None:
        self._command = list(command)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        options = [
            *("--port", str(self._port)),
            *("--context-window", str(CONTEXT_TOKENS)),
            *("--stream-chunk-delay-ms", str(CHUNK_DELAY_MS)),
        ]
        with open(log, "wb") as file:
            self._process = subprocess.Popen(
                [*self._command, "serve", "--log-level", "warning", *options],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )
        try:
            self._wait_until_it_listens(log)
        except BaseException:
            self.close()
            raise

    @property
    def url(self) -> str:
        """Where it listens, without a path."""
        return f"http://127.0.0.1:{self._port}"

    def script(self, model: str, *behaviours: Dict[str, Any]) -> None:
        """What requests for ``model`` meet, each once unless it has ``times``."""
        matched = [{"match": {"model": model}, **behaviour} for behaviour in behaviours]
        self._call("POST", "/_llmock/scenario", {"behaviors": matched})

    def requests(self, model: Optional[str] = None) -> List[Dict[str, Any]]:
        """The requests that ended, in order."""
        seen = self._call("GET", "/_llmock/requests")["requests"]
        return [request for request in seen if model in (None, request["model"])]

    def findings(self, model: Optional[str] = None) -> List[Finding]:
        """What it holds against its client."""
        found = self._call("GET", "/_llmock/verdict")["findings"]
        return [finding for finding in self._named(found) if model in (None, finding.model)]

    def strict_report(self) -> List[Finding]:
        """What ``llmock report --strict`` says of all that it saw."""
        done = subprocess.run(
            [*self._command, "report", "--strict", "--json", "--url", self.url],
            stdout=subprocess.PIPE,
            timeout=WAIT_S,
        )
        found = json.loads(done.stdout)["findings"]
        assert done.returncode == (1 if found else 0)
        return self._named(found)

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()

    def _named(self, found: List[Dict[str, Any]]) -> List[Finding]:
        models = {request["seq"]: request["model"] for request in self.requests()}
        return [Finding(finding["code"], models[finding["requests"][0]]) for finding in found]

    def _call(self, method: str, path: str, value: Any = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=WAIT_S)
        try:
            connection.request(method, path, None if value is None else json.dumps(value))
            reply = connection.getresponse()
            text = reply.read()
            assert reply.status < 300, text
            return json.loads(text)
        finally:
            connection.close()

    def _wait_until_it_listens(self, log: str) -> None:
        for _ in range(int(WAIT_S / 0.05)):
            try:
                self._call("GET", "/health")
                return
            except OSError:
                pass
            try:
                self._process.wait(0.05)
            except subprocess.TimeoutExpired:
                continue
            break
        with open(log, encoding="utf-8", errors="replace") as file:
            raise AssertionError(f"llmock did not start:\n{file.read()}")
