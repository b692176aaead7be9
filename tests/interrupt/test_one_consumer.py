"""The router is the one place where signals of the person are taken."""

from __future__ import annotations

import os
import re

from tests.support.ptys import ROOT

# Who else sets a handler, and why it cannot be the router's.
OTHERS = {
    "jpq/interrupt/signals.py": "the router",
    "jpq/terminal/modes.py": "Ctrl+Z and Ctrl+\\ while the terminal's modes are changed",
    "jpq/terminal/editor.py": "an open editor keeps Ctrl+C for itself",
    "jpq/terminal/readline_editor.py": "SIGALRM only, which wakes readline up",
    "jpq/cli/early_end.py": "SIGALRM only, for the time limit of what comes before a turn",
}


def test_no_other_module_takes_signals() -> None:
    found = set()
    for parent, _, names in os.walk(os.path.join(ROOT, "jpq")):
        for name in names:
            path = os.path.join(parent, name)
            if name.endswith(".py"):
                with open(path, encoding="utf-8") as file:
                    if re.search(r"\bsignal\.(signal|sigaction)\(", file.read()):
                        found.add(os.path.relpath(path, ROOT).replace(os.sep, "/"))
    assert found == set(OTHERS)
