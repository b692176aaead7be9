"""Asks whether what a project brings along may be used: settings, instructions."""

from __future__ import annotations

import os

from jpq.config.sources import INSTRUCTIONS
from jpq.render.sanitize import sanitize
from jpq.terminal.tty import Terminal

_SHOWN_LINES = 40


def ask_trust(path: str, text: str) -> bool:
    """Show the file on the controlling terminal and ask; anything but yes is no.

    Main thread. Where no terminal answers, nothing is trusted.
    """
    what, risk = "settings for jpq", "They can run commands"
    if os.path.basename(path) == INSTRUCTIONS:
        what, risk = "instructions for the model", "They are sent with each question"
    lines = text.splitlines()
    shown = [sanitize(line) for line in lines[:_SHOWN_LINES]]
    if len(lines) > _SHOWN_LINES:
        shown.append(f"... and {len(lines) - _SHOWN_LINES} more lines")
    try:
        with Terminal.open() as terminal:
            terminal.write(f"This project has {what} in {sanitize(path)}:\n\n")
            terminal.write("".join(f"  {line}\n" for line in shown))
            terminal.drop_typed_ahead()
            terminal.write(f"\n{risk}. Use them? [y]es [n]o ")
            answer = terminal.read_line()
    except OSError:
        return False
    return (answer or "").strip().lower() in ("y", "yes")
