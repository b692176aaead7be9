"""Which conversation of a workspace was opened last: a note that nothing depends on.

A note is a file ``.last/<number>`` that names the workspace and the conversation. Where
there is none, or it is wrong, the conversations themselves say the same, more slowly.
"""

from __future__ import annotations

import os
import zlib
from typing import Any, Optional

from jpq.conversation.entry import to_json_bytes
from jpq.store.files import make_private_folder, replace_file
from jpq.store.reading import read_object

_FOLDER = ".last"


def remember_last(library: str, workspace: Any, id: str) -> None:
    """Note that ``id`` is the last of ``workspace``; a note that cannot be written is not."""
    if not isinstance(workspace, str) or noted_last(library, workspace) == id:
        return
    path = _path(library, workspace)
    try:
        if not os.path.isdir(os.path.dirname(path)):
            make_private_folder(os.path.dirname(path))
    except OSError:
        pass  # another process was quicker, or it fails again below
    try:
        note = to_json_bytes({"workspace": workspace, "id": id}) + b"\n"
        replace_file(path, note, durable=False)
    except OSError:
        pass  # the folder is full or read-only, which whoever writes the conversation tells


def noted_last(library: str, workspace: str) -> Optional[str]:
    """The id in the note of ``workspace``, which may be gone by now; None without a note."""
    try:
        note = read_object(_path(library, workspace))
    except OSError:
        return None
    id = note.get("id")
    return id if note.get("workspace") == workspace and isinstance(id, str) else None


def _path(library: str, workspace: str) -> str:
    number = zlib.crc32(workspace.encode("utf-8", "surrogatepass"))
    return os.path.join(library, _FOLDER, f"{number:08x}.json")
