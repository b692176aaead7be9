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
from jpq.tools.limits import OutputSoFar, capped
from jpq.tools.texts import ROOM_BYTES

_LONGEST_WAIT_S = 3600.0


class Stopwatch:
    """Seconds since it was made, without those for which it was paused. Any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()  # guards what follows
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
    """One run of a tool. Made on the main thread, ``supervise`` on a pool thread.

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
        self._watch = Stopwatch()
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

    def think(self, thinks: bool) -> None:
        """Whether the person is thinking about a question, which takes none of the time."""
        if thinks:
            self._watch.pause()
        else:
            self._watch.resume()
        self._wake.set()

    def supervise(self) -> None:
        """Run the tool to its end, its time-out or its cancellation. A pool thread's whole job."""
        self._watch = Stopwatch()
        started = not self._token.cancelled
        if started:
            name = f"jpq-tool-{self._tool.spec.name}"
            threading.Thread(target=self._body, name=name, daemon=True).start()
            with self._token.calling(self._wake.set):
                self._wait()
        ended = self._done.is_set()
        self._post(
            ToolFinished(
                id=self._invocation.id,
                run=self._number,
                seconds=self._watch.seconds,
                output=self._output if ended else None,
                crash=self._crash if ended else "",
                so_far=self._so_far.text(),
                started=started,
            )
        )

    def _wait(self) -> None:
        while not self._done.is_set() and not self._token.cancelled:
            left = self._tool.spec.timeout_s - self._watch.seconds
            if left <= 0:
                self._token.cancel(TIMED_OUT)
                break
            self._wake.wait(_LONGEST_WAIT_S if self._watch.paused else min(left, _LONGEST_WAIT_S))
            self._wake.clear()
        self._done.wait(self._tool.stops_within_s)

    def _body(self) -> None:
        try:
            output = self._tool.run(self._invocation, self._token, self._take_progress)
            self._output = self._within_limit(output)
        except BaseException as error:  # a thread's top: a tool's failure is its result
            self._crash = f"{type(error).__name__}: {_said(error)}"
        self._done.set()
        self._wake.set()

    def _within_limit(self, output: ToolOutput) -> ToolOutput:
        """``output``, whatever kind of tool gave it, in as many bytes as it may have."""
        limit, path = self._tool.spec.max_output_bytes, self._invocation.full_output
        # A kind that cut it itself has put a line of its own where it did.
        limit += ROOM_BYTES if output.full_output else 0
        content, written = capped(output.content, limit, path)
        return output._replace(content=content, full_output=output.full_output or written)

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


def _said(error: BaseException) -> str:
    """What ``error`` says; its class may be the tool's own, and fail at that, too."""
    try:
        return str(error)
    except Exception:
        return "it cannot say what"
