"""FolderOfRun: what a run leaves behind, and what the next one makes of that."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Iterator

import pytest

from jpq.tools.run_folder import FolderOfRun
from tests.support.ptys import ROOT

PREFIX = "jpq-test-"


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path


def make_old(path: str) -> None:
    os.utime(path, (1.0, 1.0))


def killed_run() -> str:
    """The folder of a process that was killed."""
    code = (
        "import os, signal, sys, tempfile; tempfile.tempdir = sys.argv[1]\n"
        "from jpq.tools.run_folder import FolderOfRun\n"
        f"print(FolderOfRun({PREFIX!r}).path, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    command = [sys.executable, "-c", code, str(tempfile.tempdir)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE)
    assert done.returncode == -signal.SIGKILL
    return done.stdout.decode().strip()


def test_it_is_removed_with_what_is_in_it(temporary: Path) -> None:
    folder = FolderOfRun(PREFIX)
    assert os.stat(folder.path).st_mode & 0o777 == 0o700
    Path(folder.path, "socket").write_text("x")
    folder.remove()
    assert os.listdir(str(temporary)) == []


def test_the_next_run_removes_what_a_killed_one_has_left(temporary: Path) -> None:
    left = killed_run()
    make_old(left)
    FolderOfRun(PREFIX).remove()
    assert os.listdir(str(temporary)) == []


def test_one_that_is_in_use_stays_and_so_does_one_that_has_just_been_made() -> None:
    young = killed_run()
    used = FolderOfRun(PREFIX)
    make_old(used.path)
    FolderOfRun(PREFIX).remove()
    assert os.path.exists(young) and os.path.exists(used.path)
    used.remove()


def test_folders_of_others_and_links_stay(temporary: Path) -> None:
    (temporary / (PREFIX + "without-lock")).mkdir()
    target = temporary / "somewhere"
    target.mkdir()
    (target / "lock").write_text("")
    (temporary / (PREFIX + "link")).symlink_to(target)
    before = set(os.listdir(str(temporary)))
    for name in before:
        make_old(str(temporary / name))
    FolderOfRun(PREFIX).remove()
    assert set(os.listdir(str(temporary))) == before
    assert (target / "lock").exists()
