"""Display: what a turn needs of whoever shows it. Apart, as only type checkers read it."""

from __future__ import annotations

from typing import Callable, ContextManager, Protocol

from jpq.events.turn import TurnEvent


class Display(Protocol):
    """Shows the events of a turn: a Renderer, or a program that takes them itself.

    ``show`` may be called from any thread; the rest is the turn's.
    """

    def show(self, event: TurnEvent) -> None:
        """Take ``event``; never blocks."""

    def flush(self, timeout_s: float) -> bool:
        """Whether everything taken before is shown in time."""

    def lease(self) -> ContextManager[Callable[[], bool]]:
        """Rest while another one owns the terminal, behind all that was taken; the value says
        whether nothing is written any more, which may take a while."""

    def lease_now(self) -> ContextManager[Callable[[], bool]]:
        """Rest while another one owns the terminal, at once."""
