"""edit_file: replace a text in a file by another, exactly."""

from __future__ import annotations

from typing import Any, List, Mapping

from jpq.interrupt.cancel import CancelToken
from jpq.named import NamedTuple
from jpq.tools.builtin.diff import shown_diff
from jpq.tools.builtin.files import FileTool
from jpq.tools.builtin.roots import Refused, read_text, write_text
from jpq.tools.definition import Description, Invocation, ToolOutput
from jpq.tools.schema import json_schema

_PARAMETERS = {
    "path": {"type": "string", "description": "the file", "required": True},
    "old": {
        "type": "string",
        "description": "the text to replace, exactly as it is in the file, and found once",
        "required": True,
    },
    "new": {"type": "string", "description": "what to put there", "required": True},
    "all": {"type": "boolean", "description": "replace every occurrence"},
}
_SHOWN_LINES = 10


class _Edit(NamedTuple):
    real: str
    path: str
    before: str
    after: str
    lines: List[int]  # where the replaced text begins


class EditFileTool(FileTool):
    """Replaces what is found exactly once, or everywhere if told so."""

    @classmethod
    def describe(cls, name: str, settings: Mapping[str, Any], cwd: str) -> Description:
        return Description(
            "Edit a text file: replace one exact piece of its text by another.",
            json_schema(_PARAMETERS, name),
        )

    def preview(self, arguments: Mapping[str, Any]) -> str:
        """The diff."""
        try:
            edit = self._edit(arguments)
        except Refused as error:
            return str(error)
        return shown_diff(self.roots.shown(edit.real), edit.before, edit.after)

    def work(self, invocation: Invocation, cancel: CancelToken) -> ToolOutput:
        edit = self._edit(invocation.arguments)
        write_text(edit.real, edit.path, edit.after)
        times = "once" if len(edit.lines) == 1 else f"{len(edit.lines)} times"
        return ToolOutput(f"Replaced it {times} in {edit.path}, {_places(edit.lines)}.")

    def _edit(self, arguments: Mapping[str, Any]) -> _Edit:
        path, old, new = (str(arguments[name]) for name in ("path", "old", "new"))
        real = self.roots.resolve(path)
        text = read_text(real, path)
        if not old:
            raise Refused("There is no text to replace: old is empty.")
        if old == new:
            raise Refused("Nothing would change: old and new are the same.")
        if old not in text and "\r\n" in text and "\r" not in old + new:
            # Models write plain line ends, and must not change those of the file.
            old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
        lines = _lines_of(old, text)
        if not lines:
            raise Refused(f"The text to replace is not in {path}. {_hint(old, text)}")
        if len(lines) > 1 and not arguments.get("all", False):
            raise Refused(
                f"The text to replace is in {path} {len(lines)} times, {_places(lines)}. "
                "Give more of the text around it, or all = true."
            )
        return _Edit(real, path, text, text.replace(old, new), lines)


def _lines_of(old: str, text: str) -> List[int]:
    lines = []
    line, counted = 1, 0
    found = text.find(old)
    while found >= 0:
        line += text.count("\n", counted, found)
        counted = found
        lines.append(line)
        found = text.find(old, found + len(old))
    return lines


def _places(lines: List[int]) -> str:
    shown = ", ".join(map(str, lines[:_SHOWN_LINES]))
    more = " and more" if len(lines) > _SHOWN_LINES else ""
    return f"{'line' if len(lines) == 1 else 'lines'} {shown}{more}"


def _hint(old: str, text: str) -> str:
    wanted = old.split()
    for number, line in enumerate(text.split("\n"), 1):
        start = line.split()
        if start and wanted[: len(start)] == start:
            return f"Line {number} begins like it: compare blanks, line ends and what follows."
    return "Read the file again: it must match exactly."
