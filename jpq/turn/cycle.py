"""ResilientCycle: one request and its streamed answer, however many attempts that takes."""

from __future__ import annotations

import importlib
import threading
import time
from typing import Any, Callable, List, Optional, Protocol

from jpq.errors import ErrorKind, RunTimeoutError, StreamError
from jpq.events.parts import INTERRUPTED, Finished, KeepAlive, StreamEvent
from jpq.named import NamedTuple
from jpq.provider.base import Exchange
from jpq.turn.headway import Headway
from jpq.turn.inbox import Inbox
from jpq.turn.reading import Arrived, ReaderEnded, cut, read, stalled

# A reader that is still connecting cannot be woken; it is left behind as a daemon and its
# later items carry an attempt number that nobody waits for.
_JOIN_S = 0.5
# Events that follow each other faster than this are taken together after as long: a burst
# then wakes this thread and the renderer hundreds of times less (measured on 50,000 events:
# a third less CPU), and a person cannot see the difference. Less than half of
# the 10 ms between chunks at 100 a second, so that those are never held.
_BURST_S = 0.004
# Once the provider has said how the answer ends, only a late usage report is waited for.
_ENDING_GRACE_S = 5.0


class CycleTimes(NamedTuple):
    """Seconds without a stream event before an attempt counts as stalled, and the clock
    reading at which the whole run ends (None: never)."""

    idle_timeout_s: float
    run_deadline: Optional[float]


class RetryLimits(NamedTuple):
    """The ``request`` section of the configuration that concerns retries; times in seconds."""

    max_attempts: int
    backoff_base_s: float
    backoff_cap_s: float
    retry_after_max_s: float
    total_retry_s: float


class Audience(Protocol):
    """Who a cycle reports to: the turn loop. All calls come from the main thread."""

    def received(self, events: List[StreamEvent]) -> None:
        """Events of the running attempt, in order."""

    def retrying(self, retry: Any) -> None:
        """The attempt failed; ``retry`` (jpq.turn.retry.Retry) says what comes."""

    def disturbed(self, item: Any) -> bool:
        """Something else came in: a signal, a failed display. True to go on.

        A menu may be opened meanwhile, which calls ``behind``.
        """

    def resuming(self, error: StreamError) -> None:
        """The attempt failed behind a menu, and the person chose to go on."""


class CycleLeft(Exception):
    """The audience did not want to go on."""


class _DiedBehindMenu(Exception):
    """The attempt failed while a menu was open, in a way that another one may mend."""

    def __init__(self, error: StreamError) -> None:
        super().__init__(error)
        self.error = error


class ResilientCycle:
    """Runs attempts on reader threads and pumps what they post. Main thread.

    One object serves all cycles of a turn, because the time spent on retries is counted
    per turn. An attempt that fails in a way that another one may mend is made again.
    """

    def __init__(
        self,
        inbox: Inbox,
        audience: Audience,
        times: CycleTimes,
        limits: RetryLimits,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._inbox = inbox
        self._audience = audience
        self._times = times
        self._limits = limits
        self._clock = inbox.clock
        self._sleep = sleep
        self._attempt = 0
        self._exchange: Optional[Exchange] = None
        # Of the running attempt: how the provider ended it, and that its reader is done.
        self._finished: Optional[Finished] = None
        self._end: Optional[ReaderEnded] = None
        self._ended_behind = False
        self._last_event_at = 0.0
        self._hurries = False
        self.waiting = False  # for the next attempt
        self._waited_s = 0.0  # for all attempts so far
        self._headway = Headway()

    def run(self, open_exchange: Callable[[], Exchange]) -> bool:
        """Stream until the provider ends the cycle; False when the audience left it.

        ``open_exchange`` is called for each attempt, so that a retry sees the conversation
        as it is by then. Raises the StreamError that could not be mended, and
        RunTimeoutError.
        """
        self._headway = Headway()
        while True:
            try:
                self._run_attempts(open_exchange)
                return True
            except _DiedBehindMenu as died:
                self._audience.resuming(died.error)
            except CycleLeft:
                return False

    def behind(self) -> Any:
        """While a menu is open, deal with what is ready: the first item that is none of the
        cycle's, a RunTimeoutError when the time is up, or None."""
        other = self._hand_on(self._inbox.take_ready())
        self._ended_behind = self._end is not None and not self.waiting
        run_deadline = self._times.run_deadline
        if other is None and run_deadline is not None and self._clock() >= run_deadline:
            return _out_of_time()
        return other

    def hurry(self) -> None:
        """Make the next attempt now."""
        self._hurries = True

    def _run_attempts(self, open_exchange: Callable[[], Exchange]) -> None:
        try:
            self._run_attempt(open_exchange)
        except StreamError as error:
            if not error.retryable:
                raise
            self._run_again(open_exchange, error)

    def _run_again(self, open_exchange: Callable[[], Exchange], error: StreamError) -> None:
        # tenacity costs a quarter of a one-shot run, and most runs never fail.
        retry = importlib.import_module("jpq.turn.retry")
        retry.attempt_again(
            lambda: self._run_attempt(open_exchange),
            error,
            limits=self._limits,
            seconds_waited=lambda: self._waited_s,
            is_barren=lambda: self._headway.is_over,
            before_wait=self._audience.retrying,
            wait=self._wait,
        )

    def _run_attempt(self, open_exchange: Callable[[], Exchange]) -> None:
        self._attempt += 1
        self._finished, self._end, self._ended_behind = None, None, False
        self._headway.attempt_begins()
        exchange = self._exchange = open_exchange()
        reader = threading.Thread(
            target=read,
            args=(exchange, self._attempt, self._inbox.post),
            name=f"jpq-read-{self._attempt}",
            daemon=True,
        )
        reader.start()
        try:
            self._pump(exchange)
        finally:
            self._exchange = None
            exchange.abort()
            reader.join(_JOIN_S)

    def _pump(self, exchange: Exchange) -> None:
        """Hand on what the reader posts until it ends; raises what it failed with."""
        self._last_event_at = self._clock()
        while self._end is None:
            ending = self._finished is not None or exchange.ending
            idle_s = _ENDING_GRACE_S if ending else self._times.idle_timeout_s
            item = self._take(self._last_event_at + idle_s)
            if self._clock() - self._last_event_at < _BURST_S:
                self._sleep(_BURST_S)
            if item is None:
                self._end = self._last_words(exchange, idle_s)
            else:
                self._deal_with(item)
        if self._finished is None or self._finished.reason == INTERRUPTED:
            error = self._end.error or cut()
            self._headway.failed(error)
            if self._ended_behind and isinstance(error, StreamError) and error.retryable:
                raise _DiedBehindMenu(error)
            raise error

    def _last_words(self, exchange: Exchange, idle_s: float) -> ReaderEnded:
        """End a silent exchange; its reader may still say that the answer was whole."""
        for other in self._hear_out(exchange):
            self._leave_unless_wanted(other)
        said = self._end.error if self._end is not None else None
        if isinstance(said, StreamError) and said.kind is not ErrorKind.CUT:
            return ReaderEnded(self._attempt, said)  # it knew more than that it was ended
        return ReaderEnded(self._attempt, stalled(idle_s))

    def _end_if_whole(self) -> List[Any]:
        """Where only the end of the stream is awaited, end it, as whoever stops it then stops
        an answer that is whole. What else came in meanwhile."""
        exchange = self._exchange
        awaited = exchange is not None and exchange.ending and self._end is None
        return self._hear_out(exchange) if exchange is not None and awaited else []

    def _hear_out(self, exchange: Exchange) -> List[Any]:
        """End an exchange and hand on what its reader still has; what else came in meanwhile."""
        exchange.abort()
        deadline = self._clock() + _JOIN_S
        others: List[Any] = []
        while self._end is None:
            item = self._inbox.take(deadline)
            if item is None:
                break
            other = self._hand_on(item)
            others += [] if other is None else [other]
        return others

    def _take(self, deadline: float) -> Any:
        run_deadline = self._times.run_deadline
        if run_deadline is None or deadline < run_deadline:
            return self._inbox.take(deadline)
        item = self._inbox.take(run_deadline)
        if item is None:
            self._end_if_whole()
            raise _out_of_time()
        return item

    def _deal_with(self, item: Any) -> None:
        """Deal with all that is ready, starting with ``item``."""
        other = self._hand_on(item)
        while other is not None:
            self._leave_unless_wanted(other)
            other = self._hand_on(self._inbox.take_ready())

    def _hand_on(self, item: Any) -> Any:
        """Hand on what is ready of this attempt, starting with ``item``, up to an item that
        is something else, which is returned."""
        events: List[StreamEvent] = []
        while isinstance(item, (Arrived, ReaderEnded)):
            if item.attempt != self._attempt or self.waiting:
                pass  # it comes too late
            elif isinstance(item, ReaderEnded):
                self._end = item
            elif not isinstance(item.event, KeepAlive):
                events.append(item.event)
                if isinstance(item.event, Finished):
                    self._finished = item.event
            item = self._inbox.take_ready()
        if events:
            self._audience.received(events)  # first of all, as somebody waits to see them
            self._headway.received(events)
            self._last_event_at = self._clock()
        return item

    def _wait(self, seconds: float) -> None:
        """Wait for the next attempt, open to interrupts."""
        self._waited_s += seconds
        deadline = self._clock() + seconds
        self.waiting, self._hurries = True, False
        try:
            while not self._hurries:
                item = self._take(deadline)
                if item is None:
                    return
                self._deal_with(item)
        finally:
            self.waiting = False

    def _leave_unless_wanted(self, item: Any) -> None:
        if not all(map(self._audience.disturbed, [item, *self._end_if_whole()])):
            raise CycleLeft
        # The time that the person spent in a menu is no silence.
        self._last_event_at = self._clock()


def _out_of_time() -> RunTimeoutError:
    return RunTimeoutError(
        "The run took longer than --timeout allows.",
        hint="What arrived is saved. Raise --timeout, or go on with: jpq --retry",
    )
