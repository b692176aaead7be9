"""Interruption: from a press of Ctrl+C to what the turn does next."""

from __future__ import annotations

from typing import Any, List, Optional, Protocol, Tuple

from jpq.interrupt.menus import Choice, Chosen, Place, Running, Situation
from jpq.interrupt.signals import Interrupt
from jpq.named import NamedTuple
from jpq.turn.call_phase import CallPhase
from jpq.turn.coordinator import Phase, Trigger, TurnCoordinator
from jpq.turn.cycle import ResilientCycle
from jpq.turn.inbox import Inbox

REPLY = "Your reply (Ctrl+D: back):"
RESPOND = "Tell the model (Enter: nothing, Ctrl+D: back):"


class Menus(Protocol):
    """Who asks the person. See ``jpq.interrupt.handler``."""

    def choose(self, interrupt: Interrupt, situation: Situation) -> Chosen: ...

    def ask(self, question: str, situation: Situation) -> Tuple[Optional[str], Any]: ...

    def confirm(self, question: str, situation: Situation) -> Tuple[Optional[bool], Any]: ...


class Decision(NamedTuple):
    """What happens to the turn.

    ``words`` are what the person typed, ``calls`` the ids of those to restart, ``hurry`` asks
    for the next attempt now. ``item`` is what ends the turn where nobody chose to.
    """

    trigger: str
    words: str = ""
    calls: Tuple[str, ...] = ()
    hurry: bool = False
    item: Any = None


_TRIGGERS = {
    Choice.CONTINUE: Trigger.CONTINUE,
    Choice.NOW: Trigger.CONTINUE,
    Choice.STOP: Trigger.STOP,
    Choice.ABORT: Trigger.ABORT,
    Choice.RESTART: Trigger.RESTART,
    Choice.LEAVE: Trigger.STOP,
}


class Interruption:
    """Opens the menu above a phase until what is chosen leads away from it. Main thread."""

    def __init__(
        self,
        coordinator: TurnCoordinator,
        menus: Menus,
        cycle: ResilientCycle,
        calls: CallPhase,
        inbox: Inbox,
    ) -> None:
        self._coordinator = coordinator
        self._menus = menus
        self._cycle = cycle
        self._calls = calls
        self._inbox = inbox

    def decide(self, interrupt: Interrupt) -> Decision:
        """What is to be done; the coordinator is left INTERRUPTED, or REPLYING for a reply."""
        situation = self._situation()
        self._coordinator.handle(Trigger.INTERRUPT)
        while True:
            chosen = self._menus.choose(interrupt, situation)
            decision = self._follow_up(chosen, situation)
            if decision is not None:
                return decision
            if chosen.fixed:  # there is no menu to go back to
                return Decision(Trigger.CONTINUE)

    def _situation(self) -> Situation:
        if self._coordinator.phase is Phase.EXECUTING:
            return Situation(Place.TOOLS, self._calls.behind, self._running)
        if self._coordinator.phase is Phase.CONTINUING:
            return Situation(Place.BETWEEN, self._inbox.take_ready)
        place = Place.BACKOFF if self._cycle.waiting else Place.STREAMING
        return Situation(place, self._cycle.behind)

    def _running(self) -> List[Running]:
        return [Running(*each) for each in self._calls.running()]

    def _follow_up(self, chosen: Chosen, situation: Situation) -> Optional[Decision]:
        if chosen.choice is Choice.REPLY:
            return self._reply(situation)
        if chosen.choice is Choice.RESPOND:
            words, item = self._menus.ask(RESPOND, situation)
            if item is not None:
                return Decision(Trigger.STOP, item=item)
            return None if words is None else Decision(Trigger.RESPOND, words=words.strip())
        return Decision(
            _TRIGGERS[chosen.choice],
            calls=chosen.calls,
            hurry=chosen.choice is Choice.NOW,
            item=chosen.item,
        )

    def _reply(self, situation: Situation) -> Optional[Decision]:
        self._coordinator.handle(Trigger.REPLY)
        words: Optional[str] = ""
        while words is not None and not words.strip():
            words, item = self._menus.ask(REPLY, situation)
            if item is not None:
                self._coordinator.handle(Trigger.INTERRUPT)
                return Decision(Trigger.STOP, item=item)
        if words is None:
            self._coordinator.handle(Trigger.INTERRUPT)
            return None
        return Decision(Trigger.REPLIED, words=words)
