"""The servers of other people that imitate providers: how they are installed, run and asked."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import socket
import subprocess
import tempfile
from typing import Any, Callable, Mapping, Sequence

WAIT_S = 60.0
STARTS = 3  # a port that was free may be somebody else's by the time it is listened on


class NoMock(Exception):
    """The server can be neither found nor installed; says what was tried."""


def kept_folder(environ: Mapping[str, str], name: str, install: Callable[[str], None]) -> str:
    """The folder ``name`` below JPQ_TEST_CACHE, else below the user's cache folder.

    Where it is missing, ``install`` fills one aside, which is moved into place whole, since
    another run may do the same at the same time.
    """
    cache = environ.get("JPQ_TEST_CACHE") or os.path.join(
        environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "jpq-tests"
    )
    folder = os.path.join(cache, name)
    if os.path.isdir(folder):
        return folder
    os.makedirs(cache, exist_ok=True)
    aside = tempfile.mkdtemp(prefix=f"{name}-", dir=cache)
    try:
        install(aside)
        os.rename(aside, folder)
    except OSError:
        if not os.path.isdir(folder):  # else the other run was quicker
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return folder


def run_installer(command: Sequence[str], environ: Mapping[str, str]) -> None:
    """Run ``command``. Raises NoMock with the last line of what it said."""
    done = subprocess.run(
        command, env=dict(environ), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode:
        said = done.stdout.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise NoMock(f"{' '.join(command)} failed: {' '.join(said)}")


def _free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


class MockServer:
    """A running server. What it says goes to the file ``log``.

    ``command`` makes it listen on a port, and it does once ``health``, a path, is answered.
    """

    def __init__(self, command: Callable[[int], Sequence[str]], log: str, health: str) -> None:
        for _ in range(STARTS):
            self._port = _free_port()
            with open(log, "wb") as file:
                self._process = subprocess.Popen(
                    command(self._port), stdin=subprocess.DEVNULL, stdout=file, stderr=file
                )
            try:
                if self._listens(health):
                    return
            except BaseException:
                self.close()
                raise
            self.close()
        with open(log, encoding="utf-8", errors="replace") as said:
            raise AssertionError(f"the server did not start:\n{said.read()}")

    @property
    def url(self) -> str:
        """Where it listens, without a path."""
        return f"http://127.0.0.1:{self._port}"

    def call(self, method: str, path: str, value: Any = None) -> Any:
        """The JSON that it answers; ``value`` is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=WAIT_S)
        try:
            connection.request(method, path, None if value is None else json.dumps(value))
            reply = connection.getresponse()
            text = reply.read()
            assert reply.status < 300, text
            return json.loads(text)
        finally:
            connection.close()

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()

    def _listens(self, health: str) -> bool:
        """Wait until it is heard; False when it ended or took too long."""
        for _ in range(int(WAIT_S / 0.05)):
            with contextlib.suppress(OSError):
                self.call("GET", health)
                return self._process.poll() is None  # else it was somebody else
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.05)
                return False
        return False
