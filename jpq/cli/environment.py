"""Environment: everything ambient that a command may touch, so that tests can hand in their own."""

from __future__ import annotations

import importlib
import os
import sys
from typing import BinaryIO, Mapping, Optional

from jpq.config.paths import Paths, find_paths
from jpq.errors import PREFIX, WriteError


class Environment:
    """The process's surroundings. Main thread only.

    ``stdin``, ``stdout`` and ``stderr`` are binary files, or None where the descriptor is
    closed. Commands that list something write it with ``out`` and tell the person
    something with ``notice``, or ``tell`` where our name would not help; the streamed answer
    goes through the renderer instead.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        cwd: str,
        stdin: Optional[BinaryIO],
        stdout: Optional[BinaryIO],
        stderr: Optional[BinaryIO],
    ) -> None:
        self.environ = environ
        self.cwd = cwd
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr

    @classmethod
    def of_process(cls) -> Environment:
        """The real one."""
        return cls(
            environ=os.environ,
            cwd=_working_directory(),
            stdin=_binary(sys.stdin),
            stdout=_binary(sys.stdout),
            stderr=_binary(sys.stderr),
        )

    @property
    def paths(self) -> Paths:
        """Where configuration, data, state and cache live."""
        return find_paths(self.environ)

    def out(self, text: str) -> None:
        """Write ``text`` to stdout as UTF-8 or the locale's encoding, replacing what it lacks.

        Nothing in it drives a terminal: names and descriptions come from other people.
        Raises BrokenPipeError when its reader is gone, else WriteError.
        """
        if self.stdout is not None and self.stdout.isatty():
            text = _harmless(text)
        self.out_styled(text)

    def out_styled(self, text: str) -> None:
        """Like ``out``, for text whose control sequences are our own."""
        try:
            _write(self.stdout, sys.stdout, text)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise WriteError(f"Cannot write to stdout: {error.strerror}.") from error

    def out_bytes(self, data: bytes) -> None:
        """Write ``data`` to stdout as it is; raises like ``out``."""
        try:
            if self.stdout is not None:
                self.stdout.write(data)
                self.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise WriteError(f"Cannot write to stdout: {error.strerror}.") from error

    def tell(self, text: str) -> None:
        """Write a line to stderr, without what could drive a terminal, such as in a file's name.

        When nobody can read it, it is lost.
        """
        self.tell_raw(_harmless(text) + "\n")

    def notice(self, text: str) -> None:
        """Tell the person something as jpq, apart from what a command lists or a model says."""
        self.tell(PREFIX + text)

    def tell_raw(self, text: str) -> None:
        """Write ``text`` to stderr as it is, without a line end."""
        try:
            _write(self.stderr, sys.stderr, text)
        except OSError:
            pass  # a closed stderr must not hide how the run ended


def _harmless(text: str) -> str:
    if all(line.isprintable() for line in text.split("\n")):
        return text
    # Rare, and costly for a command that has nothing to say.
    return str(importlib.import_module("jpq.render.sanitize").sanitize(text))


def _binary(stream: object) -> Optional[BinaryIO]:
    return getattr(stream, "buffer", None)


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        return os.sep  # the folder was removed under us


def _write(channel: Optional[BinaryIO], text_stream: object, text: str) -> None:
    if channel is None:
        return
    encoding = getattr(text_stream, "encoding", None) or "utf-8"
    channel.write(text.encode(encoding, "replace"))
    channel.flush()
