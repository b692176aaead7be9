"""What programs are told of a turn beside what a person sees.

Loaded for ``--format jsonl`` and by Python programs.
"""

from __future__ import annotations

import functools
from typing import Mapping, Optional

from jpq.config.load import Config
from jpq.config.paths import find_paths
from jpq.events.turn import StreamStart, TokenUpdate, ToolUse, TurnEvent
from jpq.provider.base import ModelRef
from jpq.provider.window import context_window
from jpq.render.display import Display
from jpq.store.journal import Journal
from jpq.tools.toolset import Toolset


class Detailed:
    """A Display that shows on another one, with the turn's id, the names of tools for people
    and the context window added."""

    def __init__(
        self,
        display: Display,
        journal: Journal,
        toolset: Toolset,
        model: ModelRef,
        config: Config,
        environ: Mapping[str, str],
    ) -> None:
        self._display = display
        self.flush = display.flush
        self.lease = display.lease
        self.lease_now = display.lease_now
        self._journal = journal
        self._toolset = toolset
        # Looked for once it is needed, and once only: that takes longer than an event may.
        self._limit = functools.lru_cache(maxsize=None)(
            lambda: context_window(model, config, find_paths(environ).cache, environ)
        )

    def show(self, event: TurnEvent) -> None:
        """Show ``event``. Any thread; what something is added to is told by the turn's only."""
        if isinstance(event, StreamStart):
            event = event._replace(turn=self._turn())
        elif isinstance(event, ToolUse):
            tool = self._toolset.tools.get(event.name)
            display_name = "" if tool is None else tool.spec.display_name
            event = event._replace(
                display_name=display_name or event.name,
                title=self._toolset.title(event.name, event.arguments),
            )
        elif isinstance(event, TokenUpdate):
            event = event._replace(context_limit=self._limit())
        self._display.show(event)

    def _turn(self) -> Optional[str]:
        turn = self._journal.stream.last_turn()
        return None if turn is None else turn.entries[0].event_id
