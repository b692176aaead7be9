"""Builds jpq.pyz, one file that runs on every Python from 3.8 on: ``python .ci/zipapp.py OUT``.

Run by the oldest Python, so that what only older ones need is in it. Everything is taken as
pure Python, which is what makes one file enough. The same sources make the same bytes.
"""

from __future__ import annotations

import configparser
import os
import subprocess
import sys
import tempfile
import zipfile
from typing import Iterator, List

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OLDEST = "3.8"
MAIN = """\
import sys

if sys.version_info < (3, 8):  # whose own words would be a traceback
    sys.exit("jpq: This is Python %d.%d; jpq needs 3.8 or newer." % tuple(sys.version_info[:2]))

from jpq.cli.main import main

sys.exit(main())
"""
SHEBANG = b"#!/usr/bin/env python3\n"
_LEFT_OUT = (".pyc", ".pyi", ".exe", "RECORD", "direct_url.json", "INSTALLER", "REQUESTED")
_NOON = (2020, 1, 1, 0, 0, 0)  # a time that a zip can hold, the same for every build


def requirements() -> List[str]:
    """What setup.cfg says jpq needs."""
    project = configparser.ConfigParser()
    project.read(os.path.join(ROOT, "setup.cfg"), encoding="utf-8")
    lines = project["options"]["install_requires"].splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def install(folder: str) -> None:
    """Put jpq and what it needs into ``folder``, without anything compiled."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "install"]
    pip += ["--use-pep517", "--no-compile", "--target", folder]
    pure = ["--only-binary=:all:", "--platform", "any", "--implementation", "py", "--abi", "none"]
    subprocess.run([*pip, *pure, "--python-version", OLDEST, *requirements()], check=True)
    subprocess.run([*pip, "--no-deps", ROOT], check=True)


def members(folder: str) -> Iterator[str]:
    """The files of the archive, as paths below ``folder`` in order."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if each not in ("bin", "__pycache__"))
        for name in sorted(names):
            if not name.endswith(_LEFT_OUT):
                yield os.path.relpath(os.path.join(parent, name), folder)


def pack(folder: str, out: str) -> None:
    """Write the archive of ``folder`` to ``out``, ready to be started."""
    with open(out, "wb") as file:
        file.write(SHEBANG)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(zipfile.ZipInfo("__main__.py", _NOON), MAIN)
            for name in members(folder):
                with open(os.path.join(folder, name), "rb") as member:
                    info = zipfile.ZipInfo(name.replace(os.sep, "/"), _NOON)
                    info.compress_type = zipfile.ZIP_DEFLATED
                    archive.writestr(info, member.read())
    os.chmod(out, 0o755)


def main() -> None:
    out = os.path.abspath(sys.argv[1])
    os.makedirs(os.path.dirname(out), exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        install(folder)
        pack(folder, out)
    print(f"{out}: {os.path.getsize(out) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
