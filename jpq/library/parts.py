"""Parts: what a session is made of, and the setup of each of its turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Mapping, Optional, Sequence

from jpq.events.turn import Notice
from jpq.library.asking import ProgramAsker
from jpq.library.opening import (
    OfferedTool,
    Place,
    functions_of,
    load,
    model_of,
    servers_of,
    toolset_of,
)
from jpq.library.running import RunningTurn
from jpq.named import NamedTuple
from jpq.provider.base import Provider
from jpq.provider.tool_names import RenamedTools
from jpq.session import TurnSetup, open_provider
from jpq.store.journal import Journal
from jpq.tools.toolset import Toolset
from jpq.turn.calls import Surroundings

if TYPE_CHECKING:
    from jpq.library.shape import Shape


class Stopped(Exception):
    """The program gave up before anything was sent."""


class Manner(NamedTuple):
    """How questions are asked, as ``--yes``, ``--tool-choice`` and ``--no-stream`` say."""

    yes: bool = False
    tool_choice: Optional[str] = None
    stream: bool = True


class Parts:
    """Settings, provider and tools. Made on the program's thread, then the turn's own.

    ``chosen`` are the conversation's settings, ``own`` those it had before. Raises JpqError.
    """

    def __init__(
        self,
        place: Place,
        config: Mapping[str, Any],
        chosen: Mapping[str, Any],
        own: Mapping[str, Any],
        tools: Optional[Sequence[OfferedTool]],
    ) -> None:
        self.place = place
        self.config = load(place, config, chosen, own)
        self.model = model_of(self.config)
        self._functions = functions_of(tools or (), place.cwd)
        self._told: List[str] = []  # by MCP servers, to whatever turn comes next
        self._servers = servers_of(self.config, place, self._told.append)
        self._opened = False
        try:
            self._toolset = toolset_of(
                self.config, place.cwd, self._functions, known=self._servers is None
            )
            base_url = f"providers.{self.model.provider}.base_url"
            self._provider: Provider = open_provider(
                self.model,
                self.config,
                place.paths,
                place.environ,
                learn_key=_nobody_logs,
                base_url=self.config.option(base_url) or "",
            )
        except BaseException:
            self._close_servers()
            raise

    def setup(
        self,
        turn: RunningTurn,
        journal: Journal,
        asker: Optional[ProgramAsker],
        manner: Manner,
        shape: Optional[Shape],
    ) -> TurnSetup:
        """The setup of ``turn``, on its thread. Raises Stopped, JpqError."""
        self._provider.prepare(self.model.model, _Progress(turn))
        toolset = self._offered(turn)
        provider = self._provider
        if shape is not None:
            provider = shape.told(provider, self.model, self.config, self.place)
        seconds = self.config["request.total_timeout_s"]
        return TurnSetup(
            config=self.config,
            model=self.model,
            provider=RenamedTools(provider) if toolset.tools else provider,
            journal=journal,
            stream=manner.stream,
            deadline=None if seconds is None else turn.inbox.clock() + seconds,
            toolset=toolset,
            tool_choice=manner.tool_choice if toolset.tools else None,
            surroundings=Surroundings(
                environ=self.place.environ,
                cwd=self.place.cwd,
                folder=journal.folder,
                interactive=False,
                yes=manner.yes,
                asker=asker,
                in_order=False,
            ),
            demand=None if shape is None else shape.demand,
        )

    def close(self) -> None:
        """Give back connections, and end servers."""
        self._provider.close()
        self._close_servers()

    def _offered(self, turn: RunningTurn) -> Toolset:
        """The tools, with those of MCP servers once these have started."""
        if self._servers is not None and not self._opened:
            others = self._servers.tools(self._provider, self.model)
            others.update(self._functions)
            self._toolset = toolset_of(self.config, self.place.cwd, others)
            self._opened = True
        while self._told:
            turn.show(Notice(self._told.pop(0)))
        return self._toolset

    def _close_servers(self) -> None:
        if self._servers is not None:
            self._servers.close()


class _Progress:
    """What takes long before the first request (a model that is fetched) as notices."""

    def __init__(self, turn: RunningTurn) -> None:
        self._turn = turn

    def notice(self, text: str) -> None:
        """A line."""
        self._turn.show(Notice(text))

    def update(self, label: str, done: int, total: Optional[int]) -> None:
        """Nothing is told of single bytes, but the program may give up meanwhile."""
        if self._turn.stopping:
            raise Stopped


def _nobody_logs(key: str) -> None:
    """A session writes no log that a key would have to be kept out of."""
