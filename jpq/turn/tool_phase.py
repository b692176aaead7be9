"""ToolPhase: the part of a turn in which calls run and the person is asked about them."""

from __future__ import annotations

from collections import deque
from typing import Any, Callable, Deque, Dict, List, Optional, Sequence, Tuple

from jpq.conversation.event import Draft, ToolCall
from jpq.errors import DeniedError, RunTimeoutError
from jpq.events.turn import ToolResult, TurnEvent
from jpq.interrupt.prompt import PromptLeft
from jpq.tools.coordinator import ToolCoordinator
from jpq.tools.definition import ToolAnswered
from jpq.turn.inbox import Inbox


class ToolPhase:
    """Drives the coordinator from the inbox. Main thread.

    ``settle(answers, drafts)`` is called for what has come of it, before a result is shown;
    results are shown in request order, or not ``in_order`` but as they come. ``deadline`` on
    the inbox's clock ends the run.
    """

    def __init__(
        self,
        tools: ToolCoordinator,
        inbox: Inbox,
        settle: Callable[[List[ToolAnswered], List[Draft]], None],
        show: Callable[[TurnEvent], None],
        deadline: Optional[float] = None,
        in_order: bool = True,
    ) -> None:
        self._tools = tools
        self._inbox = inbox
        self._settle = settle
        self._show = show
        self._deadline = deadline
        self._in_order = in_order
        self._held: Deque[Any] = deque()  # what the turn has to deal with
        self._order: Deque[ToolCall] = deque()
        self._ready: Dict[str, ToolAnswered] = {}

    def start(self, calls: Sequence[ToolCall], earlier: Sequence[ToolCall]) -> None:
        """Begin ``calls``; ``earlier`` are those before them in the turn."""
        self._order, self._ready = deque(calls), {}
        self._tools.start(calls, earlier)
        self._collect()

    def attend(self) -> Any:
        """Go on until something happens: an item that is not the tools' (a signal, a failed
        display, a RunTimeoutError), or None for one that was."""
        if not self._held and self._tools.prompt_due:
            try:
                self._tools.prompt(self._meanwhile)
            except PromptLeft:
                pass  # what ended it is held
            self._collect()
        elif not self._held:
            self._wait(self._deadline)
            self._look_at_time()
        return self._held.popleft() if self._held else None

    @property
    def denied(self) -> Optional[DeniedError]:
        """Why no further request may be made, if so."""
        return self._tools.denied

    def behind(self) -> Any:
        """Go on with what is ready while a menu is open: an item as from ``attend``, or None."""
        self._take_ready()
        self._look_at_time()
        return self._held.popleft() if self._held else None

    def hand_back(self) -> None:
        """The phase is left: what is held is for whoever comes next."""
        while self._held:
            self._inbox.post(self._held.popleft())

    def running(self) -> List[Tuple[str, str]]:
        """The calls that run, and their titles."""
        return self._tools.running()

    def restart(self, ids: Sequence[str]) -> None:
        """Stop these calls, and run them again; the others are left alone."""
        self._tools.restart(ids)

    def close(self) -> None:
        """Stop everything, as the turn is over or broken."""
        self._tools.close()

    def cancel(self) -> None:
        """Give up what runs, and wait for it as long as it may take to stop."""
        self._tools.cancel()
        deadline = self._inbox.clock() + self._tools.stops_within_s
        self._collect()
        while not self._tools.idle and self._inbox.clock() < deadline:
            self._wait(deadline)
        self.hand_back()

    def _wait(self, deadline: Optional[float]) -> None:
        self._take(self._inbox.take(deadline))
        self._take_ready()

    def _meanwhile(self) -> None:
        self._take_ready()
        self._look_at_time()
        if self._held:
            raise PromptLeft

    def _look_at_time(self) -> None:
        if self._deadline is not None and self._inbox.clock() >= self._deadline:
            self._held.append(
                RunTimeoutError(
                    "The run took longer than --timeout allows.",
                    hint="What arrived is saved. Raise --timeout, and go on with: jpq --retry",
                )
            )

    def _take_ready(self) -> None:
        item = self._inbox.take_ready()
        while item is not None:
            self._take(item)
            item = self._inbox.take_ready()
        self._collect()

    def _take(self, item: Any) -> None:
        if item is not None and not self._tools.take(item):
            self._held.append(item)

    def _collect(self) -> None:
        answers, drafts = self._tools.take_answers(), self._tools.take_drafts()
        if answers or drafts:
            self._settle(answers, drafts)
        self._ready.update({answer.id: answer for answer in answers})
        if not self._in_order:
            come = [answer.id for answer in answers]
            self._order = deque(sorted(self._order, key=lambda call: call.id not in come))
        while self._order and self._order[0].id in self._ready:
            call = self._order.popleft()
            answer = self._ready.pop(call.id)
            self._show(
                ToolResult(call.id, call.name, answer.content, answer.is_error, answer.full_output)
            )
