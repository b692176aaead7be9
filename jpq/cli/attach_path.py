"""What a path names that is attached: a file, a pipe, a folder, or the files of a pattern."""

from __future__ import annotations

import fnmatch
import glob
import itertools
import os
import select
import stat
import time
from typing import Callable, Iterable, Iterator, List, Set, Tuple

from jpq.errors import BadInputError
from jpq.named import NamedTuple

MOST_ENTRIES = 1000  # of a folder's listing
MOST_FILES = 200  # that a pattern may name
_MOST_LISTED_BYTES = 65536
_READ_BYTES = 65536
_POLL_S = 0.02
_TELL_AFTER_S = 2.0
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)  # not on Windows, which has no such pipes
_BINARY = getattr(os, "O_BINARY", 0)  # Windows only
_UNITS = ("B", "kB", "MB", "GB", "TB")


class Found(NamedTuple):
    """What was read: the name that the model is told, and the bytes."""

    name: str
    data: bytes


class Reading(NamedTuple):
    """How to read: from which folder, how much at most, and how long to wait for a pipe's
    writer, in seconds. ``tell`` is given a line for the person."""

    cwd: str
    most_bytes: int
    wait_s: float
    tell: Callable[[str], None]


def read_path(source: str, reading: Reading) -> Found:
    """The file or the listing of the folder at ``source``; a byte more than ``most_bytes`` if
    it is longer. Raises BadInputError."""
    path = os.path.join(reading.cwd, os.path.expanduser(source))
    try:
        if os.path.isdir(path):
            name = os.path.basename(os.path.abspath(path))
            return Found(f"{name}/", _listing(path).encode("utf-8", "surrogateescape"))
        return Found(os.path.basename(path), contents(path, reading))
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise BadInputError(
            f"The attachment cannot be read: {getattr(error, 'strerror', error)}.", where=path
        ) from error


def is_pattern(source: str, cwd: str) -> bool:
    """Whether ``source`` stands for several files; one that exists under that name does not."""
    path = os.path.join(cwd, os.path.expanduser(source))
    return glob.has_magic(source) and not os.path.lexists(path)


def matching(source: str, cwd: str) -> List[str]:
    """The files that a pattern names, sorted. Raises BadInputError for none, and too many."""
    pattern = os.path.expanduser(source)
    drive, rest = os.path.splitdrive(pattern)
    # The folder of a relative pattern is meant as it is, whatever characters it has.
    beginning = drive + os.sep if os.path.isabs(pattern) else cwd
    parts = [part for part in rest.replace(os.sep, "/").split("/") if part]
    files = (path for path in _named(beginning, parts) if os.path.isfile(path))
    found = sorted(itertools.islice(_each_once(files), MOST_FILES + 1))
    if not found:
        raise BadInputError(f"No file matches {source!r}.", where=cwd)
    if len(found) > MOST_FILES:
        raise BadInputError(
            f"More than {MOST_FILES} files match {source!r}.",
            where=cwd,
            hint="Choose fewer, or attach the folder to have its files listed only.",
        )
    return found


def _named(folder: str, parts: List[str]) -> Iterator[str]:
    """What the ``parts`` of a pattern name below ``folder``, some of it more than once."""
    if not parts:
        yield folder
        return
    part, rest = parts[0], parts[1:]
    if part == "**":
        for below in _folders(folder):
            yield from _named(below, rest or ["*"])
    elif not glob.has_magic(part):
        yield from _named(os.path.join(folder, part), rest)
    else:
        for name in fnmatch.filter(_names(folder), part):
            if not name.startswith(".") or part.startswith("."):
                yield from _named(os.path.join(folder, name), rest)


def _folders(top: str) -> Iterator[str]:
    """``top`` and the folders below it. Links are not followed, which may lead round in
    circles, and neither are a program's own, such as .git."""
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        yield folder
        try:
            with os.scandir(folder) as found:
                below = [e.path for e in found if e.is_dir(follow_symlinks=False)
                         and not e.name.startswith(".")]  # fmt: skip
        except OSError:
            continue  # as every shell passes over what it may not read
        waiting += sorted(below, reverse=True)


def _names(folder: str) -> List[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _each_once(paths: Iterable[str]) -> Iterator[str]:
    seen: Set[str] = set()
    for path in paths:
        if path not in seen:
            seen.add(path)
            yield path


def size_words(size: float) -> str:
    """``size`` bytes as a person would say it: ``3.2 kB``."""
    unit = 0
    while size >= 999.5 and unit < len(_UNITS) - 1:
        size /= 1000
        unit += 1
    return (
        f"{size:.0f} {_UNITS[unit]}" if not unit or size >= 99.5 else f"{size:.1f} {_UNITS[unit]}"
    )


def contents(path: str, reading: Reading) -> bytes:
    """What is in the file at ``path``, or comes from the pipe; a byte more than ``most_bytes``
    if that is more. Raises OSError, and BadInputError for a pipe that nobody writes to."""
    # Without waiting: opening a pipe that nobody writes to would never return.
    descriptor = os.open(path, os.O_RDONLY | _NONBLOCK | _BINARY)
    try:
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            return _from_pipe(descriptor, path, reading)
        if _NONBLOCK:
            os.set_blocking(descriptor, True)
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(reading.most_bytes + 1)
    finally:
        os.close(descriptor)


def _from_pipe(descriptor: int, path: str, reading: Reading) -> bytes:
    """All that comes from a pipe, however long its writer takes, once there is one."""
    pieces: List[bytes] = []
    length = 0
    written = told = False
    tell_at = time.monotonic() + _TELL_AFTER_S
    give_up_at = time.monotonic() + reading.wait_s
    while length <= reading.most_bytes:
        try:
            piece = os.read(descriptor, _READ_BYTES)
        except BlockingIOError:  # somebody has it open, and has not written yet
            written = True
            wait_s = None if told else max(0.0, tell_at - time.monotonic())
            if not select.select([descriptor], [], [], wait_s)[0]:
                reading.tell(f"Waiting for {path} to end; something still has it open.")
                told = True
            continue
        if piece:
            pieces.append(piece)
            length += len(piece)
        elif written or pieces:
            break
        elif time.monotonic() > give_up_at:
            raise BadInputError(
                f"Nothing writes to the pipe, {reading.wait_s:g} s after it was opened.",
                where=path,
                hint="Start what writes to it first, or wait longer: input.stdin_wait_s",
            )
        else:
            time.sleep(_POLL_S)
    return b"".join(pieces)


def _listing(folder: str) -> str:
    """The files and folders below ``folder``, a line each, not deeper than there is room for."""
    entries: List[Tuple[str, str]] = []
    room = _MOST_LISTED_BYTES
    left_out = False
    for path, line in _entries(folder):
        room -= len(line) + 1
        if len(entries) == MOST_ENTRIES or room < 0:
            left_out = True
            break
        entries.append((path, line))
    lines = [line for _, line in sorted(entries)]
    if left_out:
        lines.append(f"... and more; this lists {len(lines)} of them, the nearest first")
    return "\n".join(lines or ["(empty)"]) + "\n"


def _entries(folder: str) -> Iterator[Tuple[str, str]]:
    """Path and line of each entry, level by level, so that what is left out is the deepest."""
    waiting = [""]
    while waiting:
        within = waiting.pop(0)
        try:
            with os.scandir(os.path.join(folder, within)) as found:
                # One more than is shown is enough to know that there are more.
                entries = sorted(itertools.islice(found, MOST_ENTRIES + 1), key=lambda e: e.name)
        except OSError as error:
            if not within:
                raise
            yield within, f"{within}/ (cannot be read: {error.strerror})"
            continue
        for entry in entries:
            path = os.path.join(within, entry.name)
            yield path, _line(path, entry)
            # What begins with a dot is a program's own, such as .git.
            if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                waiting.append(path)


def _line(path: str, entry: os.DirEntry[str]) -> str:
    shown = "".join(char if char.isprintable() else "_" for char in path)
    try:
        if entry.is_symlink():
            return f"{shown} (a link)"
        if entry.is_dir():
            return f"{shown}/"
        if not entry.is_file():
            return f"{shown} (no file)"
        return f"{shown}  {size_words(entry.stat().st_size)}"
    except OSError:
        return shown
