"""Menus that choose what a test says."""

from __future__ import annotations

from typing import Any, Callable, List, Optional, Tuple

from jpq.interrupt.menus import Choice, Chosen, Situation
from jpq.interrupt.signals import Interrupt


class Scripted:
    """Makes one choice after the other, and ends by the signal when there is none left.

    ``words`` are the lines typed, None for Ctrl+D; ``confirms`` the answers to yes-or-no
    questions, None where nobody is asked. ``before`` is called while a menu is open.
    """

    def __init__(
        self,
        *choices: Choice,
        words: Tuple[Optional[str], ...] = (),
        confirms: Tuple[Optional[bool], ...] = (),
        before: Callable[[Situation], Any] = lambda situation: None,
    ) -> None:
        self.opened: List[Situation] = []
        self._choices = list(choices)
        self._words = list(words)
        self._confirms = list(confirms)
        self.confirmed: List[str] = []
        self._before = before

    def choose(self, interrupt: Interrupt, situation: Situation) -> Chosen:
        self.opened.append(situation)
        self._before(situation)
        if not self._choices:
            return Chosen(Choice.LEAVE, interrupt)
        choice = self._choices.pop(0)
        running = situation.running() if choice is Choice.RESTART else ()
        return Chosen(choice, calls=tuple(call.id for call in running))

    def ask(self, question: str, situation: Situation) -> Tuple[Optional[str], Any]:
        return self._words.pop(0), None

    def confirm(self, question: str, situation: Situation) -> Tuple[Optional[bool], Any]:
        self.confirmed.append(question)
        return (self._confirms.pop(0) if self._confirms else None), None
