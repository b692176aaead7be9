"""aimock (npm: @copilotkit/aimock): a mock of providers that reads every API into one.

Its journal has each request as a chat completion, so what it made of a conversation can be
compared with what was meant.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from typing import Any, Dict, List, Mapping, Sequence

from tests.support.mock_server import MockServer, kept_folder, run_installer

PACKAGE = "@copilotkit/aimock"
VERSION = "1.43.0"

_MAIN = os.path.join("node_modules", *PACKAGE.split("/"), "dist", "cli.js")
_NEW_ENOUGH = (
    "const [a, b] = process.versions.node.split('.'); process.exitCode = +(a * 100 + +b < 2015)"
)


def can_run(environ: Mapping[str, str]) -> bool:
    """Whether a command is named, or there are npm and a Node.js that is new enough."""
    if environ.get("JPQ_TEST_AIMOCK"):
        return True
    path = environ.get("PATH")
    node = shutil.which("node", path=path)
    if not node or not shutil.which("npm", path=path):
        return False
    return subprocess.run([node, "-e", _NEW_ENOUGH], env=dict(environ)).returncode == 0


def aimock_command(environ: Mapping[str, str]) -> List[str]:
    """The command that runs aimock.

    JPQ_TEST_AIMOCK names one. Without it, npm installs aimock. Raises NoMock.
    """
    named = environ.get("JPQ_TEST_AIMOCK")
    if named:
        return shlex.split(named)
    folder = kept_folder(environ, f"aimock-{VERSION}", lambda aside: _install(aside, environ))
    return ["node", os.path.join(folder, _MAIN)]


def _install(folder: str, environ: Mapping[str, str]) -> None:
    options = ["--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts"]
    run_installer(["npm", "install", *options, f"{PACKAGE}@{VERSION}"], environ)


class Aimock(MockServer):
    """A running server, which refuses what it has no reply for. ``folder`` is its own."""

    def __init__(self, command: Sequence[str], folder: str) -> None:
        fixtures = os.path.join(folder, "fixtures.json")
        with open(fixtures, "w", encoding="utf-8") as file:
            json.dump({"fixtures": [_fixture("nobody", {}, {"content": "Nothing."})]}, file)
        serve = [*command, "--fixtures", fixtures, "--log-level", "warn", "--strict"]
        log = os.path.join(folder, "log")
        super().__init__(lambda port: [*serve, "--port", str(port)], log, "/__aimock/health")

    def script(self, model: str, match: Mapping[str, Any], response: Mapping[str, Any]) -> None:
        """What a request for ``model`` gets where ``match`` holds for it, too."""
        self.call("POST", "/__aimock/fixtures", {"fixtures": [_fixture(model, match, response)]})

    def requests(self, model: str) -> List[Dict[str, Any]]:
        """The requests for ``model``, in order: ``body`` is what it made of each."""
        journal: List[Dict[str, Any]] = self.call("GET", "/__aimock/journal")
        return [each for each in journal if (each["body"] or {}).get("model") == model]


def _fixture(model: str, match: Mapping[str, Any], response: Mapping[str, Any]) -> Dict[str, Any]:
    return {"match": {"model": model, **match}, "response": response}
