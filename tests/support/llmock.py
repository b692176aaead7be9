"""llmock: a mock of many providers that breaks on demand, and judges how its client copes.

It needs Python 3.10 and much that jpq must not depend on, so it lives in an environment of
its own, which is made once and kept between runs.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence

from tests.support.mock_server import (
    WAIT_S,
    MockServer,
    NoMock,
    kept_folder,
    run_installer,
)

VERSION = "0.2.2"
CONTEXT_TOKENS = 2000
CHUNK_DELAY_MS = 10  # without a pause it has sent everything before a client can hang up

_OLD_ENOUGH = "import sys, ensurepip; sys.exit(sys.version_info < (3, 10))"
_MAIN = "from llmock.cli import app; app()"


def llmock_command(environ: Mapping[str, str]) -> List[str]:
    """The command that runs llmock.

    JPQ_TEST_LLMOCK names one. Without it, pip installs llmock. Raises NoMock.
    """
    named = environ.get("JPQ_TEST_LLMOCK")
    if named:
        return shlex.split(named)
    folder = kept_folder(environ, f"llmock-{VERSION}", lambda aside: _install(aside, environ))
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
    raise NoMock("llmock needs Python 3.10 or newer, with ensurepip, on PATH or in pyenv")


def _pyenv_pythons(pyenv: str, version: str) -> Iterator[str]:
    versions = os.path.join(pyenv, "versions")
    for name in sorted(os.listdir(versions)) if os.path.isdir(versions) else ():
        if name.startswith(f"{version}."):
            yield os.path.join(versions, name, "bin", "python")


def _install(folder: str, environ: Mapping[str, str]) -> None:
    run_installer([_python(environ), "-m", "venv", folder], environ)
    pip = [_python_of(folder), "-m", "pip", "--disable-pip-version-check", "-q"]
    run_installer([*pip, "install", f"llmock=={VERSION}"], environ)


def _python_of(folder: str) -> str:
    return os.path.join(folder, "bin", "python")


class Finding(NamedTuple):
    """What llmock holds against a client: its word for it, and the model that was asked."""

    code: str
    model: str


class Llmock(MockServer):
    """A running server. What it does and what it saw is told apart by the model's name."""

    def __init__(self, command: Sequence[str], log: str) -> None:
        self._command = list(command)
        options = [
            *("--context-window", str(CONTEXT_TOKENS)),
            *("--stream-chunk-delay-ms", str(CHUNK_DELAY_MS)),
        ]
        serve = [*self._command, "serve", "--log-level", "warning", *options]
        super().__init__(lambda port: [*serve, "--port", str(port)], log, "/health")

    def script(self, model: str, *behaviours: Dict[str, Any]) -> None:
        """What requests for ``model`` meet, each once unless it has ``times``."""
        matched = [{"match": {"model": model}, **behaviour} for behaviour in behaviours]
        self.call("POST", "/_llmock/scenario", {"behaviors": matched})

    def requests(self, model: Optional[str] = None) -> List[Dict[str, Any]]:
        """The requests that ended, in order."""
        seen = self.call("GET", "/_llmock/requests")["requests"]
        return [request for request in seen if model in (None, request["model"])]

    def findings(self, model: Optional[str] = None) -> List[Finding]:
        """What it holds against its client."""
        found = self.call("GET", "/_llmock/verdict")["findings"]
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

    def _named(self, found: List[Dict[str, Any]]) -> List[Finding]:
        models = {request["seq"]: request["model"] for request in self.requests()}
        return [Finding(finding["code"], models[finding["requests"][0]]) for finding in found]
