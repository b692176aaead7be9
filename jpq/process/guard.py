"""Guard: whatever ends jpq, a third Ctrl+C or ``kill -9``, ends its children too.

A small shell process knows the groups that run. It reads from a pipe that only jpq holds
open; when that ends before a group was taken back, nobody else can end the group any more.
What has left the group is known by its mark (see ``tree``), twice over as it may be forking.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from typing import Iterator, Optional

# What a group has once jpq is gone: whether it is killed at once, or is asked first.
AT_ONCE, GENTLY = "+", "~"

_SCRIPT = """
groups=' ' gentle=' ' marks=' '
while read -r sign group mark; do
    case $sign in
        +) groups="$groups$group " marks="$marks$mark " ;;
        '~') gentle="$gentle$group " ;;
        -) case $groups in *" $group "*) groups="${groups%% $group *} ${groups#* $group }" ;; esac
           case $gentle in *" $group "*) gentle="${gentle%% $group *} ${gentle#* $group }" ;; esac
           case $marks in *" $mark "*) marks="${marks%% $mark *} ${marks#* $mark }" ;; esac
    esac
done
for group in $groups; do kill -s KILL -- "-$group" 2>/dev/null; done
for mark in $marks $marks; do
    grep -ls "$mark" /proc/[0-9]*/environ 2>/dev/null |
        while IFS=/ read -r _ _ pid _; do kill -s KILL "$pid" 2>/dev/null; done
done
[ "$gentle" = ' ' ] && exit
sleep 1
for group in $gentle; do kill -s TERM -- "-$group" 2>/dev/null; done
sleep 2
for group in $gentle; do kill -s KILL -- "-$group" 2>/dev/null; done
"""


class Guard:
    """Watches process groups while it is needed. Any thread. Does nothing on Windows."""

    def __init__(self) -> None:
        # Held while a line is written, and while the guard is started or asked to end.
        self._lock = threading.Lock()
        self._needed_by = 0
        self._process: Optional[subprocess.Popen[bytes]] = None

    @contextlib.contextmanager
    def ready(self) -> Iterator[None]:
        """Have the guard run, so that a group which is started now is watched at once.

        Whoever needs it last ends it.
        """
        with self._lock:
            self._needed_by += 1
            if self._process is None:
                self._process = _started()
        try:
            yield
        finally:
            with self._lock:
                self._needed_by -= 1
                process = None
                if not self._needed_by:
                    process, self._process = self._process, None
            if process is not None:
                assert process.stdin is not None
                process.stdin.close()
                process.wait()

    def watch(self, group: int, how: str = AT_ONCE, mark: str = "") -> None:
        """Kill ``group`` if jpq ends before ``release``, and what has its ``mark``; GENTLY gives
        it a second to end by itself, and two more after TERM."""
        with self._lock:
            self._tell(how, group, mark)

    def release(self, group: int, mark: str = "") -> None:
        """The group has ended."""
        with self._lock:
            self._tell("-", group, mark)

    def _tell(self, sign: str, group: int, mark: str) -> None:
        if self._process is None:
            return
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{sign} {group} {mark}\n".encode())
        except OSError:
            pass  # somebody ended the guard; then there is none until the last group has ended


# One for all, as the children are this process's, whoever started them.
GUARD = Guard()


def _started() -> Optional[subprocess.Popen[bytes]]:
    if sys.platform == "win32":
        return None
    try:
        return subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=os.sep,
            env={"PATH": os.defpath},
            start_new_session=True,
        )
    except OSError:
        return None
