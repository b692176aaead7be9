"""Toolset: the tools on offer.

Apart from what makes them, which a run without tools does not load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, Optional, Tuple

from jpq.provider.base import ToolDefinition

if TYPE_CHECKING:
    from jpq.tools.definition import Tool


class Toolset:
    """The tools on offer. Any thread, but for ``refresh``, which changes them.

    ``refresh`` is called before each request, on the thread that makes it.
    """

    def __init__(
        self, tools: Mapping[str, Tool], refresh: Callable[[], None] = lambda: None
    ) -> None:
        self.tools = tools
        self.refresh = refresh

    @property
    def definitions(self) -> Tuple[ToolDefinition, ...]:
        """The tools as a model is told of them."""
        return tuple(
            ToolDefinition(name, tool.spec.description, tool.spec.parameters, tool.spec.strict)
            for name, tool in self.tools.items()
        )

    def title(self, name: str, arguments: Mapping[str, Any]) -> str:
        """The header of a call, for people; its name where there is no such tool."""
        tool = self.tools.get(name)
        return name if tool is None else tool.spec.title_of(arguments)


class ChangingTools(Dict[str, "Tool"]):
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
