"""Which project files the person trusts, remembered by what is in them."""

from __future__ import annotations

import os
from typing import Dict, Optional

from jpq.config.file_lock import only_writer
from jpq.config.files import read_text, write_private


class TrustStore:
    """Answers about project files, kept in ``trust.json`` (0600) in the state folder.

    An answer holds for one content at one place: an edited, moved or copied file is
    asked about again, because its relative paths then mean something else.
    """

    def __init__(self, state: str) -> None:
        self._path = os.path.join(state, "trust.json")

    def answer(self, file: str, data: bytes) -> Optional[bool]:
        """True: trusted, False: refused, None: never asked."""
        return self._answers().get(_digest(file, data))

    def remember(self, file: str, data: bytes, trusted: bool) -> None:
        """Keep an answer. Raises WriteError."""
        import json  # late, as below

        with only_writer(self._path + ".lock"):
            answers = {**self._answers(), _digest(file, data): trusted}
            write_private(self._path, json.dumps(answers, indent=0, sort_keys=True) + "\n")

    def _answers(self) -> Dict[str, bool]:
        import json  # late: only a project file needs it

        text = read_text(self._path)
        try:
            answers = json.loads(text) if text else {}
        except (ValueError, RecursionError):
            answers = {}  # damaged: asking again is safe
        if not isinstance(answers, dict):
            return {}
        return {key: value for key, value in answers.items() if isinstance(value, bool)}


def _digest(file: str, data: bytes) -> str:
    import hashlib  # late: only a project file needs it, and it loads OpenSSL

    place = os.path.realpath(file).encode("utf-8", "surrogateescape")
    return hashlib.sha256(place + b"\0" + data).hexdigest()
