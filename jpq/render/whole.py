"""WholeAnswer: a view that shows the answer once it is there, or what was asked for of it."""

from __future__ import annotations

from typing import Callable, List, Optional

from jpq.events.turn import Result, TextChunk, TurnEvent
from jpq.named import NamedTuple
from jpq.render.printer import Failure
from jpq.render.worker import View


class Shown(NamedTuple):
    """What is shown of an answer: what ``choose`` makes of the result, when all is there.

    With ``json`` a terminal that draws shows it as it comes all the same, as a block of JSON.
    """

    choose: Callable[[Result], str]
    json: bool = False


class WholeAnswer:
    """Passes everything on to ``view`` but the text, which comes with the result.

    ``choose`` is what is shown for a result. Owned by the renderer thread.
    """

    def __init__(self, view: View, choose: Callable[[Result], str]) -> None:
        self._view = view
        self._choose = choose

    def show(self, event: TurnEvent) -> None:
        """Draw ``event``, but for text that is not the last word."""
        if type(event) is TextChunk:
            return
        if type(event) is Result:
            self._view.show(TextChunk(self._choose(event)))
        self._view.show(event)

    def tick(self) -> Optional[float]:
        """Move what moves."""
        return self._view.tick()

    def flush(self) -> List[Failure]:
        """Write what was drawn."""
        return self._view.flush()

    def pause(self) -> None:
        """Leave the terminal to another owner."""
        self._view.pause()

    def close(self) -> None:
        """End what is open."""
        self._view.close()
