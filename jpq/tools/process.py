"""Runs one child to its real end: nothing it started is left, and nothing is waited for in vain.

The child gets a session of its own, so no controlling terminal and a process group that can
be ended as a whole. It is over when the child itself has ended, not when its output has: a
grandchild may hold the pipe open. What is left then is ended too.
"""

from __future__ import annotations

import os
import queue
import selectors
import subprocess
import sys
import threading
import time
from typing import List, Mapping, Optional, Set, Tuple

from jpq.interrupt.cancel import CancelToken
from jpq.named import NamedTuple
from jpq.process.guard import GUARD
from jpq.process.start import Launch, start
from jpq.process.tree import ProcessTree, mark_of, marked
from jpq.tools.capture import Capture, Captured, ProgressText
from jpq.tools.definition import Progress

_READ_BYTES = 65536  # as much as a pipe holds (pipe(7))
# Nobody tells when a process that is not our child ends, so it must be looked for: soon, as
# most end at once, and then less and less often.
_LOOK_AGAIN_S = 0.001
_LOOK_SELDOM_S = 0.05
_JOIN_S = 1.0

# What can happen to a child, as its three threads post it.
_EXITED = "exited"
_OUTPUT_ENDED = "output ended"
_CANCELLED = "cancelled"


class Times(NamedTuple):
    """Seconds from TERM to KILL, from KILL to giving up, and for output after the end."""

    term_s: float = 2.0
    kill_s: float = 1.0
    drain_s: float = 0.25

    @property
    def longest_stop_s(self) -> float:
        """How long ending a tree of processes may take in all."""
        return self.term_s + self.kill_s + 2 * self.drain_s + _JOIN_S


TIMES = Times()


class ProcessEnded(NamedTuple):
    """How a child ended.

    ``status`` is its exit code, or minus the number of the signal that ended it; None if it
    could not be ended. ``survivors`` are the commands it had left running in the background.
    """

    status: Optional[int]
    captured: Captured
    stopped: bool
    survivors: Tuple[str, ...]


def run_process(
    launch: Launch,
    capture: Capture,
    cancel: CancelToken,
    progress: Progress,
    times: Times = TIMES,
) -> ProcessEnded:
    """Run a child until it has ended or ``cancel`` says so. Any thread; blocks.

    ``progress`` is called on another thread, and never after the return. Raises CannotStart.
    """
    environ = marked(launch.environ)
    mark = mark_of(environ)
    with GUARD.ready():
        process = start(launch, environ)
        GUARD.watch(process.pid, mark=mark)
        try:
            child = _Child(process, environ, capture, ProgressText(progress), times)
            return child.to_the_end(cancel)
        except BaseException:
            ProcessTree(process.pid, environ).kill()  # no thread could be started for it
            raise
        finally:
            GUARD.release(process.pid, mark)


class _Child:
    """One running child. Its worker thread, and two that wait: for its end, for its output."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        environ: Mapping[str, str],
        capture: Capture,
        progress: ProgressText,
        times: Times,
    ) -> None:
        self.tree = ProcessTree(process.pid, environ)
        self._process = process
        self._capture = capture
        self._progress = progress
        self._times = times
        self._happened: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._seen: Set[str] = set()
        self._bell, self._rope = os.pipe()  # ends the reader where the pipe does not

    def to_the_end(self, cancel: CancelToken) -> ProcessEnded:
        threads = [
            threading.Thread(target=target, name=f"jpq-process-{name}", daemon=True)
            for name, target in (("wait", self._wait), ("read", self._read))
        ]
        for thread in threads:
            thread.start()
        with cancel.calling(lambda: self._happened.put(_CANCELLED)):
            self._until({_EXITED, _CANCELLED}, None)
            stopped = _EXITED not in self._seen
            if not stopped:
                self._until({_OUTPUT_ENDED, _CANCELLED}, self._times.drain_s)
        survivors = self._end_all(stopped)
        self._until({_OUTPUT_ENDED}, self._times.drain_s)
        self._finish_reading(threads[1])
        status = None
        if _EXITED in self._seen:
            threads[0].join()
            status = self._process.wait()
        return ProcessEnded(status, self._capture.result(), stopped, survivors)

    def _until(self, wanted: Set[str], seconds: Optional[float]) -> None:
        """Wait until one of ``wanted`` has happened, for ``seconds`` at most."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while not wanted & self._seen:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return
            try:
                self._seen.add(self._happened.get(timeout=left))
            except queue.Empty:
                return

    def _end_all(self, stopped: bool) -> Tuple[str, ...]:
        """End what still runs; the commands of those that were left in the background."""
        left = [] if stopped else self.tree.members()
        if not stopped and not left:
            return ()
        self.tree.terminate()
        if not self._gone_within(self._times.term_s):
            self.tree.kill()
            self._gone_within(self._times.kill_s)
        return tuple(member.command for member in left)

    def _gone_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        self._until({_EXITED}, seconds)
        pause_s = _LOOK_AGAIN_S
        while _EXITED in self._seen:
            if not self.tree.members():
                return True
            if time.monotonic() >= deadline:
                break
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LOOK_SELDOM_S)
        return False

    def _wait(self) -> None:
        """Thread: wait for the child, and leave it a zombie, so that its number stays its own."""
        try:
            if sys.platform == "win32" or not hasattr(os, "waitid"):
                self._process.wait()
            else:
                os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:
            pass  # signals of ended children are ignored here, and then nobody keeps them
        self._happened.put(_EXITED)

    def _read(self) -> None:
        """Thread: take the output, until it ends or the bell rings."""
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        try:
            if sys.platform == "win32":
                self._take_all(pipe)
            else:
                with selectors.DefaultSelector() as selector:
                    selector.register(pipe, selectors.EVENT_READ)
                    selector.register(self._bell, selectors.EVENT_READ)
                    self._take_all(pipe, selector)
        finally:
            self._happened.put(_OUTPUT_ENDED)

    def _take_all(self, pipe: int, selector: Optional[selectors.BaseSelector] = None) -> None:
        while selector is None or self._bell not in _ready(selector):
            if not self._take(pipe):
                return
        # What was written before the bell rang, and that we had no time for, is in the pipe.
        if pipe in _ready(selector):
            self._take(pipe)

    def _take(self, pipe: int) -> bool:
        data = os.read(pipe, _READ_BYTES)
        if data:
            self._capture.add(data)
            self._progress.add(data)
        return bool(data)

    def _finish_reading(self, reader: threading.Thread) -> None:
        os.write(self._rope, b".")
        reader.join(_JOIN_S)
        if not reader.is_alive():  # on Windows it cannot be woken
            assert self._process.stdout is not None
            self._process.stdout.close()
            os.close(self._bell)
            os.close(self._rope)


def _ready(selector: selectors.BaseSelector) -> List[int]:
    return [key.fd for key, _ in selector.select()]
