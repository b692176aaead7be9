"""What a running embedded server leaves on disk, so that every other command can find it."""

from __future__ import annotations

import json
import os
from typing import BinaryIO, List, Optional

from jpq.config.file_lock import FileLock
from jpq.config.paths import make_folder
from jpq.events import json_depth
from jpq.named import NamedTuple


class ServerState(NamedTuple):
    """A running server as its state file describes it.

    ``host`` is the machine it runs on: home folders can be shared. ``port`` answers
    requests and is 0 until the model is loaded; ``control_port`` takes leases. ``key``
    opens both. ``started_at`` is in seconds since 1970.
    """

    pid: int
    host: str
    model: str
    key: str
    control_port: int
    port: int
    started_at: float

    @property
    def base_url(self) -> str:
        """Where its OpenAI-style API is."""
        return f"http://127.0.0.1:{self.port}/v1"


class ServerFolder:
    """The folder of the one server that may run for ``model``.

    Its server holds ``alive`` locked as long as it lives, and only it writes
    ``state.json``. So the pid in there is that of the server if, and only if, the lock is
    taken: no number that the system has used again is ever mistaken for it.
    """

    def __init__(self, state: str, model: str) -> None:
        self.model = model
        self.path = os.path.join(state, "local", model)
        self.log_path = os.path.join(self.path, "server.log")
        self._state_path = os.path.join(self.path, "state.json")

    def create(self) -> None:
        """Make the folder. Raises WriteError."""
        make_folder(self.path)

    def alive_lock(self) -> FileLock:
        """The lock that the server holds while it lives."""
        return FileLock(os.path.join(self.path, "alive"))

    def start_lock(self) -> FileLock:
        """The lock that a command holds while it looks for the server or starts it."""
        return FileLock(os.path.join(self.path, "start"))

    def new_log(self) -> BinaryIO:
        """The server's log, empty. For whoever holds the start lock. Raises OSError."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        return os.fdopen(os.open(self.log_path, flags, 0o600), "wb")

    def read(self) -> Optional[ServerState]:
        """The state file; None when it is missing or damaged."""
        try:
            with open(self._state_path, encoding="utf-8") as file:
                fields = json_depth.loads(file.read())
            state = ServerState(**fields)
        except (OSError, ValueError, TypeError):
            return None
        numbers = (state.pid, state.control_port, state.port)
        sound = all(type(number) is int for number in numbers) and isinstance(state.key, str)
        return state if sound and state.pid > 0 else None

    def write(self, state: ServerState) -> None:
        """Replace the state file. For the server alone, with its lock held."""
        new = self._state_path + ".new"
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(state._asdict(), file)
        os.replace(new, self._state_path)

    def clear(self) -> None:
        """Remove the state file. For whoever holds the server's lock."""
        try:
            os.unlink(self._state_path)
        except OSError:
            pass  # gone already, with its folder perhaps

    def lives(self) -> bool:
        """Whether the server runs; removes what a dead one left."""
        lock = self.alive_lock()
        try:
            if not lock.try_acquire():
                return True
        except OSError:
            return False  # no folder, so no server
        with lock:
            self.clear()
        return False


def server_folders(state: str) -> List[ServerFolder]:
    """Every folder in which a server has run, by model name."""
    try:
        names = sorted(os.listdir(os.path.join(state, "local")))
    except OSError:
        return []
    return [ServerFolder(state, name) for name in names]
