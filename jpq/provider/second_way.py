"""SecondWay: an exchange that is made once more, in another way, where it is refused."""

from __future__ import annotations

import threading
from typing import Callable, Iterator

from jpq.errors import StreamError
from jpq.events.parts import StreamEvent
from jpq.provider.base import Exchange


class SecondWay:
    """``first``, and what ``instead`` makes where ``is_refusal`` says that nobody took that.

    An answer that has begun is no refusal, whatever ends it. ``helped`` is called once the
    second way brings an answer.
    """

    def __init__(
        self,
        first: Exchange,
        instead: Callable[[], Exchange],
        is_refusal: Callable[[StreamError], bool],
        helped: Callable[[], None],
    ) -> None:
        self._current = first
        self._instead = instead
        self._is_refusal = is_refusal
        self._helped = helped
        self._lock = threading.Lock()  # guards _current and _aborted
        self._aborted = False

    @property
    def ending(self) -> bool:
        return self._current.ending

    def events(self) -> Iterator[StreamEvent]:
        begun = False
        try:
            for event in self._current.events():
                begun = True
                yield event
            return
        except StreamError as error:
            if begun or not self._is_refusal(error) or not self._turn():
                raise
        for event in self._current.events():
            if not begun:
                self._helped()
            begun = True
            yield event

    def abort(self) -> None:
        with self._lock:
            self._aborted = True
            current = self._current
        current.abort()

    def _turn(self) -> bool:
        """Take the second way, unless it is not wanted any more; whether it was taken."""
        second = self._instead()
        with self._lock:
            if not self._aborted:
                self._current = second
            return not self._aborted
