"""BatchRun: hands lines to workers and writes what they answer. Main thread.

reader ── lines ──▶        ── todo ──▶ workers (-j of them), a turn each
                    main
sink  ◀── records ──       ◀── done ──
"""

from __future__ import annotations

import contextlib
import queue
import threading
from typing import Any, Callable, Dict, Iterator, List, Optional

from jpq.cli.batch.lines import Line, id_of, record_line
from jpq.cli.batch.sink import Sink
from jpq.errors import ExitCode, JpqError
from jpq.events.turn import Result
from jpq.events.usage import Usage, total_usage
from jpq.interrupt.escalation import MENU
from jpq.interrupt.signals import Interrupt, is_key
from jpq.named import NamedTuple
from jpq.render.jsonl import result_fields
from jpq.turn import ending
from jpq.turn.inbox import Inbox, StopAsked

# How many answers per worker may wait, in order, for one that takes longer.
_AHEAD = 16
# After a failure of the first kind no line can be answered any more; after many in a row of the
# second, probably none can.
_FATAL = ("auth", "quota")
_OUT_OF_REACH = ("unreachable", "reset", "rate_limited", "overloaded", "server")
_MANY = 20
_JOIN_S = 2.0
_TICK_S = 0.1


class _Read(NamedTuple):
    """From the reader: a line, or None at the end, or what reading failed with."""

    line: Optional[Line]
    error: Optional[BaseException] = None


class _Done(NamedTuple):
    """From a worker."""

    line: Line
    result: Result


class Plan(NamedTuple):
    """How a batch is to run. ``deadline`` is a reading of ``time.monotonic``; ``max_cost`` is
    in USD and for all lines together; ``patient`` says that the first Ctrl+C waits for what
    is being answered; what has not ended ``shutdown_s`` after it was to is left behind."""

    jobs: int
    ordered: bool
    deadline: Optional[float]
    max_cost: Optional[float]
    patient: bool
    shutdown_s: float = 10.0


class Totals:
    """What a batch came to. Main thread, but for ``skipped``, which the reader counts."""

    def __init__(self) -> None:
        self.answered = 0
        self.skipped = 0
        self.failures: Dict[str, int] = {}  # word of the error -> lines
        self.usage = Usage()
        self.cost: Optional[float] = None
        self.running = 0

    def add(self, result: Result) -> None:
        """Count a line."""
        if result.exit_code == ExitCode.OK:
            self.answered += 1
        else:
            word = result.status if result.error is None else result.error.kind
            self.failures[word] = self.failures.get(word, 0) + 1
        self.usage = total_usage((self.usage, result.usage))
        if result.cost is not None:
            self.cost = (self.cost or 0.0) + result.cost

    @property
    def failed(self) -> int:
        """Lines that have no whole answer."""
        return sum(self.failures.values())


class BatchRun:
    """One run. ``answer(line, inbox)`` is called on worker threads; ``watch`` is shown the
    totals from time to time, and ``tell`` given lines for the person."""

    def __init__(
        self,
        plan: Plan,
        sink: Sink,
        answer: Callable[[Line, Inbox], Result],
        watch: Callable[[Totals], None],
        tell: Callable[[str], None],
    ) -> None:
        self.inbox = Inbox()
        self.totals = Totals()
        self.signum: Optional[int] = None
        self.stopped_by: Optional[JpqError] = None
        self._plan = plan
        self._sink = sink
        self._answer = answer
        self._watch = watch
        self._tell = tell
        self._todo: queue.SimpleQueue[Optional[Line]] = queue.SimpleQueue()
        self._wanted: queue.SimpleQueue[bool] = queue.SimpleQueue()  # one for each line to read
        self._turns: Dict[int, Inbox] = {}  # line -> where its turn is stopped
        self._order: List[int] = []  # lines that are not written yet, as they came
        self._waiting: Dict[int, _Done] = {}  # answers that others come before
        self._asked = False  # the reader for a line
        self._at_end = False
        self._read_error: Optional[BaseException] = None
        self._left_out = 0  # lines that were begun and have no answer
        self._lost = 0  # lines in a row, as they ended, that the provider did not take
        self._stopping = threading.Event()
        self._ends_by: Optional[float] = None  # of the clock; None while nothing has to end
        self._first_failure = sink.answered.first_failure()

    def run(self, lines: Iterator[Line]) -> int:
        """Answer ``lines``; the exit code. Raises OSError of the sink, and what reading failed
        with, once nothing is being answered any more."""
        workers = [
            threading.Thread(target=self._work, name=f"jpq-batch-{n}", daemon=True)
            for n in range(1, self._plan.jobs + 1)
        ]
        reader = threading.Thread(
            target=self._read, args=(lines,), name="jpq-batch-read", daemon=True
        )
        for thread in (reader, *workers):
            thread.start()
        try:
            self._loop()
        except BaseException:
            self._stop(cancel=True)
            with contextlib.suppress(Exception):  # what is told is what came first
                self._loop(writes=False)
            raise
        finally:
            self._wanted.put(False)
            for _ in workers:
                self._todo.put(None)
            until = self.inbox.clock() + _JOIN_S
            for thread in workers:
                thread.join(max(0.0, until - self.inbox.clock()))
        if self._read_error is not None:
            raise self._read_error
        return self._exit_code()

    # -- main thread -----------------------------------------------------------------------

    def _loop(self, writes: bool = True) -> None:
        while True:
            self._ask_for_line()
            if not self._turns and (self._at_end or self._stopping.is_set()):
                break
            if self._ends_by is not None and self.inbox.clock() >= self._ends_by:
                self._left_out += len(self._turns)  # stuck, such as in a pipe that never ends
                break
            self._watch(self.totals)
            self._take(self.inbox.take(self.inbox.clock() + _TICK_S), writes)
        if writes:
            for number in list(self._order):  # a run that was stopped keeps what it has
                if number in self._waiting:
                    self._write(self._waiting.pop(number))
            self._watch(self.totals)

    def _ask_for_line(self) -> None:
        if self._plan.deadline is not None and self.inbox.clock() >= self._plan.deadline:
            self._stop(cancel=False)
            self._ends_by = self._ends_by or self.inbox.clock() + self._plan.shutdown_s
        free = len(self._turns) < self._plan.jobs
        room = not self._plan.ordered or len(self._order) < self._plan.jobs * _AHEAD
        if free and room and not (self._asked or self._at_end or self._stopping.is_set()):
            self._asked = True
            self._wanted.put(True)

    def _take(self, item: Any, writes: bool) -> None:
        if isinstance(item, _Read):
            self._asked = False
            self._read_error = item.error
            self._begin(item.line)
        elif isinstance(item, _Done):
            del self._turns[item.line.number]
            self.totals.running = len(self._turns)
            if writes:
                self._done(item)
        elif isinstance(item, Interrupt):
            self._interrupted(item)

    def _begin(self, line: Optional[Line]) -> None:
        if line is None:
            self._at_end = True
        elif not self._stopping.is_set():
            self._turns[line.number] = Inbox()
            self._order.append(line.number)
            self.totals.running = len(self._turns)
            self._todo.put(line)

    def _done(self, done: _Done) -> None:
        result = done.result
        kind = "" if result.error is None else result.error.kind
        self._lost = self._lost + 1 if kind in _OUT_OF_REACH else 0
        gives_up = kind in _FATAL
        if gives_up or self._lost >= max(_MANY, 2 * self._plan.jobs):
            self._give_up(result)
        if gives_up or result.status == ending.INTERRUPTED or result.exit_code == ExitCode.TIMEOUT:
            self._order.remove(done.line.number)
            self._left_out += 1
            return
        self._waiting[done.line.number] = done
        if not self._plan.ordered:
            self._write(self._waiting.pop(done.line.number))
            return
        while self._order and self._order[0] in self._waiting:
            self._write(self._waiting.pop(self._order[0]))

    def _write(self, done: _Done) -> None:
        result, number = done.result, done.line.number
        self._order.remove(number)
        self._sink.write(record_line(done.line, id_of(done.line), result_fields(result)))
        self.totals.add(result)
        if result.exit_code != ExitCode.OK:
            first = self._first_failure
            if first is None or number < first[0]:
                self._first_failure = number, result.exit_code
        limit, cost = self._plan.max_cost, self.totals.cost
        if limit is not None and cost is not None and cost >= limit and not self._stopping.is_set():
            self._stop(cancel=False)
            told = ending.of_cost_limit(limit, cost).error
            assert told is not None
            self.stopped_by = type(told)(told.message, hint="The same command goes on.")

    def _give_up(self, result: Result) -> None:
        """No further line can be answered."""
        error = result.error
        if self.stopped_by is None and error is not None:
            self.stopped_by = JpqError(error.message, where=error.where, hint=error.hint)
            self.stopped_by.word = error.kind
            self.stopped_by.exit_code = ExitCode(result.exit_code)
        self._stop(cancel=False)

    def _interrupted(self, interrupt: Interrupt) -> None:
        self.signum = interrupt.signum
        waits = self._plan.patient and interrupt.press == MENU and is_key(interrupt.signum)
        if waits and self._turns:
            count = len(self._turns)
            self._tell(f"Stopping when {count} more are answered. Ctrl+C again stops at once.")
        self._stop(cancel=not waits)

    def _stop(self, cancel: bool) -> None:
        self._stopping.set()
        if cancel:
            self._ends_by = self._ends_by or self.inbox.clock() + self._plan.shutdown_s
            for inbox in self._turns.values():
                inbox.post(StopAsked())

    def _exit_code(self) -> int:
        if self.stopped_by is not None:
            return int(self.stopped_by.exit_code)
        if self._left_out or not self._at_end:  # time was up; after a signal nobody sees the code
            return int(ExitCode.TIMEOUT)
        return int(ExitCode.OK if self._first_failure is None else self._first_failure[1])

    # -- other threads ---------------------------------------------------------------------

    def _read(self, lines: Iterator[Line]) -> None:
        answered = self._sink.answered
        try:
            while self._wanted.get():
                line = next(lines, None)
                while line is not None and answered.has(line):
                    self.totals.skipped += 1
                    line = next(lines, None)
                self.inbox.post(_Read(line))
                if line is None:
                    return
        except BaseException as error:  # the top of a thread: raised again on the main one
            self.inbox.post(_Read(None, error))

    def _work(self) -> None:
        while True:
            line = self._todo.get()
            if line is None:
                return
            result = self._answer(line, self._turns[line.number])
            self.inbox.post(_Done(line, result))
