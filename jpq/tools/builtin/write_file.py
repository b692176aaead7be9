"""write_file: make a text the whole of a file."""

from __future__ import annotations

import os
from typing import Any, Mapping

from jpq.interrupt.cancel import CancelToken
from jpq.tools.builtin.diff import shown_diff
from jpq.tools.builtin.files import FileTool
from jpq.tools.builtin.roots import Refused, read_text, write_text
from jpq.tools.definition import Description, Invocation, ToolOutput
from jpq.tools.schema import json_schema

_PARAMETERS = {
    "path": {"type": "string", "description": "the file", "required": True},
    "content": {"type": "string", "description": "its whole new content", "required": True},
}


class WriteFileTool(FileTool):
    """Writes the file whole or not at all."""

    @classmethod
    def describe(cls, name: str, settings: Mapping[str, Any], cwd: str) -> Description:
        return Description(
            "Write a text file: create it, or replace all that is in it.",
            json_schema(_PARAMETERS, name),
        )

    def preview(self, arguments: Mapping[str, Any]) -> str:
        """What it would change."""
        path, content = str(arguments["path"]), str(arguments["content"])
        try:
            real = self.roots.resolve(path)
            shown = self.roots.shown(real)
            if not os.path.exists(real):
                return f"new file {shown}\n{shown_diff(shown, '', content)}".rstrip("\n")
            return shown_diff(shown, read_text(real, path), content) or f"{shown} stays as it is"
        except Refused as error:
            return f"{error}\n{content}"

    def work(self, invocation: Invocation, cancel: CancelToken) -> ToolOutput:
        path = str(invocation.arguments["path"])
        real = self.roots.resolve(path)
        existed = os.path.lexists(real)
        size = write_text(real, path, str(invocation.arguments["content"]))
        return ToolOutput(f"{'Replaced' if existed else 'Created'} {path}, {size} bytes.")
