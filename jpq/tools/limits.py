"""What keeps a tool's output and a model's insistence within bounds."""

from __future__ import annotations

import os
import threading
from typing import Any, Mapping, Optional, Sequence, Tuple

from jpq.conversation.event import ToolCall

# The same call with the same arguments may be made so often in a turn before it is asked about.
IDENTICAL_CALLS = 3


def capped(
    text: str, max_bytes: int, full_output: Optional[str] = None
) -> Tuple[str, Optional[str]]:
    """``text`` in ``max_bytes`` of UTF-8, its middle left out if it is longer, and the file
    with the whole of it: ``full_output``, which is then written, or None.

    A file that cannot be written is no reason to lose what does fit.
    """
    data = text.encode("utf-8", "replace")
    if len(data) <= max_bytes:
        return text, None
    head = _cut(data[: (max_bytes + 1) // 2])
    tail = _cut(data[len(data) - max_bytes // 2 :])
    left_out = len(data) - len(head) - len(tail)
    shown = f"{head.decode()}\n[... {left_out} bytes left out ...]\n{tail.decode()}"
    return shown, _written(data, full_output)


def identical_before(call: ToolCall, earlier: Sequence[ToolCall]) -> int:
    """How many of the ``earlier`` calls are the same as ``call``."""
    return sum(1 for other in earlier if other.name == call.name and _same(other, call))


def _same(one: ToolCall, other: ToolCall) -> bool:
    return one.raw == other.raw and _typed(one.arguments) == _typed(other.arguments)


def _typed(value: Any) -> Any:
    """``value`` so that 1, 1.0 and true are different."""
    if isinstance(value, Mapping):
        return {key: _typed(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_typed(inner) for inner in value]
    return type(value), value


def _cut(data: bytes) -> bytes:
    """``data`` without the parts of characters at its ends."""
    return data.decode("utf-8", "ignore").encode()


def _written(data: bytes, path: Optional[str]) -> Optional[str]:
    if path is None:
        return None
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(data)
    except OSError:
        return None
    return path


class OutputSoFar:
    """The last of what a running tool wrote, for when it never gets to return it. Any thread."""

    def __init__(self, max_characters: int) -> None:
        self._limit = max_characters
        self._lock = threading.Lock()  # a tool reads two pipes on two threads
        self._text = ""

    def add(self, text: str) -> None:
        """More output."""
        with self._lock:
            self._text += text
            if len(self._text) > 2 * self._limit:
                self._text = self._text[-self._limit :]

    def text(self) -> str:
        """What there is, cut at its front."""
        return self._text[-self._limit :]
