"""The tools of a run: which are configured, which are named, and which module makes each."""

from __future__ import annotations

import importlib
from fnmatch import fnmatchcase
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Type

from jpq.config.load import Config
from jpq.config.lookup import nearest_of
from jpq.config.nested import join_name
from jpq.errors import ConfigError, UsageError
from jpq.tools.changing_tools import ChangingTools
from jpq.tools.definition import MODES, UNATTENDED, Tool, ToolSpec
from jpq.tools.schema import json_schema
from jpq.tools.toolset import Toolset

# ``source`` in the configuration -> "module:Class", loaded when a tool of that kind is used.
KINDS = {
    "command": "jpq.tools.command:CommandTool",
    "python": "jpq.tools.python_function:PythonTool",
    "http": "jpq.tools.http:HttpTool",
}

# The tools that jpq brings, offered only when named.
BUILTINS = {
    "shell": "jpq.tools.builtin.shell:ShellTool",
    "read_file": "jpq.tools.builtin.read_file:ReadFileTool",
    "write_file": "jpq.tools.builtin.write_file:WriteFileTool",
    "edit_file": "jpq.tools.builtin.edit_file:EditFileTool",
    "list_files": "jpq.tools.builtin.list_files:ListFilesTool",
    "search_files": "jpq.tools.builtin.search_files:SearchFilesTool",
    "fetch_url": "jpq.tools.builtin.fetch_url:FetchUrlTool",
    "ask_user": "jpq.tools.builtin.ask_user:AskUserTool",
}

_BUILTIN = "builtin"
# A table with none of these only sets modes or limits of a tool that comes from elsewhere.
_DEFINING = ("source", "command", "function", "url")
_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_NAME_LIMIT = 64


def is_configured(table: Mapping[str, Any]) -> bool:
    """Whether ``[tools.NAME]`` says what the tool is."""
    return any(key in table for key in _DEFINING)


def offered_names(
    config: Config, wanted: Optional[Sequence[str]], others: Iterable[str] = ()
) -> Tuple[List[str], List[str]]:
    """The names of the tools to offer, and what in ``wanted`` stands for none.

    ``wanted`` are names and globs that choose from the configured tools and ``others``;
    None is all of these. A builtin is offered only if it is named in full.
    """
    names = [name for name, table in _tables(config).items() if is_configured(table)]
    names += [name for name in others if name not in names]
    if wanted is None:
        return names, []
    chosen = [name for name in names if any(fnmatchcase(name, glob) for glob in wanted)]
    chosen += [name for name in BUILTINS if name in wanted and name not in chosen]
    idle = [glob for glob in wanted if not any(fnmatchcase(name, glob) for name in chosen)]
    return chosen, idle


def build_toolset(
    config: Config,
    cwd: str,
    *,
    strict: bool = False,
    others: Mapping[str, Tool] = {},
) -> Toolset:
    """The tools that ``active_tools`` chooses. ``others`` are tools that somebody else made
    (those of MCP servers).

    Raises ConfigError for a tool that cannot be used as configured and, with ``strict``,
    UsageError for a name that stands for no tool; without it such a name is passed over,
    because a conversation may outlive its tools.
    """
    names, idle = offered_names(config, config["active_tools"], others)
    if idle and strict:
        raise _no_such_tool(idle[0], [*_tables(config), *others, *BUILTINS])
    tools = {
        name: others[name] if name in others else build_tool(config, name, cwd) for name in names
    }
    if not isinstance(others, ChangingTools):
        return Toolset(tools)
    changing = others

    def refresh() -> None:
        """Have what the servers offer now in place of what they did."""
        before, now = changing.take_changes()
        for name in before:
            tools.pop(name, None)
        offered, _ = offered_names(config, config["active_tools"], now)
        tools.update((name, now[name]) for name in offered if name in now)

    return Toolset(tools, refresh)


def build_tool(config: Config, name: str, cwd: str) -> Tool:
    """One configured tool or builtin. Raises ConfigError, UsageError if there is none."""
    table = config.table(join_name(("tools", name)))
    if not is_configured(table) and name not in BUILTINS:
        raise _no_such_tool(name, [*_tables(config), *BUILTINS])
    source = table.get("source", "command" if is_configured(table) else _BUILTIN)
    kind = _kind(name, source, config)
    return kind(_spec(config, name, source, table, kind, cwd), cwd)


def _kind(name: str, source: str, config: Config) -> Type[Tool]:
    row = BUILTINS.get(name) if source == _BUILTIN else KINDS.get(source)
    if row is None:
        raise ConfigError(
            f"The tool {name!r} has source = {source!r}, and there is no such tool.",
            where=_where(config, name, "source"),
            hint=f"Builtins are {', '.join(BUILTINS)}.",
        )
    module, _, attribute = row.partition(":")
    kind: Type[Tool] = getattr(importlib.import_module(module), attribute)
    return kind


def _spec(
    config: Config, name: str, source: str, table: Mapping[str, Any], kind: Type[Tool], cwd: str
) -> ToolSpec:
    where = _where(config, name)
    check_name(name, where)
    known = kind.describe(name, table, cwd)
    parameters = table.get("parameters")
    schema = known.parameters if parameters is None else json_schema(parameters, where)
    return ToolSpec(
        name=name,
        source=source,
        description=table.get("description") or known.description,
        parameters=schema,
        run=table.get("run", kind.default_run),
        result=_result_mode(table, source, where),
        timeout_s=_value(config, name, "timeout_s"),
        max_output_bytes=_value(config, name, "max_output_bytes"),
        display_name=table.get("display", {}).get("name", ""),
        title=table.get("display", {}).get("title", ""),
        strict=bool(table.get("strict", False)),
        settings=table,
    )


def check_name(name: str, where: str) -> None:
    """Raise ConfigError where ``name`` cannot be a tool's."""
    if not name or len(name) > _NAME_LIMIT or not _NAME_CHARACTERS.issuperset(name):
        raise ConfigError(
            f"{name!r} cannot be a tool's name.",
            where=where,
            hint="Names are up to 64 letters, digits, '-' and '_'.",
        )


def _result_mode(table: Mapping[str, Any], source: str, where: str) -> str:
    mode = str(table.get("result", UNATTENDED))
    if mode in MODES:
        return mode
    if source == "http":
        return UNATTENDED  # it is the path into the reply
    raise ConfigError(
        f"result = {mode!r} is none of {', '.join(MODES)}.",
        where=where,
    )


def _value(config: Config, name: str, key: str) -> Any:
    return config[join_name(("tools", name, key))]


def _where(config: Config, name: str, key: str = "") -> str:
    path = join_name(("tools", name, key) if key else ("tools", name))
    explained = config.explain(path)
    return f"{path}, {explained[-1][0]}" if explained else path


def _tables(config: Config) -> Dict[str, Dict[str, Any]]:
    tools = config.table("tools")
    return {name: table for name, table in tools.items() if isinstance(table, dict)}


def _no_such_tool(name: str, known: Sequence[str]) -> UsageError:
    close = nearest_of(name, known)
    known_words = ", ".join(dict.fromkeys(known))
    return UsageError(
        f"There is no tool named {name!r}."
        if name.isidentifier()
        else f"No tool matches {name!r}.",
        hint=f"Did you mean {close}?" if close else f"There are: {known_words}.",
    )
