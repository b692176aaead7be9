"""ToolCoordinator: gives every call the model makes its one result."""

from __future__ import annotations

from typing import Callable, NamedTuple, Sequence

from jpq.conversation.event import ToolCall


class ToolAnswered(NamedTuple):
    """The result of the call ``id``, as the model is told."""

    id: str
    content: str
    is_error: bool


class ToolCoordinator:
    """Runs the calls of a cycle and posts one ToolAnswered for each. Main thread.

    ``names`` are the tools the model was offered. A call for anything else, or one whose
    arguments do not parse, is never run: the model is told why and the turn goes on.
    """

    def __init__(self, names: Sequence[str], post: Callable[[ToolAnswered], None]) -> None:
        self._names = tuple(names)
        self._post = post

    def start(self, calls: Sequence[ToolCall]) -> None:
        """Begin all calls; their answers arrive through ``post`` in any order."""
        for call in calls:
            self._post(ToolAnswered(call.id, self._refusal(call), is_error=True))

    def _refusal(self, call: ToolCall) -> str:
        if call.raw is not None:
            return f"Not run: the arguments are not a JSON object: {call.raw}"
        known = ", ".join(self._names) or "none"
        return f"Not run: there is no tool named {call.name!r}. Tools that exist: {known}."
