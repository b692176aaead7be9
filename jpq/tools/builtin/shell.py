"""shell: a line for the shell, or a program with its arguments."""

from __future__ import annotations

import shlex
import shutil
from typing import Any, Mapping

from jpq.interrupt.cancel import CancelToken
from jpq.process.start import Launch
from jpq.tools.command import command_preview, run_to_output
from jpq.tools.definition import CommandLine, Description, Invocation, Progress, Tool, ToolOutput
from jpq.tools.process import TIMES
from jpq.tools.schema import json_schema

_PARAMETERS = {
    "command": {
        "type": "string",
        "description": "one line for the shell; with args, the program to run instead",
        "required": True,
    },
    "args": {
        "type": "array",
        "items": {"type": "string"},
        "description": "the program's arguments, which no shell reads",
    },
}


class ShellTool(Tool):
    """Runs what the model says, as the person sees it in the prompt."""

    stops_within_s = TIMES.longest_stop_s

    @classmethod
    def describe(cls, name: str, settings: Mapping[str, Any], cwd: str) -> Description:
        return Description(
            f"Run a command in {_shell()}, without a terminal and with nothing to read from "
            "stdin. What it leaves running in the background is ended with it.",
            json_schema(_PARAMETERS, name),
        )

    def preview(self, arguments: Mapping[str, Any]) -> str:
        """The line as it will run."""
        line = self.command_line(arguments)
        shown = line if isinstance(line, str) else shlex.join(line)
        return command_preview(shown, self.spec.settings.get("cwd", "."))

    def command_line(self, arguments: Mapping[str, Any]) -> CommandLine:
        """What the model chose to run."""
        command: str = arguments["command"]
        return [command, *arguments["args"]] if "args" in arguments else command

    def run(self, invocation: Invocation, cancel: CancelToken, progress: Progress) -> ToolOutput:
        """Run it to its end."""
        line = self.command_line(invocation.arguments)
        argv = [_shell(), "-c", line] if isinstance(line, str) else list(line)
        environ = {**invocation.environ, **self.spec.settings.get("env", {})}
        launch = Launch(argv, invocation.cwd, environ)
        return run_to_output(launch, self.spec, invocation, cancel, progress)


def _shell() -> str:
    """bash, since that is what models write, else what every Unix has."""
    return shutil.which("bash") or "/bin/sh"
