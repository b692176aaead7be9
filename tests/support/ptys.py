"""Real processes on a real pseudo-terminal, or on pipes, driven without a thread of our own."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WAIT_S = 15.0
_READ_SIZE = 65536
_POLL_S = 0.02
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)

# Opening a terminal as a session's leader makes it the session's controlling terminal.
_ON_TERMINAL = ["/bin/sh", "-c", 'exec "$@" <>"$0" >&0 2>&0']


def jpq(*arguments: str) -> List[str]:
    """The command under test."""
    return [sys.executable, "-m", "jpq", *arguments]


def environment(home: str, inherited: Optional[Mapping[str, str]] = None) -> Dict[str, str]:
    """An environment in which ``jpq`` runs from this checkout and keeps its files in ``home``."""
    environ = dict(os.environ if inherited is None else inherited)
    environ.update(JPQ_HOME=home, PYTHONPATH=ROOT, TERM="xterm")
    return environ


@contextlib.contextmanager
def nothing_ignored() -> Iterator[None]:
    """A child would inherit it if whoever started this process ignored a signal (nohup, a job
    in the background of a script). On the main thread, before others start children.

    This process goes on to ignore it: what it handles, a child does not inherit.
    """
    ignored = [each for each in _ENDING if signal.getsignal(each) is signal.SIG_IGN]
    for each in ignored:
        signal.signal(each, lambda signum, frame: None)
    try:
        yield
    finally:
        for each in ignored:
            signal.signal(each, signal.SIG_IGN)


def readable_bytes(fd: int) -> int:
    """How many bytes there are to be read: what is typed is on its way for a moment."""
    (count,) = struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, bytes(4)))
    return int(count)


class Child:
    """A process and the other end of its channels. Use as a context manager, which kills it.

    On a terminal, all three channels are that terminal and ``output`` is what came out of
    it. Otherwise ``output`` is stdout, ``errors`` is stderr, and stdin is empty, or with
    ``stdin`` a pipe that stays open. What the process writes is read only while a method
    here waits.
    """

    def __init__(
        self,
        argv: Sequence[str],
        environ: Mapping[str, str],
        cwd: str,
        *,
        terminal: bool,
        stdin: bool = False,
    ) -> None:
        self.output = bytearray()
        self.errors = bytearray()
        self._side = self._master = -1
        if terminal:
            self._master, self._side = os.openpty()
            argv = [*_ON_TERMINAL, os.ttyname(self._side), *argv]
        where = subprocess.DEVNULL if terminal else subprocess.PIPE
        with nothing_ignored():
            self.process: subprocess.Popen[bytes] = subprocess.Popen(
                argv,
                env=dict(environ),
                cwd=cwd,
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                stdout=where,
                stderr=where,
                start_new_session=True,
            )
        if terminal:
            self._open = {self._master: self.output}
        else:
            assert self.process.stdout is not None and self.process.stderr is not None
            self._open = {
                self.process.stdout.fileno(): self.output,
                self.process.stderr.fileno(): self.errors,
            }

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None and not pipe.closed:
                pipe.close()
        self.hang_up()

    def wait_for(self, wanted: Union[bytes, int], on_errors: bool = False) -> None:
        """Read until ``wanted`` has come: these bytes, or this many, on stdout or stderr."""
        channel = self.errors if on_errors else self.output

        def has_come() -> bool:
            return len(channel) >= wanted if isinstance(wanted, int) else wanted in channel

        deadline = time.monotonic() + WAIT_S
        while not has_come():
            alive = self._read(deadline)
            came = f"{self.output!r} {self.errors!r}, exit code {self.process.poll()}"
            assert has_come() or alive, f"{wanted!r} never came: {came}"

    def read(self, seconds: float) -> bool:
        """Read what there is, waiting up to ``seconds`` for it; False when there was nothing."""
        return self._read(time.monotonic() + seconds)

    def type(self, keys: bytes) -> None:
        """What a person types on the terminal."""
        os.write(self._master, keys)

    def signal(self, signum: int) -> None:
        """Send a signal to this process alone."""
        self.process.send_signal(signum)

    def modes(self) -> List[Any]:
        """The terminal's modes."""
        return termios.tcgetattr(self._master)

    def hang_up(self) -> None:
        """Take the terminal away, as closing its window does."""
        for descriptor in (self._side, self._master):
            if descriptor >= 0:
                os.close(descriptor)
        self._open.pop(self._master, None)
        self._side = self._master = -1

    def end(self, within_s: float = WAIT_S) -> int:
        """Read to the end; the exit code, negative for a signal.

        The end comes when no process holds the channels any more, not only this one.
        """
        deadline = time.monotonic() + within_s
        # A terminal that no process has opened yet looks like one that all have closed.
        while self._open and self.process.poll() is None and time.monotonic() < deadline:
            self._read(min(deadline, time.monotonic() + _POLL_S))
        if self._side >= 0:
            os.close(self._side)
            self._side = -1
        while self._read(deadline):
            pass
        assert not self._open, f"{self.process.args} still runs: {self.output!r} {self.errors!r}"
        return self.exit(max(0.1, deadline - time.monotonic()))

    def exit(self, within_s: float = WAIT_S) -> int:
        """Wait for the process without reading anything; the exit code as ``end`` has it."""
        return self.process.wait(within_s)

    def _read(self, deadline: float) -> bool:
        """Read what is there, waiting for it; False at the deadline or when all is at its end."""
        if not self._open:
            return False
        ready = select.select(list(self._open), [], [], max(0.0, deadline - time.monotonic()))[0]
        for descriptor in ready:
            try:
                data = os.read(descriptor, _READ_SIZE)
            except OSError:
                data = b""  # EIO: a terminal that nobody has open any more
            if data:
                self._open[descriptor] += data
            else:
                del self._open[descriptor]
        return bool(ready)


def run(argv: Sequence[str], environ: Mapping[str, str], cwd: str) -> Child:
    """A finished process that ran on pipes, with nothing on stdin; its code is in ``process``."""
    with Child(argv, environ, cwd, terminal=False) as child:
        child.end()
    return child
