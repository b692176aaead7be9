"""TalkView: the answers of a chat, each below the name of who gives it."""

from __future__ import annotations

from jpq.events.turn import ConversationOpened, Error, StreamStart, TurnEvent
from jpq.render.aside import Aside
from jpq.render.chat import ChatView, Formatter
from jpq.render.printer import Printer
from jpq.render.theme import BOLD, GREEN


class TalkView(ChatView):
    """A ChatView of many turns. Owned by the renderer thread.

    With ``named``, a terminal that shows the answers gets the model's name above each. Where
    answers go to a file or a pipe nothing but them is there.
    """

    def __init__(
        self, printer: Printer, aside: Aside, formatter: Formatter, is_terminal: bool, named: bool
    ) -> None:
        super().__init__(printer, aside, formatter, is_terminal)
        self._named = named and is_terminal and printer.shared
        self._speaker = ""  # whose name is still to be shown

    def show(self, event: TurnEvent) -> None:
        """Draw one event."""
        if type(event) is ConversationOpened:
            self._speaker = event.model
            self._cycle_over = True  # also where the one before was cut
            if self._named:
                self._any_text = False  # the name is between, and no blank line
        elif type(event) is Error:
            self._speaker = ""  # nobody answers
        super().show(event)

    def _show_aside(self, event: TurnEvent) -> None:
        super()._show_aside(event)
        if type(event) is StreamStart and self._named and self._speaker:
            self._aside.name(f"{self._speaker}:", BOLD + GREEN)
            self._speaker = ""
