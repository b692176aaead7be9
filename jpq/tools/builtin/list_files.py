"""list_files: what is in a folder."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from typing import Any, Iterator, List, Mapping

from jpq.interrupt.cancel import CancelToken
from jpq.tools.builtin.files import FileTool
from jpq.tools.builtin.roots import Refused
from jpq.tools.definition import COMPLETED, STOPPED, Description, Invocation, ToolOutput
from jpq.tools.limits import capped
from jpq.tools.schema import json_schema

_PARAMETERS = {
    "path": {"type": "string", "description": "the folder; the working folder if not given"},
    "pattern": {"type": "string", "description": "only names like this, such as *.py"},
    "recursive": {"type": "boolean", "description": "the folders below as well"},
}
MAX_ENTRIES = 1000
# Their insides are no one's business but their program's.
_CLOSED = (".git", ".hg", ".svn")


class ListFilesTool(FileTool):
    """One name a line; folders end with ``/``, links say where they lead and are not followed."""

    @classmethod
    def describe(cls, name: str, settings: Mapping[str, Any], cwd: str) -> Description:
        return Description(
            "List the files and folders in a folder.", json_schema(_PARAMETERS, name)
        )

    def work(self, invocation: Invocation, cancel: CancelToken) -> ToolOutput:
        arguments = invocation.arguments
        path = str(arguments.get("path", "."))
        real = self.roots.resolve(path)
        if not os.path.isdir(real):
            raise Refused(f"{path} is not a folder.")
        pattern = str(arguments.get("pattern", "*"))
        lines: List[str] = []
        for line in _entries(real, "", bool(arguments.get("recursive", False)), cancel):
            name = line.partition(" -> ")[0].rstrip("/")
            if fnmatchcase(name, pattern) or fnmatchcase(os.path.basename(name), pattern):
                if len(lines) == MAX_ENTRIES:
                    lines.append(f"[more than {MAX_ENTRIES}: give a pattern or a folder below]")
                    break
                lines.append(line)
        text = _readable("\n".join(lines)) or "(nothing)"
        content, full_output = capped(text, self.spec.max_output_bytes, invocation.full_output)
        ended = STOPPED if cancel.cancelled else COMPLETED
        return ToolOutput(content, cancel.cancelled, full_output, ended)


def _entries(folder: str, below: str, recursive: bool, cancel: CancelToken) -> Iterator[str]:
    """A line for each thing in ``folder``, which they call ``below``. Raises Refused."""
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        if not below:
            raise Refused(f"The folder cannot be read: {error.strerror}.") from error
        yield f"{below}[cannot be read: {error.strerror}]"
        return
    for entry in entries:
        if cancel.cancelled:
            return
        name = below + entry.name
        if entry.is_symlink():
            yield f"{name} -> {_target(entry.path)}"
        elif entry.is_dir(follow_symlinks=False):
            yield name + "/"
            if recursive and entry.name not in _CLOSED:
                yield from _entries(entry.path, name + "/", True, cancel)
        else:
            yield name


def _readable(names: str) -> str:
    """``names`` with what is no text in them replaced."""
    return os.fsencode(names).decode("utf-8", "replace")


def _target(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return "?"
