"""Command tools: a program with arguments, as configured (docs/tools-kinds.md)."""

from __future__ import annotations

import json
import shlex
import signal
from typing import Any, List, Mapping, Optional, Sequence

from jpq.interrupt.cancel import CancelToken
from jpq.process.start import CannotStart, Launch
from jpq.tools.argv import check_argv, filled, places_in
from jpq.tools.capture import Capture, cleaned
from jpq.tools.definition import (
    COMPLETED,
    STOPPED,
    Invocation,
    Progress,
    Tool,
    ToolOutput,
    ToolSpec,
)
from jpq.tools.process import TIMES, ProcessEnded, run_process
from jpq.tools.schema import shortened

_SURVIVORS_SHOWN = 3


class CommandTool(Tool):
    """Runs the argv of ``command`` with the arguments filled in. No shell reads it."""

    stops_within_s = TIMES.longest_stop_s

    def __init__(self, spec: ToolSpec, cwd: str) -> None:
        super().__init__(spec, cwd)
        self._argv: List[str] = list(spec.settings.get("command", ()))
        self._folder: str = spec.settings.get("cwd", ".")
        self._env: Mapping[str, str] = spec.settings.get("env", {})
        self._reads_json = spec.settings.get("stdin") == "json"
        names = tuple(spec.parameters.get("properties", {}))
        check_argv(self._argv, names, f"tools.{spec.name}.command")

    def preview(self, arguments: Mapping[str, Any]) -> str:
        """The command as it will run."""
        return command_preview(shlex.join(filled(self._argv, arguments)), self._folder)

    def beside_preview(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Those that the program gets by stdin or JPQ_TOOL_ARGS alone."""
        placed = places_in(self._argv)
        return {name: value for name, value in arguments.items() if name not in placed}

    def run(self, invocation: Invocation, cancel: CancelToken, progress: Progress) -> ToolOutput:
        """Run the program to its end."""
        launch = Launch(
            argv=filled(self._argv, invocation.arguments),
            cwd=invocation.cwd,
            environ={**invocation.environ, **self._env},
            stdin=json.dumps(invocation.arguments).encode() if self._reads_json else None,
        )
        return run_to_output(launch, self.spec, invocation, cancel, progress)


def command_preview(line: str, folder: str) -> str:
    """What the person is shown of a command; ``folder`` is told unless it is the usual one."""
    return f"$ {line}" if folder in ("", ".") else f"$ {line}\nin {folder}"


def run_to_output(
    launch: Launch, spec: ToolSpec, invocation: Invocation, cancel: CancelToken, progress: Progress
) -> ToolOutput:
    """Run a child and make what it gave the tool's output."""
    capture = Capture(spec.max_output_bytes, invocation.full_output)
    try:
        ended = run_process(launch, capture, cancel, progress)
    except CannotStart as error:
        return ToolOutput(f"Not run: {error}", is_error=True)
    return output_of(ended)


def output_of(ended: ProcessEnded) -> ToolOutput:
    """A child's end as the model is told of it."""
    if ended.stopped:
        return ToolOutput(ended.captured.text, True, ended.captured.full_output, ended=STOPPED)
    parts = [_status_line(ended.status), ended.captured.text, _survivors_line(ended.survivors)]
    said = [part for part in parts if part]
    content = "\n".join([part.rstrip("\n") for part in said[:-1]] + said[-1:]) or "(no output)"
    return ToolOutput(content, ended.status != 0, ended.captured.full_output, COMPLETED)


def _status_line(status: Optional[int]) -> str:
    if status == 0:
        return ""
    if status is None:
        return "Failed: it could not be ended."
    if status < 0:
        return f"Failed: it was ended by {_signal_name(-status)}."
    return f"Failed with exit status {status}."


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _survivors_line(survivors: Sequence[str]) -> str:
    if not survivors:
        return ""
    shown = ", ".join(shortened(cleaned(each), 60) for each in survivors[:_SURVIVORS_SHOWN])
    more = len(survivors) - _SURVIVORS_SHOWN
    shown += f" and {more} more" if more > 0 else ""
    return f"[ended what it had left running in the background: {shown}]"
