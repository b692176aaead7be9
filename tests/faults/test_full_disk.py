"""The disk is full in the middle of an answer: it is shown whole, and nothing old is harmed.

Writes fail as the kernel's limit on the size of files makes them (EFBIG), and, where this user
may mount one, on a small file system of its own that is full (ENOSPC).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Dict, Iterator, List

import pytest

from jpq.cli.conversation_text import as_text
from jpq.errors import ExitCode
from jpq.store.library import Library
from tests.support.ptys import Child, environment, jpq, run
from tests.support.server import DONE, FINISH, LAST_CHUNK, Server, answer, chunk, delta, head, sse

# No file may grow beyond so many bytes; a write beyond them fails as one to a full disk does.
# Python would keep bytecode of which only the beginning was written.
LIMITED = (
    "import os, resource, sys; size = int(sys.argv[1]);"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY));"
    "os.environ['PYTHONDONTWRITEBYTECODE'] = '1';"
    "os.execv(sys.argv[2], sys.argv[2:])"
)
PIECES = [f"piece {number} " + "of many " * 20 + "\n" for number in range(300)]  # 51 kB


def streamed(*pieces: str) -> List[bytes]:
    """A whole answer in these pieces."""
    return [head(), *(chunk(event) for event in sse(*map(delta, pieces), FINISH, DONE)), LAST_CHUNK]


class Place:
    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.environ: Dict[str, str] = environment(os.path.join(folder, "home"))
        self.library = Library(os.path.join(folder, "home", "data", "conversations"))

    def ask(self, server: Server, *arguments: str, room: int = 0) -> Child:
        setting = f"providers.custom.base_url={server.url}"
        command = jpq("-m", "custom/test", "--set", setting, *arguments)
        if room:
            command = [sys.executable, "-c", LIMITED, str(room), *command]
        return run(command, self.environ, self.folder)

    def lines(self) -> List[bytes]:
        (id,) = self.library.ids()
        with open(os.path.join(self.library.path(id), "events.jsonl"), "rb") as file:
            return file.read().splitlines(True)

    def shown(self) -> str:
        (id,) = self.library.ids()
        return as_text(self.library.read(id))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(str(tmp_path))


@pytest.mark.parametrize("room", [100, 20_000, 45_000, 80_000])
def test_an_old_conversation(room: int, place: Place) -> None:
    """Room for nothing, for a part of what is kept while it arrives, for the request as
    well, and for all but the commit."""
    old_answer = streamed("Old. " * 8000)
    with Server(old_answer, streamed(*PIECES), answer("New.")) as server:
        assert place.ask(server, "first").process.returncode == 0
        old = place.lines()
        full = place.ask(server, "-c", "second", room=room)
        assert full.output.decode() == "".join(PIECES)
        assert full.process.returncode == ExitCode.CUT
        told = full.errors.decode()
        assert told.count("Cannot save") == 1, told
        assert len(told.splitlines()) <= 5 and "Traceback" not in told
        assert place.lines()[: len(old)] == old
        after = place.ask(server, "-c", "third")
        assert (after.process.returncode, after.output) == (0, b"New.\n")
    shown = place.shown()
    assert "Old." in shown and "New." in shown
    assert "cannot be read" not in after.errors.decode()


def test_a_new_conversation(place: Place) -> None:
    """Not even the files that begin it can be written."""
    with Server(streamed(*PIECES)) as server:
        full = place.ask(server, "first", room=10)
    assert full.output.decode() == "".join(PIECES)
    assert full.process.returncode == ExitCode.CUT
    assert full.errors.decode().count("Cannot") == 1
    assert place.library.ids() == []


class SmallDisk:
    """A file system of 1 MiB in ``folder``; a file can leave just so much room on it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._filler = os.path.join(folder, "filler")

    def leave(self, pages: int) -> None:
        """Fill it until so many pages are free."""
        state = os.statvfs(self.folder)
        with open(self._filler, "wb") as file:
            file.write(bytes((state.f_bavail - pages) * state.f_bsize))
        assert os.statvfs(self.folder).f_bavail == pages

    def allow_writing(self, allowed: bool) -> None:
        """Make the file system read-only, or what it was."""
        state = "rw" if allowed else "ro"
        subprocess.run(["mount", "-o", f"remount,{state}", self.folder], check=True)

    def free(self) -> None:
        """Make room again."""
        os.remove(self._filler)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    folder = str(tmp_path / "small")
    os.mkdir(folder)
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", folder]
    try:
        mounted = subprocess.run(mount, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    except OSError as error:
        pytest.skip(f"nothing can be mounted here: {error}")
    if mounted.returncode:
        reason = mounted.stderr.decode("utf-8", "replace").strip()
        pytest.skip(f"needs the right to mount a file system (root): {reason}")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a tmpfs")
@pytest.mark.parametrize("pages", [0, 1, 5, 12, 20])
def test_an_old_conversation_on_a_file_system_without_room(
    pages: int, small_disk: SmallDisk
) -> None:
    """Room for nothing, for the question, for a part of what arrives, for all of that, and
    for a part of the commit as well."""
    place = Place(small_disk.folder)
    with Server(streamed("Old. " * 8000), streamed(*PIECES), answer("New.")) as server:
        assert place.ask(server, "first").process.returncode == 0
        old = place.lines()
        small_disk.leave(pages)
        full = place.ask(server, "-c", "second")
        assert full.output.decode() == "".join(PIECES)
        assert full.process.returncode == ExitCode.CUT
        told = full.errors.decode()
        assert told.count("No space left on device") == 1, told
        assert len(told.splitlines()) <= 5 and "Traceback" not in told
        assert place.lines()[: len(old)] == old
        small_disk.free()
        after = place.ask(server, "-c", "third")
        assert (after.process.returncode, after.output) == (0, b"New.\n")
    shown = place.shown()
    assert "Old." in shown and "New." in shown and "third" in shown
    assert "cannot be read" not in after.errors.decode()


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a tmpfs")
def test_a_new_conversation_on_a_file_system_without_room(small_disk: SmallDisk) -> None:
    place = Place(small_disk.folder)
    small_disk.leave(0)
    with Server(streamed(*PIECES)) as server:
        full = place.ask(server, "first")
    assert full.output.decode() == "".join(PIECES)
    assert full.process.returncode == ExitCode.CUT
    assert full.errors.decode().count("No space left on device") == 1
    assert place.library.ids() == []


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a tmpfs")
def test_a_file_system_that_is_read_only(small_disk: SmallDisk) -> None:
    """An old conversation is read and answered, a new one as well, and both say what is lost."""
    place = Place(small_disk.folder)
    with Server(answer("Old."), streamed(*PIECES), answer("Alone."), answer("New.")) as server:
        assert place.ask(server, "first").process.returncode == 0
        old = place.lines()
        small_disk.allow_writing(False)
        for arguments, shown in ((("-c", "second"), "".join(PIECES)), (("alone",), "Alone.\n")):
            kept = place.ask(server, *arguments)
            assert kept.output.decode() == shown
            assert kept.process.returncode == ExitCode.CUT
            assert kept.errors.decode().count("Read-only file system") == 1
        assert "Old." in place.shown()
        small_disk.allow_writing(True)
        assert place.lines() == old
        after = place.ask(server, "-c", "third")
        assert (after.process.returncode, after.output) == (0, b"New.\n")
