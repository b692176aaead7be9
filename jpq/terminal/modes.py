"""While a terminal's modes are changed, what ends or stops the process puts them back first.

The list is the process's, as its controlling terminal is. Main thread, but for
``put_modes_back``, which is also for whoever ends the process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import Any, Callable, Dict, Iterator, List, Optional

from jpq.named import NamedTuple


class _Change(NamedTuple):
    put_back: Callable[[], None]
    take_again: Callable[[], None]


_changes: List[_Change] = []


@contextlib.contextmanager
def watched(put_back: Callable[[], None], take_again: Callable[[], None]) -> Iterator[None]:
    """Until the end of the ``with`` Ctrl+\\ and Ctrl+Z call ``put_back`` first; when the
    process goes on after Ctrl+Z, ``take_again`` is called. Neither may raise."""
    change = _Change(put_back, take_again)
    previous: Dict[int, Any] = {}
    _changes.append(change)
    try:
        if threading.current_thread() is threading.main_thread():
            for name, handler in (("SIGTSTP", _stop), ("SIGQUIT", _quit)):
                signum = getattr(signal, name, None)  # Windows has neither
                if signum is not None and signal.getsignal(signum) is signal.SIG_DFL:
                    previous[signum] = signal.signal(signum, handler)
        yield
    finally:
        for signum in previous:
            signal.signal(signum, signal.SIG_DFL)
        _changes.remove(change)


def put_modes_back() -> None:
    """Leave every terminal as it was found; the process is about to end."""
    for change in reversed(_changes):
        change.put_back()


def _quit(signum: int, frame: Optional[object]) -> None:
    put_modes_back()
    signal.signal(signum, signal.SIG_DFL)
    os.kill(os.getpid(), signum)


def _stop(signum: int, frame: Optional[object]) -> None:
    put_modes_back()
    signal.signal(signum, signal.SIG_DFL)
    signal.raise_signal(signum)  # on this thread, so it has stopped and gone on when it returns
    signal.signal(signum, _stop)
    for change in list(_changes):
        change.take_again()
