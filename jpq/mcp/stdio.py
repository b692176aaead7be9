"""StdioTransport: a server as a child process, one message a line.

Three threads, all of them only about this server: one reads its messages, one drains what it
says on stderr, and one writes, so that a server that does not read blocks nobody.
"""

from __future__ import annotations

import collections
import os
import queue
import threading
from typing import Any, Callable, Deque, List, Mapping, Optional, Sequence, Tuple, Union

from jpq.mcp.failure import McpClosed, McpError
from jpq.mcp.headers import Mark
from jpq.mcp.message_size import is_too_long, too_long
from jpq.mcp.process import GRACE, Grace, ServerProcess, server_environ
from jpq.mcp.protocol import Json, decode, encode
from jpq.mcp.transport import Log, Receiver, Transport

_READ_BYTES = 65536
_TAIL_LINES = 5
_LINE_SHOWN = 500
_STDERR_LINE_BYTES = 8192
# How long its exit status and last words are waited for once its output has ended.
_LAST_WORDS_S = 0.5
_JOIN_S = 2.0


class StdioTransport(Transport):
    """Starts ``command`` and speaks with it.

    ``environ`` is its whole environment (see ``server_environ``; that is also the default).
    ``notice`` is told, once, what the person should know: that it prints what is not for us.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        environ: Optional[Mapping[str, str]] = None,
        cwd: Optional[str] = None,
        where: str = "",
        log: Log = lambda line: None,
        notice: Optional[Callable[[str], None]] = None,
        grace: Grace = GRACE,
    ) -> None:
        self.where = where or " ".join(command)
        self._command = command
        self._environ = server_environ(os.environ, {}) if environ is None else environ
        self._cwd = cwd
        self._log = log
        self._notice = log if notice is None else notice
        self._grace = grace
        self._lock = threading.Lock()  # held while it starts; guards _process and _closing
        self._process: Optional[ServerProcess] = None
        self._receiver: Optional[Receiver] = None
        self._outgoing: queue.SimpleQueue[Optional[bytes]] = queue.SimpleQueue()
        self._threads: List[threading.Thread] = []
        self._tail: Deque[str] = collections.deque(maxlen=_TAIL_LINES)
        self._drained = threading.Event()
        self._strays = 0
        self._closing = False

    @property
    def pid(self) -> Optional[int]:
        """The server's process, once it was started."""
        return None if self._process is None else self._process.pid

    def start(self, receiver: Receiver) -> None:
        """Start the process. Raises McpUnreachable."""
        self._receiver = receiver
        with self._lock:
            if self._closing:
                raise McpClosed("The server was closed.", where=self.where)
            try:
                self._process = ServerProcess(self._command, self._environ, self._cwd, self._grace)
            except McpError as error:
                error.where = self.where
                raise
            self._begin_threads()

    def start_again(self, receiver: Receiver) -> bool:
        """See the process, whose output has ended, to its end, and start another one."""
        with self._lock:
            process, self._process = self._process, None
            threads, outgoing = self._threads, self._outgoing
        if process is not None:
            self._end(process, threads, outgoing)
        self._outgoing = queue.SimpleQueue()
        self._threads, self._strays = [], 0
        self._tail.clear()
        self._drained.clear()
        self.start(receiver)
        return True

    def exchange(self, message: Json) -> None:
        """Hand a request to the writer."""
        self._outgoing.put(encode(message) + b"\n")

    def send(self, message: Json) -> None:
        """Hand a notification or an answer to the writer."""
        self._outgoing.put(encode(message) + b"\n")

    def abandon(self, message: Json, notice: Json) -> None:
        """Tell the server; a handshake cannot be taken back."""
        if message["method"] not in ("initialize", "server/discover"):
            self.send(notice)

    def agreed(self, version: str, modern: bool) -> None:
        """Nothing: messages carry all there is to say."""

    def mirror(self, tool: str, marks: Sequence[Mark]) -> None:
        """Nothing: there are no headers."""

    def ready(self) -> None:
        """Nothing: the pipe has been open all along."""

    def forget(self, session: str) -> bool:
        """False: the process is the session."""
        return False

    def close(self) -> None:
        """Close its input, and end what does not end by itself."""
        with self._lock:
            process, self._process = self._process, None
            threads, outgoing = self._threads, self._outgoing
            self._closing = True
        if process is not None:
            self._end(process, threads, outgoing)

    def _end(
        self,
        process: ServerProcess,
        threads: List[threading.Thread],
        outgoing: queue.SimpleQueue[Optional[bytes]],
    ) -> None:
        """See ``process`` to its end; ``threads`` and ``outgoing`` are those that are its own,
        as another process may be started meanwhile."""
        outgoing.put(None)
        writer = threads[-1]
        writer.join(self._grace.close_s)
        if not writer.is_alive():
            process.close_stdin()
        process.end()  # which also wakes a writer that was stuck
        for thread in threads:
            thread.join(_JOIN_S)
        process.close_stdin()
        if not any(thread.is_alive() for thread in threads):
            process.close_outputs()

    # The threads.

    def _begin_threads(self) -> None:
        bodies: Sequence[Tuple[Callable[..., None], Tuple[Any, ...]]] = (
            (self._read, (self._process,)),
            (self._drain, (self._process,)),
            (self._write, (self._process, self._outgoing)),
        )
        for body, args in bodies:
            name = f"jpq-mcp-{body.__name__.strip('_')}"
            thread = threading.Thread(target=body, args=args, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def _write(self, process: ServerProcess, outgoing: queue.SimpleQueue[Optional[bytes]]) -> None:
        while True:
            data = outgoing.get()
            if data is None:
                return
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(process.stdin, view) :]
            except OSError:
                return  # it has ended or closed its input, which the reader tells

    def _read(self, process: ServerProcess) -> None:
        receiver = self._receiver
        assert receiver is not None
        try:
            has_no_end = self._read_lines(process, receiver)
        except BaseException as error:  # a thread's top: who waits is told
            receiver.lost(McpClosed(f"Reading failed: {error}.", where=self.where))
            return
        if has_no_end:
            receiver.lost(too_long(self.where))
            return
        self._drained.wait(_LAST_WORDS_S)
        receiver.lost(self._ended(process))

    def _read_lines(self, process: ServerProcess, receiver: Receiver) -> bool:
        """Hand on its messages until its output ends; True if one was too long."""
        held: List[bytes] = []
        size = 0
        while True:
            data = os.read(process.stdout, _READ_BYTES)
            if not data:
                self._line(b"".join(held), receiver)
                return False
            *lines, rest = data.split(b"\n")
            for line in lines:
                self._line(b"".join(held) + line, receiver)
                held, size = [], 0
            if rest:
                held.append(rest)
                size += len(rest)
            if is_too_long(size):
                return True

    def _line(self, line: bytes, receiver: Receiver) -> None:
        if not line.strip():
            return
        try:
            messages = decode(line)
        except ValueError:
            self._stray(line)
            return
        for message in messages:
            receiver.receive(message)

    def _stray(self, line: bytes) -> None:
        text = _shown(line)
        self._log(f"stdout, not a message: {text}")
        self._strays += 1
        if self._strays == 1:
            self._notice(f"{self.where} prints what is no message, which is passed over: {text}")

    def _drain(self, process: ServerProcess) -> None:
        held = b""
        try:
            while True:
                data = os.read(process.stderr, _READ_BYTES)
                if not data:
                    break
                *lines, held = (held + data).split(b"\n")
                for line in lines:
                    self._said(line)
                if len(held) > _STDERR_LINE_BYTES:
                    self._said(held)
                    held = b""
        except OSError:
            pass  # closed under us
        self._said(held)
        self._drained.set()

    def _said(self, line: Union[bytes, bytearray]) -> None:
        text = _shown(line)
        if text:
            self._tail.append(text)
            self._log(f"stderr: {text}")

    def _ended(self, process: ServerProcess) -> McpClosed:
        status = None if self._closing else process.status(_LAST_WORDS_S)
        if status is None:
            how = "closed its output"
        elif status < 0:
            how = f"was ended by signal {-status}"
        else:
            how = f"ended with status {status}"
        last = list(self._tail)
        said = f" It last said: {' / '.join(last)}" if last else ""
        return McpClosed(f"The server {how}.{said}", where=self.where)


def _shown(line: Union[bytes, bytearray]) -> str:
    """A line of a server's for people: decoded, on one line, not too long."""
    text = " ".join(bytes(line).decode("utf-8", "replace").split())
    text = "".join(char if char.isprintable() else "\ufffd" for char in text)
    return text if len(text) <= _LINE_SHOWN else text[: _LINE_SHOWN - 3] + "..."
