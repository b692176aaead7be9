"""EraMemory: which revision each server spoke last, so that the next start need not find out.

The specification lets a client keep this while a server's configuration is the same. After a
week it is found out anew, because a server may have learnt the newer era meanwhile.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from typing import Any, Dict, Optional, Sequence

from jpq.config.files import read_text, write_private
from jpq.errors import JpqError
from jpq.events import json_depth

_KEPT_S = 7 * 24 * 3600.0


class EraMemory:
    """A JSON file; without it nothing is remembered. Any thread.

    It is only ever a guess: what is damaged or cannot be written is as if it was not there.
    """

    def __init__(self, path: Optional[str]) -> None:
        self._path = path
        self._lock = threading.Lock()  # guards the file against the other servers' threads

    def of(self, server: Sequence[str]) -> EraOf:
        """What is remembered of one server."""
        return EraOf(self, tuple(server))

    def get(self, server: Sequence[str]) -> Optional[str]:
        """The revision that ``server`` (its command or URL) spoke."""
        with self._lock:
            entry = self._load().get(_key(server))
        if not isinstance(entry, dict) or not isinstance(entry.get("at"), (int, float)):
            return None
        fresh = 0 <= time.time() - entry["at"] < _KEPT_S
        return str(entry.get("version")) if fresh else None

    def set(self, server: Sequence[str], version: Optional[str]) -> None:
        """Remember ``version``; None forgets."""
        with self._lock:
            known = self._load()
            known.pop(_key(server), None)
            if version is not None:
                known[_key(server)] = {"version": version, "at": time.time()}
            self._save(known)

    def _load(self) -> Dict[str, Any]:
        try:
            known = json_depth.loads((self._path and read_text(self._path)) or "{}")
        except (ValueError, JpqError):
            return {}
        return known if isinstance(known, dict) else {}

    def _save(self, known: Dict[str, Any]) -> None:
        if self._path is None:
            return
        try:
            write_private(self._path, json.dumps(known, indent=2, sort_keys=True) + "\n")
        except JpqError:
            pass  # it is found out again next time


class EraOf:
    """The memory of one server."""

    def __init__(self, memory: EraMemory, server: Sequence[str]) -> None:
        self._memory = memory
        self._server = server

    def get(self) -> Optional[str]:
        """The revision that it spoke."""
        return self._memory.get(self._server)

    def set(self, version: Optional[str]) -> None:
        """Remember it; None forgets."""
        self._memory.set(self._server, version)


def _key(server: Sequence[str]) -> str:
    # A command may hold a secret, which has no place in a second file.
    return hashlib.sha256("\0".join(server).encode("utf-8", "replace")).hexdigest()[:32]
