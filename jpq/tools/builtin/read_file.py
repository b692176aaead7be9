"""read_file: the text of a file, or some of its lines; a picture or a PDF as it is."""

from __future__ import annotations

import os
from typing import Any, BinaryIO, List, Mapping, Tuple

from jpq.interrupt.cancel import CancelToken
from jpq.tools.builtin.files import FileTool
from jpq.tools.builtin.roots import Refused, open_regular
from jpq.tools.definition import STOPPED, Description, Invocation, ToolOutput
from jpq.tools.media import MEDIUM_BYTES, medium
from jpq.tools.schema import json_schema

_PARAMETERS = {
    "path": {"type": "string", "description": "the file", "required": True},
    "offset": {"type": "integer", "minimum": 1, "description": "first line, counted from 1"},
    "limit": {"type": "integer", "minimum": 1, "description": "how many lines"},
}
_LOOK_BYTES = 8192
_ROOM_BYTES = 200  # for the line that says what was left out


class ReadFileTool(FileTool):
    """Delivers as many whole lines as fit, and says how to go on."""

    @classmethod
    def describe(cls, name: str, settings: Mapping[str, Any], cwd: str) -> Description:
        return Description(
            "Read a text file, an image or a PDF. A long text comes in parts: go on with offset.",
            json_schema(_PARAMETERS, name),
        )

    def work(self, invocation: Invocation, cancel: CancelToken) -> ToolOutput:
        path = str(invocation.arguments["path"])
        real = self.roots.resolve(path)
        first = int(invocation.arguments.get("offset", 1))
        limit = int(invocation.arguments.get("limit", 0))
        with os.fdopen(open_regular(real, path), "rb") as file:
            begins = file.read(_LOOK_BYTES)
            size = os.fstat(file.fileno()).st_size
            if medium(path, begins) is not None and size <= MEDIUM_BYTES:
                return _as_medium(path, begins + file.read(MEDIUM_BYTES))
            if b"\0" in begins:
                raise Refused(f"{path} is binary, {size} bytes.")
            file.seek(0)
            lines, total = self._lines(file, first, limit, cancel)
        if cancel.cancelled:
            return ToolOutput("", is_error=True, ended=STOPPED)
        if not lines and (first > 1 or total):
            raise Refused(f"{path} has {total} lines, and none from line {first} on.")
        return ToolOutput(_told(lines, first, total))

    def _lines(
        self, file: BinaryIO, first: int, limit: int, cancel: CancelToken
    ) -> Tuple[List[str], int]:
        """The lines wanted that fit, and how many the file has."""
        room = max(1, self.spec.max_output_bytes - _ROOM_BYTES)
        lines: List[str] = []
        total = used = 0
        full = False
        while not cancel.cancelled:
            line = file.readline(room)
            if not line:
                break
            total += 1
            cut = _skip_rest(file, line)
            if total < first:
                continue
            full = full or 0 < limit <= len(lines) or used + len(line) > room
            if full and lines:
                continue
            used += len(line)
            lines.append(line.decode("utf-8", "replace") + cut)
        return lines, total


def _as_medium(path: str, data: bytes) -> ToolOutput:
    attached = medium(os.path.basename(path), data)
    if attached is None:
        raise Refused(f"{path} has just become larger than {MEDIUM_BYTES} bytes.")
    told = f"[{attached.name}: {attached.media_type}, {len(data)} bytes]"
    return ToolOutput(told, attachments=(attached,))


def _skip_rest(file: BinaryIO, line: bytes) -> str:
    """Read on to the end of a line that was cut; what is to be said in its place."""
    if line.endswith(b"\n"):
        return ""
    skipped = 0
    while line and not line.endswith(b"\n"):
        line = file.readline(_LOOK_BYTES)
        skipped += len(line)
    return f" [... {skipped} more bytes of this line]\n" if skipped else ""


def _told(lines: List[str], first: int, total: int) -> str:
    if not lines:
        return "(the file is empty)"
    last = first + len(lines) - 1
    text = "".join(lines)
    if first == 1 and last == total:
        return text
    more = f"; go on with offset = {last + 1}" if last < total else ""
    end = "" if text.endswith("\n") else "\n"
    return f"{text}{end}[lines {first} to {last} of {total}{more}]"
