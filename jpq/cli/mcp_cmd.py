"""``jpq mcp``: the configured MCP servers, what they offer, and their logins."""

from __future__ import annotations

import argparse
from typing import Callable, Dict, Optional

from jpq.cli.environment import Environment
from jpq.cli.json_text import to_json
from jpq.cli.mcp_import import import_servers
from jpq.cli.mcp_prompt import read_prompt
from jpq.cli.mcp_show import check, complete, row_of
from jpq.cli.mcp_use import read_resource, running_servers, server_settings, server_tool
from jpq.cli.query_mcp import surroundings
from jpq.cli.template_use import parameters
from jpq.cli.tools_run import run_call
from jpq.config.load import Config, load_config
from jpq.errors import BadInputError, ExitCode, UsageError
from jpq.mcp.oauth_browser import BrowserVisitor
from jpq.mcp.oauth_tokens import TokenStore
from jpq.mcp.settings import configured_servers
from jpq.render.lines import one_line
from jpq.terminal.tty import Terminal, interactive
from jpq.tools.schema import parse_arguments

_LOGIN_S = 330.0


def run(args: argparse.Namespace, env: Environment) -> int:
    """Do what ``args`` say; the exit code. Raises JpqError."""
    config = load_config(env.paths, env.environ, env.cwd)
    for warning in config.warnings:
        env.notice(warning)
    return int(_ACTIONS[args.action](args, env, config))


def _list(args: argparse.Namespace, env: Environment, config: Config) -> int:
    settings = configured_servers(config)
    with running_servers(settings, env) as servers:
        rows = [row_of(server) for server in servers]
    if args.format == "json":
        env.out(to_json(rows))
        return int(ExitCode.OK)
    if not rows:
        env.notice("No MCP server is configured. Take over another client's: jpq mcp import FILE")
    for row in rows:
        env.out(f"{row['name']}  {row['status']}  {one_line(row['address'])}\n")
        if row["error"]:
            env.out(f"    {one_line(row['error'])}\n")
        for tool in row["tools"]:
            first = one_line(tool["description"].strip().split("\n")[0])
            env.out(f"    {row['name']}/{one_line(tool['name'])}  {first}".rstrip() + "\n")
    return int(ExitCode.OK)


def _call(args: argparse.Namespace, env: Environment, config: Config) -> int:
    arguments, wrong = parse_arguments(args.arguments)
    if arguments is None:
        raise BadInputError(f"The arguments cannot be used: {wrong}.")
    asks = interactive(env.environ, args.non_interactive)
    with server_tool(args.tool, env, config, elicits=asks) as tool:
        return run_call(tool, arguments, config, env, yes=args.yes, quiet=args.non_interactive)


def _read(args: argparse.Namespace, env: Environment, config: Config) -> int:
    for _, data in read_resource(args.uri, env, config):
        if env.stdout is not None:
            env.stdout.write(data)
            env.stdout.flush()
    return int(ExitCode.OK)


def _prompt(args: argparse.Namespace, env: Environment, config: Config) -> int:
    env.out(read_prompt(args.name, parameters(args.param), env, config) + "\n")
    return int(ExitCode.OK)


def _login(args: argparse.Namespace, env: Environment, config: Config) -> int:
    settings = server_settings(args.name, config)
    if not settings.url:
        raise UsageError(f"The MCP server {args.name} has no url, and so no login.")
    settings = settings._replace(startup_timeout_s=_LOGIN_S)
    paste = _paste if interactive(env.environ, False) else None
    visitor = BrowserVisitor(env.tell, paste)
    try:
        with running_servers([settings], env, visitor=visitor) as (server,):
            if server.error is not None:
                raise server.error
            env.notice(f"The MCP server {args.name} can be used: {len(server.tools)} tools.")
    finally:
        visitor.close()
    return int(ExitCode.OK)


def _paste(meanwhile: Callable[[], None]) -> Optional[str]:
    with Terminal.open() as terminal:
        terminal.meanwhile = meanwhile
        return terminal.read_line()


def _logout(args: argparse.Namespace, env: Environment, config: Config) -> int:
    settings = server_settings(args.name, config)
    known = TokenStore(surroundings(env).tokens_path).remove(settings.url)
    word = "Forgot the login of" if known else "There is no login of"
    env.notice(f"{word} the MCP server {args.name}.")
    return int(ExitCode.OK)


def _import(args: argparse.Namespace, env: Environment, config: Config) -> int:
    return import_servers(args.file, env, force=args.force)


_ACTIONS: Dict[str, Callable[[argparse.Namespace, Environment, Config], int]] = {
    "ls": _list,
    "check": check,
    "call": _call,
    "read": _read,
    "prompt": _prompt,
    "complete": complete,
    "login": _login,
    "logout": _logout,
    "import": _import,
}
