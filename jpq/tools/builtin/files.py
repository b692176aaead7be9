"""FileTool: what the file tools have in common."""

from __future__ import annotations

import abc

from jpq.interrupt.cancel import CancelToken
from jpq.tools.builtin.roots import Refused, Roots
from jpq.tools.definition import Invocation, Progress, Tool, ToolOutput, ToolSpec


class FileTool(Tool):
    """A tool that works below its roots; what it is refused is an error result."""

    def __init__(self, spec: ToolSpec, cwd: str) -> None:
        super().__init__(spec, cwd)
        self.roots = Roots(spec.settings, cwd)

    def run(self, invocation: Invocation, cancel: CancelToken, progress: Progress) -> ToolOutput:
        """Do it. Worker thread."""
        try:
            return self.work(invocation, cancel)
        except Refused as error:
            return ToolOutput(str(error), is_error=True)

    @abc.abstractmethod
    def work(self, invocation: Invocation, cancel: CancelToken) -> ToolOutput:
        """What it does. Worker thread. Raises Refused."""
