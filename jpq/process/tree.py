"""Finds and signals everything that one child has started, wherever it has gone since.

The child leads a session of its own. What it starts belongs to that session, or has made a
session for itself and is then known by a mark in its environment (Linux only).
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from typing import Callable, Dict, Iterator, List, Mapping, Sequence, Set, Tuple

from jpq.named import NamedTuple

# Its name holds TOKEN so that a program which drops secrets to outlive its command, as
# jpq's own embedded server does, drops the mark as well.
MARK_VARIABLE = "JPQ_TOOL_TOKEN"

# Until then the numbers of processes cannot have gone all the way round.
_NUMBERS_IN_ORDER_S = 10.0
_SHOWN_COMMAND = 60
# In the moment in which a process becomes another program its environment reads as empty.
_EMPTY_READS = 25
_EXEC_S = 0.002
_KERNEL = b"2"  # the parent of the kernel's own threads, whose environment is always empty


class Member(NamedTuple):
    """A process that runs; ``command`` is how it was called, or its number where that is hidden."""

    pid: int
    group: int
    command: str


def marked(environ: Mapping[str, str]) -> Dict[str, str]:
    """``environ`` with a new mark. A tool of a jpq that is itself a tool carries both."""
    marks = environ.get(MARK_VARIABLE, "")
    mark = secrets.token_hex(8)
    return {**environ, MARK_VARIABLE: f"{marks},{mark}" if marks else mark}


def mark_of(environ: Mapping[str, str]) -> str:
    """The mark that ``marked`` gave last."""
    return environ[MARK_VARIABLE].rpartition(",")[2]


class ProcessTree:
    """The child ``pid`` and all that came of it. One thread.

    The child must lead a session, and must not be waited for while this is used: its number
    could be another's afterwards.
    """

    def __init__(self, pid: int, environ: Mapping[str, str]) -> None:
        self._pid = pid
        self._mark = mark_of(environ).encode()
        self._started = time.monotonic()
        self._known: Set[Tuple[int, bytes]] = set()  # number and time of the start

    def members(self) -> List[Member]:
        """Those that run, without zombies."""
        if sys.platform == "win32":
            return []
        try:
            return list(self._found(self._candidates()))
        except OSError:
            return group_members(self._pid)  # not Linux

    def send(self, *signums: int) -> None:
        """Signal all of them."""
        if sys.platform == "win32":
            # The only way there to end what a process has started.
            command = ["taskkill", "/T", "/F", "/PID", str(self._pid)]
            subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
            return
        for signum in signums:
            _ignoring_absence(os.killpg, self._pid, signum)
        for member in self.members():
            if member.group != self._pid:
                for signum in signums:
                    _ignoring_absence(os.kill, member.pid, signum)

    def terminate(self) -> None:
        """Ask all of them to end, those too that were stopped."""
        self.send(signal.SIGTERM, getattr(signal, "SIGCONT", signal.SIGTERM))

    def kill(self) -> None:
        """End all of them."""
        self.send(getattr(signal, "SIGKILL", signal.SIGTERM))

    def _found(self, pids: Sequence[int]) -> Iterator[Member]:
        for pid in pids:
            try:
                with open(f"/proc/{pid}/stat", "rb") as file:
                    # After the name, which may hold anything.
                    fields = file.read().rpartition(b")")[2].split()
                state, parent, group, session, start = (fields[i] for i in (0, 1, 2, 3, 19))
                if state in (b"Z", b"X") or parent == _KERNEL:
                    continue
                # What was one of us stays one of us, wherever it goes.
                process = (pid, start)
                if process in self._known or int(session) == self._pid or self._is_marked(pid):
                    self._known.add(process)
                    yield Member(pid, int(group), _command(pid))
            except (OSError, ValueError, IndexError):
                continue  # it ended while we looked, or it is somebody else's

    def _candidates(self) -> List[int]:
        """All processes that may be of this tree. Raises OSError without Linux's /proc."""
        with open("/proc/loadavg", "rb") as file:
            last_given = int(file.read().split()[4])
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        young = time.monotonic() - self._started < _NUMBERS_IN_ORDER_S
        if young and last_given >= self._pid:
            return [pid for pid in pids if pid >= self._pid]
        own = os.getpid()
        return [pid for pid in pids if pid != own]

    def _is_marked(self, pid: int) -> bool:
        for _ in range(_EMPTY_READS):
            with open(f"/proc/{pid}/environ", "rb") as file:
                environ = file.read()
            if environ:
                return self._mark in environ
            time.sleep(_EXEC_S)
        return False


def group_members(group: int) -> List[Member]:
    """Those of a process group, as ``ps`` tells them on any Unix."""
    columns = ("pid=", "pgid=", "stat=", "args=")
    command = ["ps", "-A", *(word for column in columns for word in ("-o", column))]
    listed = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True).stdout
    members = []
    for line in listed.decode("utf-8", "replace").split("\n"):
        pid, its_group, state, called = [*line.split(None, 3), "", "", "", ""][:4]
        if its_group == str(group) and not state.startswith("Z"):
            members.append(Member(int(pid), group, called[:_SHOWN_COMMAND]))
    return members


def _command(pid: int) -> str:
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        words = file.read().replace(b"\0", b" ").decode("utf-8", "replace").split()
    return " ".join(words)[:_SHOWN_COMMAND] or f"process {pid}"


def _ignoring_absence(kill: Callable[[int, int], None], pid: int, signum: int) -> None:
    try:
        kill(pid, signum)
    except OSError:
        pass  # it has ended, or has become another user's
