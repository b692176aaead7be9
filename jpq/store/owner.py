"""OwnerFile: a lock by a file that names its owner, for file systems without real locks."""

from __future__ import annotations

import os
import socket
from typing import Any, Dict, Optional

from jpq.conversation.entry import to_json_bytes
from jpq.store.files import write_all
from jpq.store.reading import read_object


class OwnerFile:
    """The file ``path``: whoever creates it has the lock. Main thread only; not for Windows.

    It names host, process and when that started, so that a file whose owner was killed is
    known for what it is. On another host nothing can be known, and the file counts.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self.held = False

    def take(self) -> bool:
        """Whether the lock could be had now. Raises OSError."""
        for _ in range(2):
            try:
                descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError:
                if not self._clear_away_the_dead():
                    return False
                continue
            try:
                write_all(descriptor, to_json_bytes(_ourselves()) + b"\n")
            finally:
                os.close(descriptor)
            self.held = True
            return True
        return False

    def release(self) -> None:
        """Give the lock back."""
        self.held = False
        try:
            os.unlink(self._path)
        except FileNotFoundError:
            pass  # somebody removed the whole conversation

    def description(self) -> str:
        """Who has the lock and where the file is; empty when nobody has."""
        owner = self._owner()
        if not owner:
            return ""
        return f"{self._path}: process {owner.get('process')} on {owner.get('host')}"

    def _owner(self) -> Dict[str, Any]:
        try:
            return read_object(self._path)
        except OSError:
            return {}

    def _clear_away_the_dead(self) -> bool:
        """Remove the file of an owner that is gone; False while it may live.

        The file is moved aside first, which only one of several processes can do, and put
        back if meanwhile it has become that of another owner.
        """
        owner = self._owner()
        if not owner or not _is_gone(owner):
            return False
        aside = f"{self._path}.{os.getpid()}"
        try:
            os.rename(self._path, aside)
            if read_object(aside) != owner:
                os.link(aside, self._path)
                os.unlink(aside)
                return False
            os.unlink(aside)
        except OSError:
            return False
        return True


def _ourselves() -> Dict[str, Any]:
    pid = os.getpid()
    return {"host": socket.gethostname(), "process": pid, "started": _started(pid)}


def _is_gone(owner: Dict[str, Any]) -> bool:
    pid = owner.get("process")
    if owner.get("host") != socket.gethostname() or not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False  # it lives and is another user's
    return owner.get("started") != _started(pid)


def _started(pid: int) -> Optional[str]:
    """When the process started, where the system says it: process numbers come again."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return None
