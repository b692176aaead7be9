"""Where the answers of a batch go: stdout, or a file that a later run goes on with."""

from __future__ import annotations

import errno
import json
import os
import zlib
from array import array
from typing import Any, Callable, Iterator, Optional, Tuple

from jpq.cli.batch.lines import Line, id_of
from jpq.config.files import lock_now, sync_folder, unlock
from jpq.errors import BadInputError, ExitCode, JpqError, WriteError
from jpq.events import json_depth

_BLOCK = 1 << 20
_BEGINNING = b'{"line": '  # of each record
_MOST_LINES = 1 << 28  # a batch has fewer; a number that is larger is no line's


class OutputBusyError(JpqError):
    """Another process writes the same file."""

    word = "busy"
    exit_code = ExitCode.BUSY


class Answered:
    """Which lines have answers already, and how these ended. A few bytes for each line."""

    def __init__(self) -> None:
        self._codes = bytearray()  # exit code + 1; 0 for none
        self._ids = array("I")  # checksums of ids; 0 for none
        self.count = 0

    def add(self, number: int, code: int, id: Any) -> None:
        """Line ``number`` has an answer that ended with ``code``."""
        missing = number + 1 - len(self._codes)
        if missing > 0:
            self._codes.extend(bytes(missing))
            self._ids.frombytes(bytes(missing * self._ids.itemsize))
        self.count += not self._codes[number]
        self._codes[number] = min(code, 254) + 1
        self._ids[number] = _checksum(id)

    def has(self, line: Line) -> bool:
        """Whether ``line`` has an answer. Raises BadInputError where that is another line's."""
        number = line.number
        if number >= len(self._codes) or not self._codes[number]:
            return False
        if self._ids[number] != _checksum(id_of(line)):
            raise BadInputError(
                f"Line {number} has a different id from its answer in the --output file.",
                hint="The answers there are those of another batch: name another file.",
            )
        return True

    def first_failure(self) -> Optional[Tuple[int, int]]:
        """The first line whose answer failed, and its exit code."""
        for number, code in enumerate(self._codes):
            if code > 1:
                return number, code - 1
        return None


class Sink:
    """Takes whole lines, after those that are ``answered``. Main thread.

    ``end`` is where the file ends; None for a stream. Raises OSError where a line cannot be
    written.
    """

    def __init__(
        self,
        descriptor: int,
        path: str,
        end: Optional[int] = None,
        answered: Optional[Answered] = None,
    ) -> None:
        self.path = path
        self.answered = answered or Answered()
        self._descriptor = descriptor
        self._end = end

    def write(self, line: bytes) -> None:
        """Write ``line`` whole, or take back what was written of it."""
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError:
            if self._end is not None:
                os.ftruncate(self._descriptor, self._end)
                os.lseek(self._descriptor, self._end, os.SEEK_SET)
            raise
        if self._end is not None:
            self._end += len(line)

    def close(self) -> None:
        """Let go of the file."""
        if self._end is not None:
            try:
                os.fsync(self._descriptor)
            finally:
                unlock(self._descriptor)
                os.close(self._descriptor)
                self._end = None


def stream_sink(descriptor: int) -> Sink:
    """A sink for stdout."""
    return Sink(descriptor, "stdout")


def open_sink(path: str, again: bool, tell: Callable[[str], None]) -> Sink:
    """The file at ``path``, which may hold answers of an earlier run. They are kept; with
    ``again`` those that failed are not, so that their lines are asked again.

    Raises OutputBusyError, WriteError, and BadInputError for a file of something else.
    """
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            return Sink(os.open(path, os.O_WRONLY), path)  # a device or a named pipe
        descriptor = _open_locked(path)
        try:
            sink = _scanned(descriptor, path, again, tell)
        except BaseException:
            os.close(descriptor)
            raise
    except OSError as error:
        reason = error.strerror or error
        raise WriteError(f"The --output file cannot be written: {reason}.", where=path) from error
    return sink


def _open_locked(path: str) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        try:
            lock_now(descriptor)
        except OSError as error:
            os.close(descriptor)
            if error.errno in (errno.EACCES, errno.EAGAIN):
                raise OutputBusyError(
                    "Another jpq writes this file.",
                    where=path,
                    hint="Wait for it to end, or name another file with --output.",
                ) from error
            raise
        # Another run may have put a new file in its place between the two.
        if os.path.samestat(os.fstat(descriptor), os.stat(path)):
            return descriptor
        os.close(descriptor)


def _scanned(descriptor: int, path: str, again: bool, tell: Callable[[str], None]) -> Sink:
    answered = Answered()
    failed = 0
    end = 0
    for data in _lines(descriptor):
        if not data.endswith(b"\n"):
            # A run that was killed was writing it; its line is asked again.
            _check_torn(data, path)
            tell("The last line of the --output file is not whole; it is dropped.")
            break
        end += len(data)
        record = _record(data)
        if record is not None:
            code = record["exit_code"]
            failed += code != 0
            if code == 0 or not again:
                answered.add(record["line"], code, record.get("id"))
    os.ftruncate(descriptor, end)
    os.lseek(descriptor, end, os.SEEK_SET)
    if failed and again:
        return _without_failures(descriptor, path, answered)
    return Sink(descriptor, path, end, answered)


def _without_failures(descriptor: int, path: str, answered: Answered) -> Sink:
    """The same file without the answers that failed, in one step."""
    target = os.path.realpath(path)
    temporary = os.path.join(
        os.path.dirname(target), f".{os.path.basename(target)}.{os.getpid()}.tmp"
    )
    flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
    fresh = os.open(temporary, flags, os.fstat(descriptor).st_mode & 0o777)
    try:
        lock_now(fresh)
        sink = Sink(fresh, path, 0, answered)
        for data in _lines(descriptor):
            record = _record(data)
            if record is None or record["exit_code"] == 0:
                sink.write(data)
        os.fsync(fresh)
        os.replace(temporary, target)
        sync_folder(os.path.dirname(target))
    except BaseException:
        os.close(fresh)
        if os.path.exists(temporary):
            os.remove(temporary)
        raise
    unlock(descriptor)
    os.close(descriptor)
    return sink


def _lines(descriptor: int) -> Iterator[bytes]:
    """The lines of a file from its beginning; the last one may lack its end."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    rest = b""
    while True:
        block = os.read(descriptor, _BLOCK)
        if not block:
            break
        *whole, rest = (rest + block).split(b"\n")
        for line in whole:
            yield line + b"\n"
    if rest:
        yield rest


def _check_torn(data: bytes, path: str) -> None:
    """Raises BadInputError unless ``data`` is the beginning of a record, or what a power cut
    leaves of one. Anything else is somebody's, and not to be dropped."""
    rest = data.strip(b"\0")
    if rest[: len(_BEGINNING)] != _BEGINNING[: len(rest)]:
        raise BadInputError(
            "The last line of the --output file is not an answer of a batch.",
            where=path,
            hint="Name another file, or end that line if the answers are to follow it.",
        )


def _record(data: bytes) -> Any:
    """The record that a line holds; None for anything else."""
    try:
        record = json_depth.loads(data, json_depth.DEEPEST_KEPT)
    except ValueError:
        return None
    if not isinstance(record, dict):
        return None
    number, code = record.get("line"), record.get("exit_code")
    sound = (
        type(number) is int and type(code) is int and 1 <= number < _MOST_LINES and 0 <= code < 256
    )
    return record if sound else None


def _checksum(id: Any) -> int:
    return 0 if id is None else zlib.crc32(json.dumps(id).encode()) or 1
