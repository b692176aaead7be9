"""The search of search_files, run as a program of its own: a pattern that takes for ever must
not hold up jpq, and a process can be ended.

Standard library only; it is started without the site's packages. Its one line of input is
JSON: ``folder``, ``base``, ``pattern``, ``regex``, ``ignore_case``, ``glob``, ``limit``.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from fnmatch import fnmatchcase
from typing import Any, Iterator

CLOSED = {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".tox"}
MAX_FILE_BYTES = 10 * 1024 * 1024
SHOWN_LINE = 300


def main() -> None:
    """Print ``path:line: text`` for each match."""
    wanted = json.loads(sys.stdin.buffer.read())
    out: Any = sys.stdout
    out.reconfigure(encoding="utf-8", errors="replace")
    source = wanted["pattern"] if wanted["regex"] else re.escape(wanted["pattern"])
    try:
        pattern = re.compile(source, re.IGNORECASE if wanted["ignore_case"] else 0)
    except (re.error, OverflowError, RecursionError) as error:
        sys.exit(f"The pattern is no regular expression: {error}.")
    found = 0
    for path in files(wanted["folder"], wanted["glob"]):
        shown = os.path.relpath(path, wanted["base"])
        for number, line in enumerate(lines(path), 1):
            if pattern.search(line):
                if found == wanted["limit"]:
                    print(f"[more than {found} matches: narrow the search]")
                    return
                found += 1
                print(f"{shown}:{number}: {line.strip()[:SHOWN_LINE]}", flush=True)
    if not found:
        print("(no match)")


def files(folder: str, glob: str) -> Iterator[str]:
    """The files below ``folder``, or itself; no links, nothing of version control."""
    if not os.path.isdir(folder):
        yield folder
        return
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in CLOSED)
        for name in sorted(names):
            path = os.path.join(parent, name)
            below = os.path.relpath(path, folder)
            if not glob or fnmatchcase(name, glob) or fnmatchcase(below, glob):
                yield path


def lines(path: str) -> list[str]:
    """The lines of a text file; none where it is no text, a link, huge, or not to be read."""
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE_BYTES:
            return []
        with open(path, "rb") as file:
            data = file.read(MAX_FILE_BYTES)
    except OSError:
        return []
    if b"\0" in data[:8192]:
        return []
    return data.decode("utf-8", "replace").splitlines()


if __name__ == "__main__":
    main()
