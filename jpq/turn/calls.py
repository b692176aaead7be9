"""CallRound: what the turn loop wants of whoever runs a cycle's calls.

Apart from its implementation, which a turn without calls does not load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, List, Mapping, Optional, Protocol, Sequence, Tuple

from jpq.conversation.event import Draft, ToolCall
from jpq.conversation.stream import ConversationStream
from jpq.errors import DeniedError
from jpq.named import NamedTuple
from jpq.turn.coordinator import Answer

if TYPE_CHECKING:
    from jpq.tools.consent import Asker
    from jpq.tools.definition import ToolAnswered

Settle = Callable[[List["ToolAnswered"], List[Draft]], None]


class Surroundings(NamedTuple):
    """Where tools run: the environment they inherit, the folder, the conversation's folder
    (None where nothing is saved), whether a person can be asked, and ``--yes``. ``asker`` asks
    in another way than on the terminal, for a program that drives the turn; programs are also
    shown results as they come, and not ``in_order`` of the calls."""

    environ: Mapping[str, str]
    cwd: str
    folder: Optional[str]
    interactive: bool
    yes: bool
    asker: Optional[Asker] = None
    in_order: bool = True


class CallRound(Protocol):
    """Runs calls and shows their results. Main thread. See ``jpq.turn.tool_phase``."""

    @property
    def denied(self) -> Optional[DeniedError]: ...

    def start(self, calls: Sequence[ToolCall], earlier: Sequence[ToolCall]) -> None: ...

    def attend(self) -> Any: ...

    def behind(self) -> Any: ...

    def hand_back(self) -> None: ...

    def running(self) -> Sequence[Tuple[str, str]]: ...

    def cancel(self) -> None: ...

    def restart(self, ids: Sequence[str]) -> None: ...

    def close(self) -> None: ...


def earlier_calls(stream: ConversationStream, pending: int) -> List[ToolCall]:
    """The calls of the last turn that were made before its last ``pending`` ones."""
    turn = stream.last_turn()
    events = [entry.event for entry in turn.entries] if turn else []
    return [event for event in events if isinstance(event, ToolCall)][:-pending]


def cut_answers(calls: Sequence[ToolCall], reason: Optional[str]) -> List[Answer]:
    """The answers to calls of a message that ended because of ``reason``: none is run, as
    any of them may be cut, and a cut prefix can be valid JSON."""
    told = f"Not run: the answer was stopped ({reason}) before it was whole."
    return [Answer(call.id, told, is_error=True) for call in calls]
