"""Allowance: what a turn may take, in tool round trips and money, and who gives it more."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Callable, Optional

from jpq.events.parts import PAUSED
from jpq.events.turn import Notice, TurnEvent
from jpq.events.usage import Usage
from jpq.named import NamedTuple
from jpq.turn import ending
from jpq.turn.coordinator import Trigger
from jpq.turn.inbox import Inbox
from jpq.turn.tally import Tally

if TYPE_CHECKING:
    from jpq.turn.demand import Demand
    from jpq.turn.interruption import Menus


def _no_price(usage: Usage, model: Optional[str]) -> Optional[float]:
    return None


class TurnLimits(NamedTuple):
    """``max_cycles`` tool round trips; ``max_cost`` in USD, or None for any.

    ``price`` is what a request with this usage cost, by this model; None is not known.
    """

    max_cycles: int
    max_cost: Optional[float] = None
    price: Callable[[Usage, Optional[str]], Optional[float]] = _no_price


class Allowance:
    """Counts the cycles of a turn against its limits. Main thread.

    ``retries`` says whether an empty answer may be asked for again.
    """

    def __init__(
        self,
        limits: TurnLimits,
        demand: Optional[Demand],
        retries: bool,
        menus: Menus,
        inbox: Inbox,
        show: Callable[[TurnEvent], None],
    ) -> None:
        self._limits = limits
        self._demand = demand
        self._retries = retries
        self._menus = menus
        self._inbox = inbox
        self._show = show
        self._told_no_price = False
        self.renew()

    def renew(self) -> None:
        """Begin anew, for a turn that follows on this one."""
        self._cycles = 0
        self._allowed = self._limits.max_cycles

    def count(self, cycles: int = 1) -> None:
        """A cycle is over; -1 takes one back that was no round trip."""
        self._cycles += cycles

    @property
    def tools(self) -> bool:
        """Whether the model may call tools in the next request."""
        return self._cycles < self._allowed

    def spent(self, tally: Tally) -> Optional[ending.Ending]:
        """The ending of a turn that may not pay for another request; None goes on.

        What is not known is said once, and stops nothing.
        """
        limit = self._limits.max_cost
        if limit is None:
            return None
        costs = [self._limits.price(usage, tally.served) for usage in tally.usages]
        if None in costs and not self._told_no_price:
            self._told_no_price = True
            self._show(Notice("The price of this is not known, so --max-cost counts without it."))
        cost = sum(each for each in costs if each is not None)
        return ending.of_cost_limit(limit, cost) if cost >= limit else None

    def sequel(
        self, reached: ending.Ending, stop_reason: Optional[str], tally: Tally
    ) -> Optional[str]:
        """Why another request is sent after an answer without calls, which ended as ``reached``:
        it was a pause, or the answer is empty, failed before it said anything, or is not as
        demanded. None: no other is sent."""
        if self.spent(tally):
            return None
        if stop_reason == PAUSED and not self.over:
            return Trigger.PAUSED
        trigger = None
        failed_silently = reached.status == ending.ERROR and not tally.last_text.strip()
        is_empty = reached.status == ending.EMPTY or failed_silently
        if is_empty and self._retries and not tally.asked_again:
            tally.asked_again = True
            trigger = Trigger.EMPTY
        elif self._demand is not None and self._demand.asks_again():
            trigger = Trigger.UNFIT
        if trigger is not None:
            self.count(-1)  # it was no tool round trip
        return trigger

    def exceeded(self, tally: Tally) -> Optional[ending.Ending]:
        """The ending of a turn that wants more than it may have, with the results of a round
        trip in hand; None goes on. May ask the person."""
        over = self.spent(tally)
        if over is None and self._cycles > self._allowed:
            over = ending.of_cycle_limit(self._allowed)
        if over is None and self._cycles == self._allowed:
            over = self._ask()
        return over

    @property
    def over(self) -> bool:
        """Whether there were more cycles than allowed."""
        return self._cycles > self._allowed

    def _ask(self) -> Optional[ending.Ending]:
        more = self._limits.max_cycles
        question = f"{self._cycles} tool round trips so far. Go on for {more} more? (y, n)"
        menus = importlib.import_module("jpq.interrupt.menus")  # few turns come this far
        situation = menus.Situation(menus.Place.BETWEEN, self._inbox.take_ready)
        answer, item = self._menus.confirm(question, situation)
        if item is not None:
            self._inbox.post(item)  # whoever takes what comes between two phases takes it
        if answer is None:
            return None  # nobody was asked: the model may still answer, without tools
        if not answer:
            return ending.of_cycle_limit(self._allowed)
        self._allowed += more
        return None
