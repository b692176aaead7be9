"""History: what was typed in a workspace, for the arrow keys of the next chat there.

One file a workspace in the state folder, one JSON string a line, the oldest first. Only this
person can read it. A history that cannot be read or written never keeps anybody from talking.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import List

from jpq.config.files import write_private
from jpq.config.paths import make_folder
from jpq.errors import JpqError

KEPT = 1000  # entries; the file is made shorter when it has twice as many
_LONGEST = 100_000  # characters; what is longer is in the conversation, and no fun to scroll


class History:
    """The history of ``workspace``. Main thread. Several chats may append to one file."""

    def __init__(self, state: str, workspace: str) -> None:
        name = hashlib.sha256(workspace.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        self._newest = ""
        self.path = os.path.join(state, "chat-history", f"{name}.jsonl")

    def load(self) -> List[str]:
        """The newest entries, the oldest of them first; lines that are none are passed over."""
        try:
            with open(self.path, encoding="utf-8", errors="replace") as file:
                lines = file.read().split("\n")
        except OSError:
            return []
        entries = [entry for entry in map(_decoded, lines) if entry]
        if len(lines) > 2 * KEPT:
            self._replace(entries[-KEPT:])
        return entries[-KEPT:]

    def add(self, text: str) -> None:
        """Append ``text``."""
        if not text.strip() or text == self._newest or len(text) > _LONGEST:
            return
        self._newest = text
        try:
            make_folder(os.path.dirname(self.path))
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
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


def _encoded(text: str) -> bytes:
    return (json.dumps(text) + "\n").encode()  # in ASCII, halves of surrogate pairs included


def _decoded(line: str) -> str:
    try:
        entry = json.loads(line)
    except ValueError:
        return ""
    return entry if isinstance(entry, str) else ""
