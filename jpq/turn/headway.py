"""Headway: whether the attempts of a cycle still bring anything."""

from __future__ import annotations

from typing import Sequence

from jpq.errors import ErrorKind
from jpq.events.parts import Part, StreamEvent

# So many attempts in a row that go on with a part of an answer and add nothing are enough.
_MAX_BARREN = 2


class Headway:
    """What the attempts of one cycle brought. Main thread."""

    def __init__(self) -> None:
        self._has_part = False  # something was shown by an earlier attempt
        self._adds = False  # by the running one
        self._barren = 0

    def attempt_begins(self) -> None:
        """What comes now is another attempt's."""
        self._adds = False

    def received(self, events: Sequence[StreamEvent]) -> None:
        """Look for a piece of an answer that is not blank."""
        self._adds = self._adds or any(
            isinstance(event, Part) and bool(getattr(event.payload, "text", True))
            for event in events
        )

    def failed(self, error: BaseException) -> None:
        """The attempt failed; one that the server did not take is no sign of anything."""
        if self._adds:
            self._has_part, self._barren = True, 0
        elif self._has_part and getattr(error, "kind", None) in (ErrorKind.CUT, ErrorKind.STALLED):
            self._barren += 1

    @property
    def is_over(self) -> bool:
        """Whether further attempts would bring nothing."""
        return self._barren >= _MAX_BARREN
