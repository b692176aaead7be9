"""Keys in the keyring of the system, for those who installed ``jpq[keyring]`` and chose it.

Loaded with ``keys.store = "keyring"``.
"""

from __future__ import annotations

import importlib
import json
import os
from typing import Any, List, Optional

from jpq.config.files import read_text, write_private
from jpq.config.keys import KeyStore, usable_key
from jpq.config.paths import Paths
from jpq.errors import ConfigError, DeniedError

SERVICE = "jpq"


class KeyringStore(KeyStore):
    """The keys in the keyring; those still in the file are found too, until they are set again.

    A keyring cannot be asked what it holds, so the names, and nothing else, are noted in a file.
    """

    source = "the system's keyring"

    def __init__(self, paths: Paths) -> None:
        super().__init__(os.path.join(paths.data, "keys.json"))
        self._notes = os.path.join(paths.data, "keyring-names.json")
        self._keyring: Any = _loaded()

    @property
    def place(self) -> str:
        return self.source

    def get(self, name: str) -> Optional[str]:
        kept = self._asked("get_password", name)
        return super().get(name) if kept is None else str(kept)

    def names(self) -> List[str]:
        return sorted({*super().names(), *self._noted()})

    def set(self, name: str, value: str) -> None:
        self._asked("set_password", name, usable_key(name, value, "the key given"))
        self._note(name, kept=True)
        super().remove(name)

    def remove(self, name: str) -> bool:
        found = self._asked("get_password", name) is not None
        if found:
            self._asked("delete_password", name)
        self._note(name, kept=False)
        return super().remove(name) or found

    def _noted(self) -> List[str]:
        try:
            names = json.loads(read_text(self._notes) or "[]")
        except (ValueError, RecursionError):
            names = []  # damaged: the keys are where they were
        return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []

    def _note(self, name: str, *, kept: bool) -> None:
        with self._alone():
            names = {*self._noted(), name} if kept else {*self._noted()} - {name}
            if names or os.path.exists(self._notes):
                write_private(self._notes, json.dumps(sorted(names)) + "\n")

    def _asked(self, method: str, *arguments: str) -> Any:
        """What the keyring answers. Raises DeniedError, which never shows a key."""
        try:
            return getattr(self._keyring, method)(SERVICE, *arguments)
        except Exception as error:  # each keyring has its own
            raise DeniedError(
                f"The keyring did not answer: {type(error).__name__}.",
                where=f"the key for {arguments[0]}",
                hint="Unlock it, or keep keys in a file: jpq config set keys.store file",
            ) from None  # what it says may hold the key


def _loaded() -> Any:
    try:
        return importlib.import_module("keyring")
    except ImportError:
        raise ConfigError(
            'keys.store is "keyring", and the library for that is not installed.',
            hint="pip install 'jpq[keyring]', or: jpq config set keys.store file",
        ) from None
