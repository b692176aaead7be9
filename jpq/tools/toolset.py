"""Toolset: the tools on offer.

Apart from what makes them, which a run without tools does not load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Mapping, Tuple

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
