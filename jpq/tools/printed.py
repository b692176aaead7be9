"""Keeps what Python tools print out of jpq's own stdout, which carries the answer only."""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import Any, Callable, Dict, Iterable, Iterator, Optional

_lock = threading.Lock()  # guards the coming and going of the router
_users = 0
_before: Any = None


class _Router:
    """Stands in for sys.stdout: each thread's text goes to whoever wants that thread's."""

    def __init__(self, otherwise: Any) -> None:
        self.takers: Dict[int, Callable[[str], None]] = {}
        self._otherwise = otherwise

    def write(self, text: str) -> int:
        take: Optional[Callable[[str], None]] = self.takers.get(threading.get_ident())
        if take is None:
            return int(self._otherwise.write(text))
        take(text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        if threading.get_ident() not in self.takers:
            self._otherwise.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._otherwise, name)


@contextlib.contextmanager
def printing_to(take: Callable[[str], None]) -> Iterator[None]:
    """What this thread prints goes to ``take``, while others print as before."""
    global _users, _before
    thread = threading.get_ident()
    with _lock:
        if _users == 0 or not isinstance(sys.stdout, _Router):
            _before = sys.stdout
            sys.stdout = _Router(_before)
        router = sys.stdout
        _users += 1
        router.takers[thread] = take
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            del router.takers[thread]
            if _users == 0 and sys.stdout is router:
                sys.stdout = _before
