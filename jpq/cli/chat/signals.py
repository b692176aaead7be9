"""PromptSignals: what Ctrl+C means while no turn runs."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator, Optional

from jpq.interrupt.escalation import END
from jpq.interrupt.signals import Interrupt, SignalRouter, is_key


class Pressed(BaseException):
    """Ctrl+C was pressed at the prompt, or while a command works. ``typed`` is what stood on
    the line, None where that cannot be known."""

    def __init__(self, typed: Optional[str]) -> None:
        super().__init__(typed)
        self.typed = typed


class PromptSignals:
    """The scope of a chat, below those of its turns. Main thread.

    A press at the prompt is no step towards the end of the process. A signal that asks for
    the end is left to the router, which raises it.
    """

    def __init__(self, router: SignalRouter, typed: Callable[[], Optional[str]]) -> None:
        self._router = router
        self._typed = typed
        self._listening = False

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Until the end of the ``with`` a press raises Pressed, once."""
        self._listening = True
        try:
            yield
        finally:
            self._listening = False

    def notify(self, interrupt: Interrupt) -> Any:
        """For the router; called inside the signal handler."""
        if not is_key(interrupt.signum) or interrupt.press >= END:
            return False
        self._router.escalation.reset()
        if self._listening:
            self._listening = False
            raise Pressed(self._typed())
        return None  # between a turn and the prompt there is nothing to clear
