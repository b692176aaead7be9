"""shell: a line for the shell, or a program with its arguments."""

from __future__ import annotations

import shlex
import shutil
from typing import Any, List, Mapping, Optional

from jpq.interrupt.cancel import CancelToken
from jpq.tools.command import command_preview, run_to_output
from jpq.tools.definition import CommandLine, Description, Invocation, Progress, Tool, ToolOutput
from jpq.tools.process import TIMES
from jpq.tools.process_start import Launch
from jpq.tools.schema import json_schema

_PARAMETERS = {
    "command": {"type": "string", "description": "one line for the shell"},
    "argv": {
        "type": "array",
        "items": {"type": "string"},
        "description": "instead of command: a program and its arguments, which no shell reads",
    },
}


class ShellTool(Tool):
    """Runs what the model says, as the person sees it in the prompt."""

    stops_within_s = TIMES.longest_stop_s

    @classmethod
    def describe(cls, name: str, settings: Mapping[str, Any], cwd: str) -> Description:
        return Description(
            f"Run a command in {_shell()}, without a terminal and with nothing to read from "
            "stdin. Give either command or argv. What it leaves running in the background is "
            "ended with it.",
            json_schema(_PARAMETERS, name),
        )

    def preview(self, arguments: Mapping[str, Any]) -> str:
        """The line as it will run."""
        line = self.command_line(arguments)
        if line is None:
            return "(neither command nor argv is given, or both)"
        shown = line if isinstance(line, str) else shlex.join(line)
        return command_preview(shown, self.spec.settings.get("cwd", "."))

    def command_line(self, arguments: Mapping[str, Any]) -> Optional[CommandLine]:
        """What the model chose to run; None where that is nothing or unclear."""
        command: str = arguments.get("command", "")
        argv: List[str] = arguments.get("argv", [])
        if bool(command.strip()) == bool(argv):
            return None
        return command if command.strip() else argv

    def run(self, invocation: Invocation, cancel: CancelToken, progress: Progress) -> ToolOutput:
        """Run it to its end."""
        line = self.command_line(invocation.arguments)
        if line is None:
            return ToolOutput("Not run: give either command or argv.", is_error=True)
        argv = [_shell(), "-c", line] if isinstance(line, str) else list(line)
        environ = {**invocation.environ, **self.spec.settings.get("env", {})}
        launch = Launch(argv, invocation.cwd, environ)
        return run_to_output(launch, self.spec, invocation, cancel, progress)


def _shell() -> str:
    """bash, since that is what models write, else what every Unix has."""
    return shutil.which("bash") or "/bin/sh"
