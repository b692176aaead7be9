"""What a session is made of, from what its program asked for."""

from __future__ import annotations

import importlib
import os
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Union

from jpq.config.load import Config, load_config
from jpq.config.nested import join_name, leaves
from jpq.config.paths import Paths
from jpq.conversation.stream import ConversationStream
from jpq.errors import ConfigError, UsageError
from jpq.library.functions import ToolFunction
from jpq.named import NamedTuple
from jpq.provider.base import ModelRef
from jpq.provider.registry import parse_model
from jpq.store.journal import Journal
from jpq.store.library import Library
from jpq.store.memory import MemoryJournal
from jpq.store.workspace import workspace_of
from jpq.tools.definition import Tool
from jpq.tools.registry import build_toolset
from jpq.tools.toolset import Toolset

# Where the command saves: --continue and ``jpq conversation`` know these.
DEFAULT_STORE = "default"

_TITLE_CHARACTERS = 60
_LOCK_WAIT_S = 10.0

OfferedTool = Union[str, ToolFunction, Callable[..., Any]]


class Place(NamedTuple):
    """What surrounds a session: as a process would have it, but its own."""

    environ: Mapping[str, str]
    cwd: str
    paths: Paths


def settings_of(
    model: Optional[str],
    system: Optional[str],
    options: Mapping[str, Any],
    tools: Optional[Sequence[OfferedTool]],
) -> Dict[str, Any]:
    """What the conversation itself sets: dotted key to value."""
    chosen: Dict[str, Any] = {} if model is None else {"model": model}
    if system is not None:
        chosen["system"] = system
    if isinstance(tools, str):  # which would be taken for a list of letters
        raise UsageError("tools takes a list.", hint=f"As in: tools=[{tools!r}]")
    if tools is not None:
        chosen["active_tools"] = [_name_of(tool) for tool in tools]
    chosen.update({join_name(("options", name)): value for name, value in options.items()})
    return chosen


def load(
    place: Place,
    config: Mapping[str, Any],
    chosen: Mapping[str, Any],
    own: Mapping[str, Any],
) -> Config:
    """The settings in effect. ``config`` has nested tables or dotted names; ``own`` are those
    of a conversation that goes on. Raises ConfigError."""
    given = {_dotted(path): value for path, value in leaves(config)}
    return load_config(
        place.paths,
        place.environ,
        place.cwd,
        options={**given, **chosen},
        conversation=own,
        whose="of jpq.Session",
    )


def model_of(config: Config) -> ModelRef:
    """The model that answers. Raises ConfigError."""
    if config["model"] is None:
        raise ConfigError(
            "No model is configured.",
            hint='Name one: jpq.Session("PROVIDER/MODEL"); jpq models ls shows what can answer.',
        )
    return parse_model(config["model"], config.table("aliases"))


def functions_of(tools: Sequence[OfferedTool], cwd: str) -> Dict[str, Tool]:
    """The tools among ``tools`` that are functions. Raises ConfigError, UsageError."""
    made: Dict[str, Tool] = {}
    for each in tools:
        if isinstance(each, str):
            continue
        function = each if isinstance(each, ToolFunction) else ToolFunction(each)
        if function.name in made:
            raise UsageError(f"Two of the tools are called {function.name!r}.")
        made[function.name] = function.as_tool(cwd)
    return made


def toolset_of(
    config: Config, cwd: str, others: Mapping[str, Tool], *, known: bool = True
) -> Toolset:
    """The tools on offer. Raises ConfigError, UsageError for a name that stands for none;
    while not all are ``known`` yet, it may be theirs."""
    return build_toolset(config, cwd, strict=known, others=others)


def servers_of(config: Config, place: Place, tell: Callable[[str], None]) -> Any:
    """The MCP servers of which tools are wanted, which start meanwhile; None for none."""
    if not config.table("mcp"):
        return None
    module = importlib.import_module("jpq.tools.mcp_run")  # of no use to most sessions
    around = module.surroundings(place.paths, place.environ, place.cwd)
    return module.begin_servers(around, config, asks=False, tell=tell)


def library_at(store: Optional[str], paths: Paths) -> Optional[Library]:
    """Where conversations are saved; None for nowhere."""
    if store is None:
        return None
    default = os.path.join(paths.data, "conversations")
    return Library(default if store == DEFAULT_STORE else os.path.abspath(store))


def saved_journal(library: Optional[Library], conversation: Optional[str]) -> Optional[Journal]:
    """The saved conversation that goes on, open for writing; None for a new one.

    Raises BadInputError, ConversationBusyError, WriteError.
    """
    if conversation is None:
        return None
    if library is None:
        raise UsageError("A conversation that goes on needs the store that it is in.")
    return library.open(library.resolve(conversation), _LOCK_WAIT_S, lambda line: None)


def new_journal(
    library: Optional[Library],
    chosen: Mapping[str, Any],
    model: ModelRef,
    place: Place,
    question: str,
) -> Journal:
    """A new conversation, which begins with ``question``. Raises WriteError."""
    if library is None:
        return MemoryJournal(ConversationStream(chosen))
    metadata = {
        "title": " ".join(question.split())[:_TITLE_CHARACTERS],
        "workspace": workspace_of(place.cwd),
        "model": str(model),
    }
    return library.create(metadata, chosen, is_last=False)


def _name_of(tool: OfferedTool) -> str:
    if isinstance(tool, str):
        return tool
    name = getattr(tool, "name", None) or getattr(tool, "__name__", "")
    return str(name)


def _dotted(path: Sequence[str]) -> str:
    """The dotted name of ``path``, whose first part may be one already."""
    first, *rest = path
    return ".".join([first, join_name(tuple(rest))] if rest else [first])
