"""Workers: run tools beside the turn, each watched, so that none can hold up the turn or the exit.

A pool thread watches one run: it keeps the time and waits for the tool, which runs on a
daemon thread of its own. A tool that does not stop in time is left behind with that thread.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Callable, Optional

from jpq.interrupt.cancel import TIMED_OUT, CancelToken
from jpq.tools.definition import Invocation, Progress, Tool, ToolOutput
from jpq.tools.executor import ToolFinished
from jpq.tools.limits import OutputSoFar

_LONGEST_WAIT_S = 3600.0


class Stopwatch:
    """Seconds since it was made, without those for which it was paused. Any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._since = clock()
        self._paused_at: Optional[float] = None
        self._pauses = 0  # several questions may be open at once

    @property
    def seconds(self) -> float:
        """How long it ran."""
        with self._lock:
            return (self._clock() if self._paused_at is None else self._paused_at) - self._since

    @property
    def paused(self) -> bool:
        """Whether it stands still."""
        return self._paused_at is not None

    def pause(self) -> None:
        """The person is asked something, and may take their time."""
        with self._lock:
            self._pauses += 1
            if self._paused_at is None:
                self._paused_at = self._clock()

    def resume(self) -> None:
        """The person has answered."""
        with self._lock:
            self._pauses -= 1
            if self._pauses == 0 and self._paused_at is not None:
                self._since += self._clock() - self._paused_at
                self._paused_at = None


class Run:
    """One run of a tool. Made on the main thread; ``wake`` and ``watch`` from others.

    ``post`` is given the one ToolFinished, ``progress`` the output as it comes.
    """

    def __init__(
        self,
        tool: Tool,
        invocation: Invocation,
        number: int,
        token: CancelToken,
        post: Callable[[ToolFinished], None],
        progress: Progress,
    ) -> None:
        self.watch = Stopwatch()
        self._tool = tool
        self._invocation = invocation
        self._number = number
        self._token = token
        self._post = post
        self._progress = progress
        self._so_far = OutputSoFar(tool.spec.max_output_bytes)
        self._output: Optional[ToolOutput] = None
        self._crash = ""
        self._done = threading.Event()
        self._wake = threading.Event()

    def wake(self) -> None:
        """Look at the time, the token and the tool again. Any thread."""
        self._wake.set()

    def supervise(self) -> None:
        """Run the tool to its end, its time-out or its cancellation. A pool thread's whole job."""
        self.watch = Stopwatch()
        if not self._token.cancelled:
            name = f"jpq-tool-{self._tool.spec.name}"
            threading.Thread(target=self._body, name=name, daemon=True).start()
            with self._token.calling(self.wake):
                self._wait()
        ended = self._done.is_set()
        self._post(
            ToolFinished(
                id=self._invocation.id,
                run=self._number,
                seconds=self.watch.seconds,
                output=self._output if ended else None,
                crash=self._crash if ended else "",
                so_far=self._so_far.text(),
            )
        )

    def _wait(self) -> None:
        while not self._done.is_set() and not self._token.cancelled:
            left = self._tool.spec.timeout_s - self.watch.seconds
            if left <= 0:
                self._token.cancel(TIMED_OUT)
                break
            self._wake.wait(_LONGEST_WAIT_S if self.watch.paused else min(left, _LONGEST_WAIT_S))
            self._wake.clear()
        self._done.wait(self._tool.stops_within_s)

    def _body(self) -> None:
        try:
            self._output = self._tool.run(self._invocation, self._token, self._take_progress)
        except BaseException as error:  # a thread's top: a tool's failure is its result
            self._crash = f"{type(error).__name__}: {error}"
        self._done.set()
        self._wake.set()

    def _take_progress(self, text: str) -> None:
        self._so_far.add(text)
        if not self._token.cancelled:
            self._progress(text)


class Workers:
    """At most ``count`` runs at a time; the others wait. Main thread."""

    def __init__(self, count: int) -> None:
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="jpq-tools")

    def start(self, run: Run) -> None:
        """Run it as soon as there is room."""
        self._pool.submit(run.supervise)

    def close(self) -> None:
        """Take no more. What runs must have been cancelled; nothing is waited for here."""
        self._pool.shutdown(wait=False)
