"""``jpq tools``: the tools a model would be given, and how a call of one would go."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
from typing import Any, ContextManager, Dict, List, Mapping, Optional

from jpq.cli.environment import Environment
from jpq.cli.json_text import to_json
from jpq.cli.tools_run import run_call
from jpq.config.load import Config, load_config
from jpq.config.nested import join_name
from jpq.errors import BadInputError, ExitCode
from jpq.render.lines import one_line
from jpq.store.library import Library
from jpq.store.workspace import workspace_of
from jpq.terminal.tty import interactive
from jpq.tools.arguments import ArgumentCheck
from jpq.tools.definition import ASK, Tool
from jpq.tools.permission import Permissions
from jpq.tools.policy import Policy
from jpq.tools.registry import BUILTINS, build_tool, build_toolset
from jpq.tools.schema import json_text, parse_arguments


def run(args: argparse.Namespace, env: Environment) -> int:
    """Do what ``args`` say; the exit code. Raises JpqError."""
    config = load_config(env.paths, env.environ, env.cwd)
    for warning in config.warnings:
        env.notice(warning)
    verbs = {"ls": _list, "show": _show, "explain": _explain, "run": _run}
    return int(verbs[args.verb](args, env, config))


def _list(args: argparse.Namespace, env: Environment, config: Config) -> int:
    with _servers_tools(env, config) as others:
        tools = build_toolset(config, env.cwd, others=others).tools
    rows = [{**_row(tool), "offered": True} for tool in tools.values()]
    rows += [
        {**_row(build_tool(config, name, env.cwd)), "offered": False}
        for name in BUILTINS
        if name not in tools
    ]
    if args.format == "json":
        env.out(to_json(rows))
        return int(ExitCode.OK)
    names = [one_line(row["name"]) for row in rows]
    width = max(map(len, names))
    for name, row in zip(names, rows):
        how = row["run"] if row["offered"] else f"-t {name}"
        first = one_line(row["description"].strip().split("\n")[0])
        env.out(f"{name:{width}}  {row['source']:8}  {how:15}  {first}".rstrip() + "\n")
    return int(ExitCode.OK)


def _servers_tools(env: Environment, config: Config) -> ContextManager[Mapping[str, Tool]]:
    """The tools of the MCP servers, which are started for it."""
    if not config.table("mcp"):
        return contextlib.nullcontext({})
    use = importlib.import_module("jpq.cli.mcp_use")  # of no use without servers
    tools: ContextManager[Mapping[str, Tool]] = use.server_tools(env, config)
    return tools


def _named(
    name: str, env: Environment, config: Config, *, elicits: bool = False
) -> ContextManager[Tool]:
    """The tool ``name``; one of an MCP server has it started. Raises UsageError, JpqError."""
    if "/" not in name:
        return contextlib.nullcontext(build_tool(config, name, env.cwd))
    use = importlib.import_module("jpq.cli.mcp_use")
    tool: ContextManager[Tool] = use.server_tool(name, env, config, elicits=elicits)
    return tool


def _row(tool: Tool) -> Dict[str, Any]:
    spec = tool.spec
    return {
        "name": spec.name,
        "source": spec.source,
        "run": spec.run,
        "result": spec.result,
        "description": spec.description,
    }


def _show(args: argparse.Namespace, env: Environment, config: Config) -> int:
    with _named(args.name, env, config) as tool:
        spec = tool.spec
    own = _own_modes(args.name, env)
    row = {
        **_row(tool),
        "timeout_s": spec.timeout_s,
        "max_output_bytes": spec.max_output_bytes,
        "parameters": spec.parameters,
        "last_conversation": own,
    }
    if args.format == "json":
        env.out(to_json(row))
        return int(ExitCode.OK)
    described = map(one_line, spec.description.strip().split("\n"))
    lines = [f"{one_line(spec.name)}  ({spec.source})", *described, ""]
    lines += [f"run               {spec.run}", f"result            {spec.result}"]
    lines += [f"timeout           {spec.timeout_s:g} s"]
    lines += [f"longest output    {spec.max_output_bytes} bytes"]
    lines += [f"last conversation {key} = {value}" for key, value in own.items()]
    lines += ["", to_json(spec.parameters).rstrip()]
    env.out("\n".join(lines) + "\n")
    return int(ExitCode.OK)


def _own_modes(name: str, env: Environment) -> Dict[str, str]:
    """What the workspace's last conversation decided about the tool (*always*, modes)."""
    library = Library(os.path.join(env.paths.data, "conversations"))
    id = library.last(workspace_of(env.cwd))
    if id is None:
        return {}
    own = load_config(
        env.paths, env.environ, env.cwd, conversation=library.read(id).stream.config()
    )
    known = own.table("tools").get(name, {})
    base = load_config(env.paths, env.environ, env.cwd).table("tools").get(name, {})
    return {
        key: str(known[key])
        for key in ("run", "result")
        if key in known and known[key] != base.get(key)
    }


def _explain(args: argparse.Namespace, env: Environment, config: Config) -> int:
    with _named(args.name, env, config) as tool:
        arguments = _arguments(tool, args.arguments, env)
    complaint = ArgumentCheck(args.name, tool.spec.parameters).complaint(arguments)
    if complaint is not None:
        env.out(f"not run: {one_line(complaint)}\n")
        return int(ExitCode.OK)
    decision = Permissions(Policy.of_config(config), yes=args.yes).decide(tool, arguments)
    ways = ""
    if decision.action == ASK and decision.by_mode:
        ways = f'; --yes allows it, or {join_name(("tools", args.name, "run"))} = "unattended"'
    env.out(f"{decision.action}: {decision.by}{ways}\n")
    return int(ExitCode.OK)


def _run(args: argparse.Namespace, env: Environment, config: Config) -> int:
    asks = interactive(env.environ, args.non_interactive)
    with _named(args.name, env, config, elicits=asks) as tool:
        arguments = _arguments(tool, args.arguments, env)
        return run_call(tool, arguments, config, env, yes=args.yes, quiet=args.non_interactive)


def _arguments(tool: Tool, text: str, env: Environment) -> Dict[str, Any]:
    """The arguments in ``text``; ``-`` reads them from stdin."""
    if text == "-":
        text = env.stdin.read().decode("utf-8", "replace") if env.stdin else ""
    arguments, wrong = parse_arguments(text)
    if arguments is not None:
        return arguments
    only = _only_argument(tool.spec.parameters)
    if only is None:
        raise BadInputError(
            f"The arguments cannot be used: {wrong}.",
            where=f"tool {tool.spec.name}",
            hint=f"Its schema: {json_text(tool.spec.parameters)}",
        )
    return {only: text}


def _only_argument(schema: Any) -> Optional[str]:
    """The name of the one argument that is needed, if it is text."""
    required: List[str] = list(schema.get("required", ()))
    if len(required) != 1:
        return None
    described = schema.get("properties", {}).get(required[0], {})
    return required[0] if described.get("type", "string") == "string" else None
