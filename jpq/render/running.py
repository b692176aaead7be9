"""RunningTools: what the calls that run are doing, a line each, without leaving a trace."""

from __future__ import annotations

from typing import Callable, Dict, List, Optional

from jpq.render.lines import one_line
from jpq.render.printer import Sink
from jpq.render.status import ASCII_FRAMES, FRAME_S, UNICODE_FRAMES, Clock, cut

# A call that takes less needs no line.
FIRST_LINE_S = 3.0
_MOST_LINES = 8
_TITLE_LIMIT = 100
_OUTPUT_LIMIT = 200


class _Running:
    """One call that runs."""

    def __init__(self, title: str, since: float) -> None:
        self.title = title
        self.since = since
        self.output = ""
        self.told = False  # where no line can be rewritten, it is told of once


class RunningTools:
    """Lines of the calls that run for more than a moment. Owned by the renderer thread.

    Where lines can be rewritten (``rewrite``) they move, and vanish when something else is
    written; elsewhere each call is told of once, in words, with ``say``. Unless ``enabled``
    nothing is told.
    """

    def __init__(
        self,
        sink: Sink,
        width: Callable[[], int],
        say: Callable[[str], None],
        *,
        enabled: bool,
        rewrite: bool,
        unicode: bool,
        clock: Clock,
    ) -> None:
        self._sink = sink
        self._width = width
        self._say = say
        self._enabled = enabled
        self._rewrite = rewrite
        self._frames = UNICODE_FRAMES if unicode else ASCII_FRAMES
        self._clock = clock
        self._calls: Dict[str, _Running] = {}
        self._frame = 0
        self._due = 0.0

    def start(self, id: str, title: str) -> None:
        """The call ``id`` runs from now on."""
        if self._enabled:
            self._calls[id] = _Running(one_line(title, _TITLE_LIMIT), self._clock())

    def progress(self, id: str, text: str) -> None:
        """It wrote a line."""
        if id in self._calls:
            self._calls[id].output = one_line(text, _OUTPUT_LIMIT)

    def end(self, id: str) -> None:
        """It does not run any more."""
        if self._calls.pop(id, None) is not None and self._rewrite:
            self._sink.clear()
            self._due = 0.0

    def tick(self) -> Optional[float]:
        """Draw what is due; seconds until more is, None when nothing runs."""
        if not self._calls:
            return None
        now = self._clock()
        waits = [call.since + FIRST_LINE_S - now for call in self._calls.values()]
        if not self._rewrite:
            for call in self._calls.values():
                self._tell_once(call, now)
            return min((wait for wait in waits if wait > 0), default=None)
        shown = [call for call in self._calls.values() if now - call.since >= FIRST_LINE_S]
        if not shown:
            return min(waits, default=None)
        if now >= self._due:
            self._due = now + FRAME_S
            self._frame = (self._frame + 1) % len(self._frames)
            self._sink.draw_transient("\n".join(self._lines(shown, now)))
        return self._due - now

    def _tell_once(self, call: _Running, now: float) -> None:
        if not call.told and now - call.since >= FIRST_LINE_S:
            call.told = True
            self._say(f"{call.title} is still running after {now - call.since:.0f} s")

    def _lines(self, calls: List[_Running], now: float) -> List[str]:
        room = max(0, self._width() - 1)
        frame = self._frames[self._frame]
        lines = [
            cut(f"{frame} {call.title} {now - call.since:.0f}s  {call.output}".rstrip(), room)
            for call in calls[:_MOST_LINES]
        ]
        more = len(calls) - _MOST_LINES
        return lines + ([cut(f"  and {more} more", room)] if more > 0 else [])
