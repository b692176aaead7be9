"""Finds, starts, leases and stops embedded servers; what runs in jpq's own process.

Two commands that need the same server at once share one: whoever takes the start lock
first starts it, the other finds it running.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from jpq.errors import ErrorKind, StreamError
from jpq.events import json_depth
from jpq.named import NamedTuple
from jpq.provider.local_state import ServerFolder, ServerState, server_folders

ANSWER_S = 3.0  # a healthy server answers on loopback within milliseconds
STOP_S = 5.0
# Secrets have no business in a process that outlives the command.
SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD")
_PACKAGE_PARENT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class ServerSettings(NamedTuple):
    """How a server is started: seconds without use, threads, and context in tokens."""

    keep_alive_s: float = 300.0
    threads: int = 1
    context_size: int = 4096


class RunningServer(NamedTuple):
    """A server as ``jpq models ps`` shows it.

    ``idle_s`` is None while it loads or when it does not answer; ``leases`` counts the
    commands that use it.
    """

    folder: ServerFolder
    state: ServerState
    idle_s: Optional[float]
    leases: int


class Cancellation:
    """Lets another thread end the wait for a server."""

    def __init__(self) -> None:
        self.wanted = threading.Event()
        self._stop_start: Optional[Callable[[], None]] = None

    def cancel(self) -> None:
        """End the wait now. Any thread, any number of times."""
        self.wanted.set()
        if self._stop_start is not None:
            self._stop_start()

    def starting(self, stop: Optional[Callable[[], None]]) -> None:
        """From now on ``cancel`` also calls ``stop``; at once when it has been called."""
        self._stop_start = stop
        if stop is not None and self.wanted.is_set():
            stop()


class Lease:
    """Keeps a server running while it is open; the end of this process closes it too."""

    def __init__(self, state: ServerState, connection: socket.socket) -> None:
        self.state = state
        self._connection = connection

    def close(self) -> None:
        """Give the lease back; any number of times."""
        self._connection.close()


def lease_server(
    folder: ServerFolder,
    weights: str,
    settings: ServerSettings,
    environ: Mapping[str, str],
    cancellation: Cancellation,
) -> Optional[Lease]:
    """A lease on the folder's server, which is started unless it runs and is well.

    None once ``cancellation`` is wanted. Raises StreamError where no server can be had.
    """
    folder.create()
    try:
        with folder.start_lock() as lock:
            if not lock.acquire(cancelled=cancellation.wanted):
                return None
            lease = _lease_running(folder, settings)
            if lease is None:
                _start(folder, weights, settings, environ, cancellation)
                if cancellation.wanted.is_set():
                    return None
                lease = _lease_running(folder, settings)
    except OSError as error:
        raise _failed(folder, error.strerror or str(error)) from error
    if lease is None:
        raise _failed(folder, "it started but does not answer")
    return lease


def running_servers(state: str) -> List[RunningServer]:
    """The servers that live, whoever started them."""
    found = []
    for folder in server_folders(state):
        described = folder.read() if folder.lives() else None
        if described is not None:
            answer = _status(described)
            idle_s = float(answer["idle_s"]) if "idle_s" in answer else None
            found.append(RunningServer(folder, described, idle_s, int(answer.get("leases", 0))))
    return found


def stop_server(folder: ServerFolder) -> bool:
    """End the folder's server; False when none ran. Raises StreamError when it cannot be ended."""
    if not folder.lives():
        return False
    state = folder.read()
    if state is not None:
        try:
            connection, _ = _ask(state, "stop")
            connection.close()
        except (OSError, ValueError):
            pass  # it loads or hangs; the signal below ends it
        if _ended(folder):
            return True
        _kill(folder, state)
    if not _ended(folder):
        raise _failed(folder, "it does not end")
    return True


def _lease_running(folder: ServerFolder, settings: ServerSettings) -> Optional[Lease]:
    """A lease on a server that runs and is well; one that is not well is ended."""
    if not folder.lives():
        return None
    state = folder.read()
    if state is not None and state.port and state.host == socket.gethostname():
        try:
            connection, _ = _ask(state, "lease", keep_alive_s=settings.keep_alive_s)
        except (OSError, ValueError):
            connection = None
        if connection is not None:
            if _healthy(state):
                return Lease(state, connection)
            connection.close()
    stop_server(folder)
    return None


def _start(
    folder: ServerFolder,
    weights: str,
    settings: ServerSettings,
    environ: Mapping[str, str],
    cancellation: Cancellation,
) -> None:
    """Start a server and wait until it is ready, or until the wait is cancelled."""
    state_root = os.path.dirname(os.path.dirname(folder.path))
    command = [sys.executable, "-m", "jpq.provider.local_server", "--detach"]
    command += ["--state", state_root, "--model", folder.model, "--weights", weights]
    command += ["--context", str(settings.context_size), "--threads", str(settings.threads)]
    command += ["--keep-alive", str(settings.keep_alive_s)]
    with folder.new_log() as log, _spawn(command, log, environ) as launcher:
        assert launcher.stdout is not None
        cancellation.starting(lambda: _kill_start(folder, launcher.pid))
        # The end of the file comes too when the server dies, so this cannot hang.
        said = launcher.stdout.readline().decode("utf-8", "replace").strip()
        cancellation.starting(None)
    if said != "ready" and not cancellation.wanted.is_set():
        raise _failed(folder, said or "it ended while it was loading the model")


def _spawn(command: List[str], log: Any, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start ``command`` away from the terminal, with our package and without secrets."""
    env = {
        name: value
        for name, value in environ.items()
        if not any(word in name.upper() for word in SECRET_WORDS)
    }
    if os.path.basename(_PACKAGE_PARENT) not in ("site-packages", "dist-packages"):
        path = environ.get("PYTHONPATH")  # jpq runs from where the server would not find it
        env["PYTHONPATH"] = _PACKAGE_PARENT + (os.pathsep + path if path else "")
    detached: Dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
        detached = {"creationflags": flags}
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=log,
        cwd=os.path.abspath(os.sep),  # neither imports nor holds on to the person's folder
        env=env,
        **detached,
    )


def _kill_start(folder: ServerFolder, launcher: int) -> None:
    """End the launcher and the server that it started, which are one process group."""
    try:
        if sys.platform == "win32":
            state = folder.read()
            os.kill(state.pid if state else launcher, signal.SIGTERM)
        else:
            os.killpg(launcher, signal.SIGKILL)
    except OSError:
        pass  # it has ended by itself


def _kill(folder: ServerFolder, state: ServerState) -> None:
    if state.host != socket.gethostname():
        raise _failed(folder, f"it runs on {state.host}, where it must be stopped")
    try:
        os.kill(state.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
    except OSError:
        pass  # it has ended by itself


def _ended(folder: ServerFolder) -> bool:
    lock = folder.alive_lock()
    try:
        ended = lock.acquire(STOP_S)
    except OSError:
        return True  # the folder is gone; the server notices that itself
    with lock:
        if ended:
            folder.clear()
    return ended


def _ask(state: ServerState, want: str, **more: float) -> Tuple[socket.socket, Dict[str, Any]]:
    """Tell the control port a wish; returns the connection and the answer.

    Raises OSError or ValueError.
    """
    connection = socket.create_connection(("127.0.0.1", state.control_port), ANSWER_S)
    try:
        request = json.dumps({"key": state.key, "want": want, **more})
        connection.sendall(request.encode() + b"\n")
        with connection.makefile("rb") as lines:
            answer = json_depth.loads(lines.readline(4096))
        if not isinstance(answer, dict):
            raise ValueError("not an answer")
    except BaseException:
        connection.close()
        raise
    return connection, answer


def _status(state: ServerState) -> Dict[str, Any]:
    if not state.port or state.host != socket.gethostname():
        return {}
    try:
        connection, answer = _ask(state, "status")
    except (OSError, ValueError):
        return {}
    connection.close()
    return answer


def _healthy(state: ServerState) -> bool:
    # http.client takes no proxy from the environment, which is what loopback needs.
    connection = http.client.HTTPConnection("127.0.0.1", state.port, timeout=ANSWER_S)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _failed(folder: ServerFolder, why: str) -> StreamError:
    return StreamError(
        ErrorKind.UNREACHABLE,
        f"The embedded server for local/{folder.model} cannot be used: {why}.",
        where=f"its log: {folder.log_path}",
        hint="`jpq models ps` lists servers, `jpq models stop` ends them.",
    )
