"""ResilientCycle: one request and its streamed answer, however many attempts that takes."""

from __future__ import annotations

import importlib
import threading
import time
from typing import Any, Callable, List, NamedTuple, Optional, Protocol

from jpq.errors import ErrorKind, RunTimeoutError, StreamError
from jpq.events.parts import INTERRUPTED, Finished, KeepAlive, StreamEvent
from jpq.provider.base import Exchange
from jpq.turn.inbox import Inbox

# A reader that is still connecting cannot be woken; it is left behind as a daemon and its
# later items carry an attempt number that nobody waits for.
_JOIN_S = 0.5
# Events that follow each other faster than this are taken together after as long: a burst
# then wakes this thread and the renderer hundreds of times less (measured on 50,000 events:
# a third less CPU), and a person cannot see the difference.
_BURST_S = 0.001
# Once the provider has said how the answer ends, only a late usage report is waited for.
_ENDING_GRACE_S = 5.0


class Arrived(NamedTuple):
    """A stream event of attempt ``attempt``."""

    attempt: int
    event: StreamEvent


class ReaderEnded(NamedTuple):
    """The reader of attempt ``attempt`` is done; ``error`` is what it failed with."""

    attempt: int
    error: Optional[BaseException]


class _Batch(NamedTuple):
    """What one look into the inbox brought: events, and whether the attempt is over."""

    events: List[StreamEvent]
    finished: Optional[Finished]
    end: Optional[ReaderEnded]

    def plus(self, event: StreamEvent) -> _Batch:
        if isinstance(event, KeepAlive):
            return self
        self.events.append(event)
        return self._replace(finished=event) if isinstance(event, Finished) else self

    def joined(self, later: _Batch) -> _Batch:
        return _Batch(
            self.events + later.events, later.finished or self.finished, later.end or self.end
        )


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
        """Something else came in: a signal, a failed display. True to go on."""


class CycleLeft(Exception):
    """The audience did not want to go on."""


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
        self._first_failure_at: Optional[float] = None

    def run(self, open_exchange: Callable[[], Exchange]) -> bool:
        """Stream until the provider ends the cycle; False when the audience left it.

        ``open_exchange`` is called for each attempt, so that a retry sees the conversation
        as it is by then. Raises the StreamError that could not be mended, and
        RunTimeoutError.
        """
        try:
            try:
                self._run_attempt(open_exchange)
            except StreamError as error:
                if not error.retryable:
                    raise
                self._run_again(open_exchange, error)
        except CycleLeft:
            return False
        return True

    def _run_again(self, open_exchange: Callable[[], Exchange], error: StreamError) -> None:
        if self._first_failure_at is None:
            self._first_failure_at = self._clock()
        started = self._first_failure_at
        # tenacity costs a quarter of a one-shot run, and most runs never fail.
        retry = importlib.import_module("jpq.turn.retry")
        retry.attempt_again(
            lambda: self._run_attempt(open_exchange),
            error,
            limits=self._limits,
            seconds_retrying=lambda: self._clock() - started,
            before_wait=self._audience.retrying,
            wait=self._wait,
        )

    def _run_attempt(self, open_exchange: Callable[[], Exchange]) -> None:
        self._attempt += 1
        exchange = open_exchange()
        reader = threading.Thread(
            target=_read,
            args=(exchange, self._attempt, self._inbox.post),
            name=f"jpq-read-{self._attempt}",
            daemon=True,
        )
        reader.start()
        try:
            self._pump(exchange)
        finally:
            exchange.abort()
            reader.join(_JOIN_S)

    def _pump(self, exchange: Exchange) -> None:
        """Hand on what the reader posts until it ends; raises what it failed with."""
        finished: Optional[Finished] = None
        last_event_at = self._clock()
        while True:
            ending = finished is not None or exchange.ending
            idle_s = _ENDING_GRACE_S if ending else self._times.idle_timeout_s
            item = self._take(last_event_at + idle_s)
            if self._clock() - last_event_at < _BURST_S:
                self._sleep(_BURST_S)
            batch = self._last_words(exchange, idle_s) if item is None else self._gather(item)
            if batch.events:
                last_event_at = self._clock()
                self._audience.received(batch.events)
            finished = batch.finished or finished
            if batch.end is not None:
                if finished is None or finished.reason == INTERRUPTED:
                    raise batch.end.error or _cut()
                return

    def _last_words(self, exchange: Exchange, idle_s: float) -> _Batch:
        """End a silent exchange; its reader may still say that the answer was whole."""
        exchange.abort()
        batch = _Batch([], None, None)
        deadline = self._clock() + _JOIN_S
        while batch.end is None:
            item = self._take(deadline)
            if item is None:
                break
            batch = batch.joined(self._gather(item))
        return batch._replace(end=ReaderEnded(self._attempt, _stalled(idle_s)))

    def _take(self, deadline: float) -> Any:
        run_deadline = self._times.run_deadline
        if run_deadline is None or deadline < run_deadline:
            return self._inbox.take(deadline)
        item = self._inbox.take(run_deadline)
        if item is None:
            raise RunTimeoutError(
                "The run took longer than --timeout allows.",
                hint="What arrived is saved. Raise --timeout, or continue with: jpq -c",
            )
        return item

    def _gather(self, item: Any) -> _Batch:
        """All that is ready of this attempt, starting with ``item``."""
        batch = _Batch([], None, None)
        while item is not None:
            if isinstance(item, Arrived):
                if item.attempt == self._attempt:
                    batch = batch.plus(item.event)
            elif isinstance(item, ReaderEnded):
                if item.attempt == self._attempt:
                    batch = batch._replace(end=item)
            else:
                if batch.events:
                    self._audience.received(batch.events)
                    batch = batch._replace(events=[])
                self._leave_unless_wanted(item)
            item = self._inbox.take_ready()
        return batch

    def _wait(self, seconds: float) -> None:
        """Wait for the next attempt, open to interrupts."""
        deadline = self._clock() + seconds
        while True:
            item = self._take(deadline)
            if item is None:
                return
            if not isinstance(item, (Arrived, ReaderEnded)):
                self._leave_unless_wanted(item)

    def _leave_unless_wanted(self, item: Any) -> None:
        if not self._audience.disturbed(item):
            raise CycleLeft


def _read(exchange: Exchange, attempt: int, post: Callable[[Any], None]) -> None:
    """The body of a reader thread: everything, errors too, leaves through ``post``."""
    error: Optional[BaseException] = None
    try:
        for event in exchange.events():
            post(Arrived(attempt, event))
    except Exception as caught:  # the top of a thread: raised again on the main thread
        error = caught
    post(ReaderEnded(attempt, error))


def _stalled(idle_s: float) -> StreamError:
    return StreamError(
        ErrorKind.STALLED,
        f"The server sent nothing for {idle_s:g} seconds.",
        hint="Try again, or raise request.idle_timeout_s for slow models.",
    )


def _cut() -> StreamError:
    return StreamError(
        ErrorKind.CUT,
        "The answer was cut off: the connection ended without the end of the stream.",
        hint="What arrived is saved. Go on with: jpq --retry",
    )
