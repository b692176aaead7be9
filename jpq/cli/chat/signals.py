"""PromptSignals: what Ctrl+C means while no turn runs."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator, Optional

from jpq.interrupt.escalation import END
from jpq.interrupt.signals import Interrupt, SignalRouter, is_key
from jpq.terminal.line_editor import LineEditor


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

    def __init__(self, router: SignalRouter, editor: Optional[LineEditor]) -> None:
        self._router = router
        self._editor = editor
        self._armed = False  # what clears up behind a press is not interrupted by another
        self._in_command = False
        self._raised: Optional[Interrupt] = None  # the last press that raised Pressed
        self._early: Optional[Interrupt] = None  # came behind the prompt and before the turn

    @contextlib.contextmanager
    def prompt(self) -> Iterator[None]:
        """Until the end of the ``with`` a press raises Pressed, while a line is waited for."""
        self._router.escalation.reset()
        self._armed = True
        try:
            yield
        finally:
            self._armed = False
            self._early = None

    @contextlib.contextmanager
    def command(self) -> Iterator[None]:
        """Until the end of the ``with`` a press raises Pressed anywhere."""
        self._armed = self._in_command = True
        try:
            yield
        finally:
            self._armed = self._in_command = False

    def take_early(self) -> Optional[Interrupt]:
        """A press that came since the message was typed: the turn deals with it."""
        early, self._early = self._early, None
        return early

    def notify(self, interrupt: Interrupt) -> Any:
        """For the router; called inside the signal handler."""
        if not is_key(interrupt.signum) or interrupt.press >= END:
            return False
        waits = self._editor is not None and self._editor.waits
        # One that comes again was raised before and then dropped.
        armed = self._armed or interrupt is self._raised
        if armed and (waits or self._in_command):
            self._armed, self._raised = False, interrupt
            self._router.escalation.reset()
            raise Pressed(self._editor.typed() if waits and self._editor else None)
        self._early = interrupt
        return None
