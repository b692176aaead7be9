"""Tools: what running them costs beside doing the same by hand, and how fast they are gone."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from subprocess import DEVNULL, PIPE, Popen
from typing import Any, Callable, Dict, List, Mapping

from bench.compare import Row, median, ratio
from jpq.conversation.event import Draft, ToolCall
from jpq.interrupt.cancel import CancelToken
from jpq.tools.command import CommandTool
from jpq.tools.coordinator import ToolCoordinator
from jpq.tools.definition import Invocation, Progress, Tool, ToolAnswered, ToolOutput, ToolSpec
from jpq.tools.launcher import Launcher
from jpq.tools.permission import Permissions
from jpq.tools.policy import Policy
from jpq.turn.inbox import Inbox
from jpq.turn.tool_phase import ToolPhase

ROUNDS = 7
CALLS = 64
WORKERS = 8
SLEEP_S = 0.1

SPAWN_TARGET_MS = 3.0
SLEEP_TARGETS = {8: 1.02, 64: 1.15}
CANCEL_TARGET_MS = 10.0

# Runs in the foreground and in the background, and says when both are there.
_LINGERS = "sleep 60 & echo begun; sleep 60"


class WaitingTool(Tool):
    """Waits, as a Python tool does that asks somebody else."""

    def run(self, invocation: Invocation, cancel: CancelToken, progress: Progress) -> ToolOutput:
        """Wait ``seconds``."""
        cancel.wait(invocation.arguments["seconds"])
        return ToolOutput("done")


class Calls:
    """Runs calls as a turn does, without saving or showing anything."""

    def __init__(self, tool: Tool, environ: Mapping[str, str], workers: int = WORKERS) -> None:
        self.begun = False
        self._tool = tool
        inbox = Inbox()
        launcher = Launcher(
            inbox.post, self._show, environ=environ, cwd="/", output_folder=None, workers=workers
        )
        permissions = Permissions(Policy(), yes=True)
        tools = {tool.spec.name: tool}
        self._coordinator = ToolCoordinator(tools, permissions, None, launcher, self._show)
        self._phase = ToolPhase(self._coordinator, inbox, self._settle, self._show)

    def start(self, count: int, **arguments: Any) -> None:
        """Begin ``count`` calls."""
        name = self._tool.spec.name
        calls = [ToolCall(str(n), name, {**arguments, "n": n}) for n in range(count)]
        self._phase.start(calls, ())

    def finish(self) -> None:
        """Wait for the last answer."""
        while not self._coordinator.idle:
            self._phase.attend()

    def cancel(self) -> None:
        """Give all up, and wait until nothing runs."""
        self._phase.cancel()

    def close(self) -> None:
        """Let go of the workers."""
        self._coordinator.close()

    def _settle(self, answers: List[ToolAnswered], drafts: List[Draft]) -> None:
        """Nothing is saved."""

    def _show(self, event: Any) -> None:
        if "begun" in str(event):
            self.begun = True


def measure(environ: Dict[str, str], count: int = ROUNDS) -> List[Row]:
    """Commands, Python tools, waiting in parallel, and how long a cancelled command lasts."""
    commands = CommandTool(_spec("command", ["true"]), "/")
    functions = WaitingTool(_spec("python"), "/")
    rows = [
        _overhead(
            "64 no-op commands",
            "64 `Popen` calls",
            lambda: _seconds(commands, environ),
            lambda: _by_hand(_run_true, environ),
            count,
            target_ms=SPAWN_TARGET_MS,
        ),
        _overhead(
            "64 no-op Python tools",
            "a bare pool",
            lambda: _seconds(functions, environ, seconds=0.0),
            lambda: _by_hand(lambda environ: None, environ),
            count,
            target_ms=None,
        ),
    ]
    for workers, target in SLEEP_TARGETS.items():
        times = [_seconds(functions, environ, workers, seconds=SLEEP_S) for _ in range(count)]
        ideal = CALLS / workers * SLEEP_S
        factor = median(times) / ideal
        rows.append(
            Row(
                f"64 tools that take {SLEEP_S} s, {workers} workers",
                f"{median(times) * 1000:.0f} ms",
                f"ideal {ideal * 1000:.0f} ms",
                f"x{factor:.2f}",
                f"x{target}",
                factor <= target,
            )
        )
    gone = [_cancel_s(environ) * 1000 for _ in range(count)]
    rows.append(
        Row(
            "cancel to the last process gone, a command with a background child",
            f"{median(gone):.1f} ms (most {max(gone):.1f})",
            "",
            "",
            f"{CANCEL_TARGET_MS:.0f} ms",
            median(gone) <= CANCEL_TARGET_MS,
        )
    )
    return rows


def _overhead(
    what: str,
    other: str,
    ours: Callable[[], float],
    theirs: Callable[[], float],
    count: int,
    target_ms: Any,
) -> Row:
    pairs = [(ours(), theirs()) for _ in range(count + 1)][1:]
    mine, others = [one for one, _ in pairs], [other for _, other in pairs]
    each_ms = (median(mine) - median(others)) / CALLS * 1000
    return Row(
        f"{what}, {WORKERS} workers",
        f"{median(mine) * 1000:.0f} ms",
        f"{other} {median(others) * 1000:.0f} ms",
        f"x{ratio(mine, others):.2f}, {each_ms:.2f} ms each",
        "" if target_ms is None else f"{target_ms:.0f} ms each",
        target_ms is None or each_ms <= target_ms,
    )


def _spec(name: str, command: Any = ()) -> ToolSpec:
    return ToolSpec(
        name=name, source="bench", parameters={"type": "object"}, settings={"command": command}
    )


def _seconds(
    tool: Tool, environ: Mapping[str, str], workers: int = WORKERS, **arguments: Any
) -> float:
    """From the first of 64 calls to the last answer."""
    calls = Calls(tool, environ, workers)
    try:
        started = time.perf_counter()
        calls.start(CALLS, **arguments)
        calls.finish()
        return time.perf_counter() - started
    finally:
        calls.close()


def _by_hand(work: Callable[[Mapping[str, str]], object], environ: Mapping[str, str]) -> float:
    started = time.perf_counter()
    with ThreadPoolExecutor(WORKERS) as pool:
        for future in [pool.submit(work, environ) for _ in range(CALLS)]:
            future.result()
    return time.perf_counter() - started


def _run_true(environ: Mapping[str, str]) -> None:
    with Popen(
        ["true"],
        env=dict(environ),
        cwd="/",
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,
    ) as process:
        process.communicate()


def _cancel_s(environ: Mapping[str, str]) -> float:
    """From the cancelling of a command to the end of the last process it started."""
    calls = Calls(CommandTool(_spec("command", ["sh", "-c", _LINGERS]), "/"), environ)
    try:
        calls.start(1)
        while not calls.begun:
            os.sched_yield()
        started = time.perf_counter()
        calls.cancel()
        return time.perf_counter() - started
    finally:
        calls.close()
