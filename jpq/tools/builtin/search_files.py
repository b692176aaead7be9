"""search_files: the lines below a folder that hold a text or match a pattern."""

from __future__ import annotations

import json
import os
import pkgutil
import sys
from typing import Any, Mapping

from jpq.interrupt.cancel import CancelToken
from jpq.process.start import CannotStart, Launch
from jpq.tools.builtin.files import FileTool
from jpq.tools.builtin.roots import Refused
from jpq.tools.capture import Capture
from jpq.tools.definition import STOPPED, Description, Invocation, ToolOutput
from jpq.tools.process import TIMES, run_process
from jpq.tools.schema import json_schema

_PARAMETERS = {
    "pattern": {"type": "string", "description": "the text to look for", "required": True},
    "path": {
        "type": "string",
        "description": "the folder or file; else the working folder",
    },
    "glob": {"type": "string", "description": "only in files with names like this, such as *.py"},
    "regex": {"type": "boolean", "description": "pattern is a Python regular expression"},
    "ignore_case": {
        "type": "boolean",
        "description": "capitals and small letters are the same",
    },
}
MAX_MATCHES = 200


class SearchFilesTool(FileTool):
    """Searches in a process of its own, which can be ended whatever the pattern is."""

    stops_within_s = TIMES.longest_stop_s

    @classmethod
    def describe(cls, name: str, settings: Mapping[str, Any], cwd: str) -> Description:
        return Description(
            "Search text files for lines with a text or a regular expression.",
            json_schema(_PARAMETERS, name),
        )

    def work(self, invocation: Invocation, cancel: CancelToken) -> ToolOutput:
        arguments = invocation.arguments
        path = str(arguments.get("path", "."))
        real = self.roots.resolve(path)
        if not os.path.exists(real):
            raise Refused(f"{path} does not exist.")
        wanted = {
            "folder": real,
            "base": os.path.realpath(self.roots.base),
            "pattern": str(arguments["pattern"]),
            "regex": bool(arguments.get("regex", False)),
            "ignore_case": bool(arguments.get("ignore_case", False)),
            "glob": str(arguments.get("glob", "")),
            "limit": MAX_MATCHES,
        }
        launch = Launch(
            argv=(sys.executable, "-I", "-S", "-c", _program()),
            cwd=os.path.dirname(real),
            environ=invocation.environ,
            stdin=json.dumps(wanted).encode(),
        )
        capture = Capture(self.spec.max_output_bytes, invocation.full_output)
        try:
            ended = run_process(launch, capture, cancel, lambda text: None)
        except CannotStart as error:
            raise Refused(str(error)) from error
        text, full_output = ended.captured
        if ended.stopped:
            return ToolOutput(text, True, full_output, ended=STOPPED)
        return ToolOutput(text.rstrip("\n"), ended.status != 0, full_output)


def _program() -> str:
    """The source of what searches; jpq may be inside a zip archive."""
    data = pkgutil.get_data("jpq.tools.builtin", "search_child.py")
    assert data is not None
    return data.decode()
