"""History: what was typed in a workspace, for the arrow keys of the next chat there.

One file a workspace in the state folder, one JSON string a line, the oldest first. Only this
person can read it. A history that cannot be read or written never keeps anybody from talking.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from typing import List, Tuple

from jpq.config.files import write_private
from jpq.config.paths import make_folder
from jpq.errors import JpqError
from jpq.events import json_depth

KEPT = 1000  # entries; the file is made shorter when it has twice as many
_LONGEST = 100_000  # characters; what is longer is in the conversation, and no fun to scroll
_MOST_READ = 8_000_000  # bytes, the newest
# Opening a named pipe must not wait for its other end; Windows has none.
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)


class History:
    """The history of ``workspace``. Main thread. Several chats may append to one file."""

    def __init__(self, state: str, workspace: str) -> None:
        name = hashlib.sha256(workspace.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        self._newest = ""
        self.path = os.path.join(state, "chat-history", f"{name}.jsonl")

    def load(self) -> List[str]:
        """The newest entries, the oldest of them first; lines that are none are passed over."""
        try:
            data, is_whole = _newest(self.path)
        except OSError:
            return []
        lines = data.decode("utf-8", "replace").split("\n")
        entries = [entry for entry in map(_decoded, lines) if entry]
        torn = lines[-1]  # what a kill or a full disk left of an entry would spoil the next one
        if torn or not is_whole or len(lines) > 2 * KEPT:
            self._replace(entries[-KEPT:])
        return entries[-KEPT:]

    def add(self, text: str) -> None:
        """Append ``text``."""
        if not text.strip() or text == self._newest or len(text) > _LONGEST:
            return
        self._newest = text
        try:
            make_folder(os.path.dirname(self.path))
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | _NONBLOCK
            descriptor = os.open(self.path, flags, 0o600)
            try:
                os.write(descriptor, _encoded(text))
            finally:
                os.close(descriptor)
        except (OSError, JpqError):
            pass  # the message itself is in the conversation

    def _replace(self, entries: List[str]) -> None:
        try:
            write_private(self.path, "".join(_encoded(entry).decode() for entry in entries))
        except JpqError:
            pass  # it stays long


def _newest(path: str) -> Tuple[bytes, bool]:
    """The end of a file, and whether that is all of it; nothing of what is no file."""
    descriptor = os.open(path, os.O_RDONLY | _NONBLOCK | getattr(os, "O_BINARY", 0))
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return b"", True
        left_out = max(0, status.st_size - _MOST_READ)
        with open(descriptor, "rb", closefd=False) as file:
            file.seek(left_out)
            data = file.read(_MOST_READ)
    finally:
        os.close(descriptor)
    return data if not left_out else data.partition(b"\n")[2], not left_out


def _encoded(text: str) -> bytes:
    return (json.dumps(text) + "\n").encode()  # in ASCII, halves of surrogate pairs included


def _decoded(line: str) -> str:
    try:
        entry = json_depth.loads(line)
    except ValueError:
        return ""
    return entry if isinstance(entry, str) else ""
