"""The workspace: the folder that ``--continue`` and ``conversation`` look for conversations of."""

from __future__ import annotations

import os

_MARKS = (".jpq", ".git")


def workspace_of(cwd: str) -> str:
    """The nearest folder from ``cwd`` upwards that holds ``.jpq`` or ``.git``, else ``cwd``.

    The path is absolute and without symbolic links, so that one folder has one name.
    """
    start = os.path.realpath(cwd)
    folder = start
    while True:
        if any(os.path.lexists(os.path.join(folder, mark)) for mark in _MARKS):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return start
        folder = parent
