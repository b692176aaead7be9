"""LineWriter: the one thread that writes to stdout in ``jpq chat --format jsonl``."""

from __future__ import annotations

import queue
import threading
from typing import Any, BinaryIO, Callable, Mapping, Optional

from jpq.named import NamedTuple
from jpq.render.jsonl import to_json_line


class OutputFailed(NamedTuple):
    """Nobody reads any more; posted once, and later lines are dropped."""

    error: OSError


class LineWriter:
    """Writes lines in the order in which they are given, each at once. Any thread.

    Whoever gives one never waits for the reader of stdout.
    """

    def __init__(self, out: Optional[BinaryIO], post: Callable[[OutputFailed], None]) -> None:
        self._out = out
        self._post = post
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="jpq-write", daemon=True).start()

    def write(self, fields: Mapping[str, Any]) -> None:
        """Write a line."""
        self._queue.put(to_json_line(fields).encode("ascii"))

    def flush(self, timeout_s: float) -> bool:
        """Whether all that was given before is written, or dropped, in time."""
        reached = threading.Event()
        self._queue.put(reached)
        return reached.wait(timeout_s)

    def _run(self) -> None:
        while True:
            item = self._queue.get()
            if isinstance(item, threading.Event):
                item.set()
            elif self._out is not None:
                try:
                    self._out.write(item)
                    self._out.flush()
                except OSError as error:
                    self._out = None
                    self._post(OutputFailed(error))
