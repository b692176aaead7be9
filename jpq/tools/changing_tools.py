"""ChangingTools: tools on offer that somebody else may change meanwhile."""

from __future__ import annotations

from typing import Callable, Dict, Mapping, Optional, Tuple

from jpq.tools.definition import Tool


class ChangingTools(Dict[str, Tool]):
    """Tools of somebody else (MCP servers), as they were when this was made.

    ``look`` gives those of now; None where they are the same as at the last look.
    """

    def __init__(
        self, tools: Mapping[str, Tool], look: Callable[[], Optional[Mapping[str, Tool]]]
    ) -> None:
        super().__init__(tools)
        self._look = look
        self._current: Mapping[str, Tool] = dict(tools)

    def take_changes(self) -> Tuple[Mapping[str, Tool], Mapping[str, Tool]]:
        """The tools that went and those that came since the last time; none for no change."""
        now = self._look()
        if now is None:
            return {}, {}
        before, self._current = self._current, now
        return before, now
