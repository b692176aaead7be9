"""The embedded server's own process: loads a model into llama.cpp and serves it on loopback.

Started by ``jpq.provider.local_process`` as ``python -m jpq.provider.local_server``. It
makes its own key and ports and writes them to the state file, says one line on stdout
(``ready``, or why not), and from then on belongs to no command. Both outputs end in its
log file.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
from typing import Any, List, Optional, TextIO

from jpq.provider.local_state import ServerFolder, ServerState
from jpq.provider.local_watch import Watch
from jpq.provider.weights import find_weights

LOCK_WAIT_S = 5.0
LOAD_LIMIT_S = 300
QUIET = 2  # llama.cpp's log level: warnings and errors, never what was asked or answered


def main(argv: List[str]) -> int:
    """Run the server until nobody needs it. Returns 1 when it could not run at all."""
    if argv[:1] == ["--detach"]:
        _spawn_orphan(argv[1:])
        return 0
    arguments = _parser().parse_args(argv)
    ready = _take_stdout()
    folder = ServerFolder(arguments.state, arguments.model)
    alive = folder.alive_lock()
    try:
        if not alive.acquire(LOCK_WAIT_S):  # commands that look for a server hold it for a moment
            raise RuntimeError("another server for this model is running")
        with alive:
            _run(arguments, folder, ready)
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        _report(ready, f"{type(error).__name__}: {error}")
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="jpq.provider.local_server")
    parser.add_argument("--state", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--weights", required=True)
    parser.add_argument("--context", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--keep-alive", type=float, required=True)
    return parser


def _spawn_orphan(argv: List[str]) -> None:
    """Start the server and leave, so that it is nobody's child and never a zombie of jpq's."""
    command = [sys.executable, "-m", "jpq.provider.local_server", *argv]
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    # It outlives this process on purpose; without a status, Popen would warn of that.
    server.returncode = 0


def _take_stdout() -> TextIO:
    """The pipe to the command that waits; stdout itself joins stderr in the log."""
    ready = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return ready


def _report(ready: TextIO, line: str) -> None:
    try:
        ready.write(" ".join(line.split()) + "\n")
        ready.close()
    except OSError:
        pass  # the command was killed; somebody else may still use this server


def _run(arguments: argparse.Namespace, folder: ServerFolder, ready: TextIO) -> None:
    """Load and serve; ends the process, or raises when it could not load."""
    listener = socket.create_server(("127.0.0.1", 0))
    state = ServerState(
        pid=os.getpid(),
        host=socket.gethostname(),
        model=arguments.model,
        key=secrets.token_urlsafe(32),
        control_port=int(listener.getsockname()[1]),
        port=0,
        started_at=time.time(),
    )
    folder.write(state)
    try:
        server = _load(arguments, state.key)
        state = state._replace(port=_port(server))
        folder.write(state)
    except BaseException:
        folder.clear()
        raise
    _report(ready, "ready")
    watch = Watch(listener, state.key, arguments.keep_alive, lambda: folder.read() == state)
    reason = watch.run()
    print(f"jpq: the server ends: {reason}", flush=True)
    if folder.read() == state:
        folder.clear()
    # llama.cpp's own clean-up waits for the answer that is being written, and nothing is
    # left to clean up: the system takes back memory, ports and the lock.
    os._exit(0)


def _load(arguments: argparse.Namespace, key: str) -> Any:
    """The running llama.cpp server. Holds the interpreter lock until the model is loaded."""
    if hasattr(signal, "alarm"):
        signal.alarm(LOAD_LIMIT_S)  # the default action ends a process that hangs here
    # By name, as it is big, has no types, and is missing on some platforms.
    xllamacpp = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = arguments.weights
    params.model_alias = {arguments.model}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    params.n_ctx = arguments.context
    params.n_parallel = 1
    params.cpuparams.n_threads = arguments.threads
    params.cpuparams_batch.n_threads = arguments.threads
    params.cache_ram_mib = 0  # a second copy of contexts, 8 GB of them unless told otherwise
    params.cache_idle_slots = False
    params.ui = False
    params.offline = True
    params.use_jinja = True
    row = find_weights(arguments.model)
    if row.template:
        params.chat_template = _template(row.template)
    params.sampling.temp = row.temperature
    # A small model goes round in circles: who says 24 tokens of the last 1,024 again is held
    # from going on with them (DRY sampling); what is quoted is hardly ever so long. Circles that
    # vary a little go on: this ends only those that are word for word.
    params.sampling.dry_multiplier = 0.8
    params.sampling.dry_allowed_length = 24
    params.sampling.dry_penalty_last_n = 1024
    params.verbosity = QUIET
    server = xllamacpp.Server(params)
    if hasattr(signal, "alarm"):
        signal.alarm(0)
    return server


def _template(name: str) -> str:
    data = pkgutil.get_data("jpq.provider", f"templates/{name}")  # also from a zip archive
    assert data is not None
    return data.decode()


def _port(server: Any) -> int:
    port: Optional[int] = urllib.parse.urlsplit(server.listening_address).port
    if not port:
        raise RuntimeError(f"llama.cpp listens on {server.listening_address!r}")
    return port


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
