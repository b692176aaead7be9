"""ResilientCycle: what is tried again, what is not, and what silence means."""

from __future__ import annotations

import threading
import time
from typing import Any, Iterator, List, Optional, Sequence

import pytest

from jpq.errors import ConfigError, ErrorKind, RunTimeoutError, StreamError
from jpq.events.parts import (
    INTERRUPTED,
    STOP,
    Finished,
    KeepAlive,
    MessageDelta,
    Metered,
    Part,
    StreamEvent,
)
from jpq.events.usage import Usage
from jpq.interrupt.signals import Interrupt
from jpq.turn import cycle
from jpq.turn.cycle import CycleTimes, ResilientCycle, RetryLimits
from jpq.turn.inbox import Inbox
from tests.support.exchange import ENDING, SILENCE, WAIT_S, FakeExchange

LIMITS = RetryLimits(3, 0.0, 0.0, 5.0, 60.0)
HELLO = Part(0, MessageDelta("Hello"))
DONE = Finished(STOP)


class Recorder:
    """An audience that keeps what it is told and goes on after ``goes_on`` says so."""

    def __init__(self, goes_on: bool = False) -> None:
        self.events: List[StreamEvent] = []
        self.retries: List[Any] = []
        self.disturbances: List[Any] = []
        self._goes_on = goes_on

    def received(self, events: List[StreamEvent]) -> None:
        self.events += events

    def retrying(self, retry: Any) -> None:
        self.retries.append(retry)

    def resuming(self, error: StreamError) -> None:
        raise AssertionError("there is no menu")

    def disturbed(self, item: Any) -> bool:
        self.disturbances.append(item)
        return self._goes_on


class UnhurriedInbox(Inbox):
    """No time is up before the exchange is silent, however slow the machine is just then."""

    def __init__(self, exchanges: List[FakeExchange]) -> None:
        super().__init__()
        self._exchanges = exchanges

    def take(self, deadline: Optional[float] = None) -> Any:
        item = super().take(deadline)
        if item is None:
            assert self._exchanges[-1].silent.wait(WAIT_S)
            item = self.take_ready()
        return item


@pytest.fixture
def last_words_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader whose exchange is ended has time to say how that was."""
    monkeypatch.setattr(cycle, "_JOIN_S", WAIT_S)


class Run:
    """A cycle over one script an attempt; the last script repeats."""

    def __init__(
        self,
        *scripts: Sequence[Any],
        idle_s: float = WAIT_S,
        run_s: Optional[float] = None,
        limits: RetryLimits = LIMITS,
        audience: Optional[Recorder] = None,
    ) -> None:
        self.audience = audience or Recorder()
        self.exchanges: List[FakeExchange] = []
        self.inbox = UnhurriedInbox(self.exchanges)
        self._scripts = scripts
        deadline = None if run_s is None else time.monotonic() + run_s
        self.cycle = ResilientCycle(self.inbox, self.audience, CycleTimes(idle_s, deadline), limits)

    def go(self) -> bool:
        return self.cycle.run(self._open)

    def _open(self) -> FakeExchange:
        script = self._scripts[min(len(self.exchanges), len(self._scripts) - 1)]
        self.exchanges.append(FakeExchange(script))
        return self.exchanges[-1]


def overloaded(**more: Any) -> StreamError:
    return StreamError(ErrorKind.OVERLOADED, "Overloaded.", **more)


def test_a_whole_stream_is_handed_on_in_order() -> None:
    run = Run([HELLO, DONE])
    assert run.go()
    assert run.audience.events == [HELLO, DONE]
    assert run.exchanges[0].aborted.is_set()  # its connection is given up in any case


@pytest.mark.parametrize(
    "failure",
    [overloaded(), StreamError(ErrorKind.RESET, "Reset."), StreamError(ErrorKind.CUT, "Cut.")],
    ids=lambda error: error.kind.word,
)
def test_what_may_pass_is_tried_again_and_said(failure: StreamError) -> None:
    run = Run([HELLO, failure], [DONE])
    assert run.go()
    assert [(r.attempt, r.max_attempts, r.error) for r in run.audience.retries] == [(2, 3, failure)]


@pytest.mark.parametrize(
    "failure",
    [
        StreamError(ErrorKind.AUTH, "Wrong key."),
        StreamError(ErrorKind.QUOTA, "No money."),
        StreamError(ErrorKind.INVALID_REQUEST, "No."),
        ConfigError("No model."),
        ZeroDivisionError("a bug"),
    ],
    ids=lambda error: type(error).__name__ + getattr(getattr(error, "kind", None), "word", ""),
)
def test_what_cannot_pass_is_raised_at_once(failure: Exception) -> None:
    run = Run([failure])
    with pytest.raises(type(failure)) as caught:
        run.go()
    assert caught.value is failure
    assert len(run.exchanges) == 1


def test_the_last_attempt_gives_the_real_cause() -> None:
    run = Run([overloaded()], [overloaded()], [StreamError(ErrorKind.RESET, "Reset at last.")])
    with pytest.raises(StreamError, match="Reset at last"):
        run.go()
    assert len(run.exchanges) == LIMITS.max_attempts


def test_no_retries_means_one_attempt() -> None:
    run = Run([overloaded()], limits=LIMITS._replace(max_attempts=1))
    with pytest.raises(StreamError):
        run.go()
    assert len(run.exchanges) == 1


def test_a_wait_the_provider_asked_for_is_kept() -> None:
    run = Run([overloaded(retry_after=0.02)], [DONE])
    assert run.go()
    assert run.audience.retries[0].wait_s == 0.02


def test_a_wait_that_is_too_long_fails_at_once() -> None:
    run = Run([overloaded(retry_after=LIMITS.retry_after_max_s + 1)], [DONE])
    with pytest.raises(StreamError):
        run.go()
    assert run.audience.retries == []


def test_the_budget_of_the_turn_ends_retrying() -> None:
    run = Run([overloaded(retry_after=1.0)], limits=LIMITS._replace(total_retry_s=0.5))
    with pytest.raises(StreamError):
        run.go()
    assert run.audience.retries == []


def test_a_part_of_an_answer_does_not_renew_the_budget() -> None:
    """The waits of a turn are added up over its cycles; time spent receiving is no wait."""
    limits = LIMITS._replace(total_retry_s=0.05)
    late = overloaded(retry_after=0.03)
    run = Run([HELLO, late], [HELLO, DONE], [HELLO, late], limits=limits)
    assert run.go()
    with pytest.raises(StreamError):
        run.go()
    assert len(run.audience.retries) == 1


def test_attempts_that_add_nothing_to_a_part_end_it() -> None:
    cut = StreamError(ErrorKind.CUT, "Cut.")
    run = Run([HELLO, cut], [cut], limits=LIMITS._replace(max_attempts=9))
    with pytest.raises(StreamError, match="Cut"):
        run.go()
    assert len(run.exchanges) == 3


def test_attempts_that_add_something_or_were_not_taken_do_not_end_it() -> None:
    cut, blank = StreamError(ErrorKind.CUT, "Cut."), Part(0, MessageDelta(""))
    scripts = [[HELLO, cut], [blank, cut], [HELLO, cut], [cut], [overloaded()], [HELLO, DONE]]
    run = Run(*scripts, limits=LIMITS._replace(max_attempts=9))
    assert run.go()
    nothing_yet = Run([cut], limits=LIMITS._replace(max_attempts=4))
    with pytest.raises(StreamError):
        nothing_yet.go()
    assert len(nothing_yet.exchanges) == 4


def test_a_backoff_is_half_fixed_and_half_random() -> None:
    limits = LIMITS._replace(backoff_base_s=0.004, backoff_cap_s=0.006)
    run = Run([overloaded()], [overloaded()], [DONE], limits=limits)
    assert run.go()
    first, second = (retry.wait_s for retry in run.audience.retries)
    assert 0.002 <= first <= 0.004
    assert 0.003 <= second <= 0.006


@pytest.mark.parametrize("script", [[], [HELLO], [HELLO, Finished(INTERRUPTED)]])
def test_an_end_that_nobody_announced_is_a_cut(script: Sequence[Any]) -> None:
    run = Run(script, limits=LIMITS._replace(max_attempts=1))
    with pytest.raises(StreamError) as caught:
        run.go()
    assert caught.value.kind is ErrorKind.CUT


def test_silence_is_a_stall_although_the_server_is_alive() -> None:
    script = [HELLO, KeepAlive(), SILENCE, KeepAlive()]
    run = Run(script, idle_s=0.05, limits=LIMITS._replace(max_attempts=1))
    with pytest.raises(StreamError) as caught:
        run.go()
    assert caught.value.kind is ErrorKind.STALLED
    assert run.audience.events == [HELLO]
    assert run.exchanges[0].aborted.is_set()


def test_a_silent_server_that_had_said_how_it_ends_is_complete(last_words_come: None) -> None:
    """A server that sends its finish reason and then neither [DONE] nor an end."""
    run = Run([HELLO, SILENCE, DONE], idle_s=0.05)
    assert run.go()
    assert run.audience.events == [HELLO, DONE]


def test_usage_after_the_end_is_still_taken() -> None:
    late = Metered(Usage(input_tokens=1))
    run = Run([HELLO, DONE, late])
    assert run.go()
    assert run.audience.events == [HELLO, DONE, late]


def test_the_run_deadline_ends_a_stream() -> None:
    run = Run([HELLO, SILENCE], run_s=0.05)
    with pytest.raises(RunTimeoutError):
        run.go()
    assert run.audience.events == [HELLO]


def test_the_run_deadline_in_the_end_of_a_whole_answer_finds_it_whole(
    last_words_come: None,
) -> None:
    run = Run([HELLO, ENDING, SILENCE, DONE], run_s=0.05)
    with pytest.raises(RunTimeoutError):
        run.go()
    assert run.audience.events == [HELLO, DONE]


def test_the_run_deadline_ends_a_wait() -> None:
    run = Run([overloaded(retry_after=4.0)], run_s=0.05)
    with pytest.raises(RunTimeoutError):
        run.go()


def test_an_interrupt_comes_after_what_arrived_before_it() -> None:
    class InterruptsItself(Recorder):
        def received(self, events: List[StreamEvent]) -> None:
            super().received(events)
            run.inbox.post(Interrupt(2, 1))

    run = Run([HELLO, SILENCE], audience=InterruptsItself())
    assert not run.go()
    assert run.audience.events == [HELLO]
    assert run.audience.disturbances == [Interrupt(2, 1)]


def test_an_interrupt_ends_a_wait() -> None:
    class InterruptsItself(Recorder):
        def retrying(self, retry: Any) -> None:
            super().retrying(retry)
            run.inbox.post(Interrupt(2, 1))

    run = Run([overloaded(retry_after=4.0)], audience=InterruptsItself())
    assert not run.go()
    assert len(run.exchanges) == 1


def test_going_on_after_an_interrupt_keeps_the_same_stream() -> None:
    class InterruptsItself(Recorder):
        def received(self, events: List[StreamEvent]) -> None:
            super().received(events)
            run.inbox.post(Interrupt(2, 1))
            run.exchanges[0].aborted.set()

    run = Run([HELLO, SILENCE, HELLO, DONE], audience=InterruptsItself(goes_on=True))
    assert run.go()
    assert run.audience.events == [HELLO, HELLO, DONE]
    assert len(run.exchanges) == 1


def test_what_a_left_reader_posts_later_is_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    late = threading.Event()

    class Stubborn(FakeExchange):
        """Still connecting: it cannot be woken, and speaks when nobody listens any more."""

        def events(self) -> Iterator[StreamEvent]:
            yield HELLO
            self.silent.set()
            assert late.wait(WAIT_S)
            yield Part(0, MessageDelta("stale"))

    run = Run([DONE], idle_s=0.05, limits=LIMITS)
    stubborn = Stubborn([])
    exchanges = iter([stubborn, FakeExchange([HELLO, SILENCE, DONE])])

    def open_exchange() -> FakeExchange:
        run.exchanges.append(next(exchanges))
        if len(run.exchanges) == 2:
            monkeypatch.setattr(cycle, "_JOIN_S", WAIT_S)  # only the first is not waited for
        return run.exchanges[-1]

    assert run.cycle.run(open_exchange)
    assert run.audience.events == [HELLO, HELLO, DONE]
    late.set()
