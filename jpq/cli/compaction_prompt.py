"""Asks whether a conversation that has become too long is to be made shorter at once."""

from __future__ import annotations

import os
from typing import Any, Callable

from jpq.cli.conversation_compact import Wanted, compact_now
from jpq.cli.environment import Environment
from jpq.cli.failure import tell_error
from jpq.errors import PREFIX, JpqError
from jpq.store.library import Library
from jpq.terminal.tty import Terminal

_QUESTION = "Make it shorter now? [s]ummary [d]rop reasoning and shorten results of tools [n]o "


def ask_to_compact(
    journal: Any, too_long: bool, env: Environment, open_asker: Callable[[], Any]
) -> None:
    """Ask on the controlling terminal, and do what is chosen with the closed ``journal``.

    Main thread. Anything but one of the ways is no. A failure is told and changes nothing,
    neither the conversation nor how the run ends. ``open_asker`` makes what a summary is asked
    of.
    """
    try:
        with Terminal.open() as terminal:
            terminal.drop_typed_ahead()
            terminal.write(PREFIX + _QUESTION)
            answer = (terminal.read_line() or "").strip().lower()
    except OSError:
        return
    if answer[:1] not in ("s", "d"):
        return
    alone = too_long or len(journal.stream.turns()) <= 2
    summarize = answer[0] == "s"
    wanted = Wanted(1 if alone else 2, not summarize, not summarize, summarize)
    library = Library(os.path.join(env.paths.data, "conversations"))
    try:
        compact_now(journal.id, wanted, env, library, open_asker)
    except JpqError as error:
        tell_error(env, error)
        return
    if too_long:
        env.notice("Go on with: jpq --retry")
