"""Tokens: what a login gave, kept in a file that only its owner can read."""

from __future__ import annotations

import contextlib
import json
import threading
from typing import Any, ContextManager, Dict, List, Optional

from jpq.config.file_lock import only_writer
from jpq.config.files import read_text, write_private
from jpq.events import json_depth
from jpq.mcp.protocol import Json
from jpq.named import NamedTuple


class Grant(NamedTuple):
    """What an authority granted: a token, how to renew it, and as which client.

    ``client`` is the registration and belongs to ``issuer`` alone. Printing it shows no
    secret.
    """

    issuer: str
    token_endpoint: str
    resource: str
    client: Json
    access_token: str
    refresh_token: str
    scopes: List[str]

    def __repr__(self) -> str:
        return f"Grant(from {self.issuer})"


class TokenStore:
    """Grants by the URL of their server: a JSON file, 0600. Any thread; ``path`` None keeps
    them in memory."""

    def __init__(self, path: Optional[str] = None) -> None:
        self.path = path
        self._lock = threading.Lock()  # guards the file and _kept
        self._kept: Dict[str, Any] = {}

    def get(self, url: str) -> Optional[Grant]:
        """What was granted for the server at ``url``."""
        with self._lock:
            kept = self._load().get(url)
        try:
            return Grant(**(kept or {}))
        except TypeError:
            return None  # nothing, or of another version

    def set(self, url: str, grant: Grant) -> None:
        """Keep a grant. Raises WriteError."""
        with self._lock, self._alone():
            self._save({**self._load(), url: grant._asdict()})

    def remove(self, url: str) -> bool:
        """Forget a grant; False if there is none. Raises WriteError."""
        with self._lock, self._alone():
            kept = self._load()
            if kept.pop(url, None) is None:
                return False
            self._save(kept)
            return True

    def _alone(self) -> ContextManager[None]:
        """What keeps another process's login from being lost in ours."""
        return only_writer(self.path + ".lock") if self.path else contextlib.nullcontext()

    def _load(self) -> Dict[str, Any]:
        if self.path is None:
            return dict(self._kept)
        try:
            kept = json_depth.loads(read_text(self.path) or "{}")
        except ValueError:
            kept = None
        return kept if isinstance(kept, dict) else {}  # a new login replaces a damaged file

    def _save(self, kept: Dict[str, Any]) -> None:
        self._kept = kept
        if self.path is not None:
            write_private(self.path, json.dumps(kept, indent=2, sort_keys=True) + "\n")
