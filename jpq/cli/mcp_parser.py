"""The parser of ``jpq mcp``."""

from __future__ import annotations

import argparse

from jpq.cli.command_help import CommandParser, with_examples


def build_parser(prog: str) -> argparse.ArgumentParser:
    """The parser of ``jpq mcp``."""
    parser = CommandParser(
        prog=prog,
        description="Show, check and use the MCP servers that are configured.",
    )
    actions = parser.add_subparsers(dest="action", metavar="COMMAND", required=True)
    listing = actions.add_parser("ls", help="the configured servers and what they offer")
    check = actions.add_parser("check", help="start a server and show what it says")
    check.add_argument("name", metavar="NAME")
    for listed in (listing, check):
        listed.add_argument("--format", choices=("text", "json"), default="text")
    call = actions.add_parser("call", help="call a tool, as a model would")
    call.add_argument("tool", metavar="NAME/TOOL")
    call.add_argument("arguments", metavar="JSON", nargs="?", default="{}")
    call.add_argument("-y", "--yes", action="store_true", help="do not ask before the call")
    call.add_argument("--non-interactive", action="store_true", help="ask nothing")
    read = actions.add_parser("read", help="print a resource")
    read.add_argument("uri", metavar="mcp://NAME/URI")
    prompt = actions.add_parser("prompt", help="print a prompt with its arguments filled in")
    prompt.add_argument("name", metavar="NAME/PROMPT")
    prompt.add_argument("-p", "--param", metavar="K=V", action="append", default=[])
    complete = actions.add_parser("complete", help="what an argument may be, as its server says")
    complete.add_argument("of", metavar="NAME/PROMPT|mcp://NAME/TEMPLATE")
    complete.add_argument("argument", metavar="ARGUMENT")
    complete.add_argument("value", metavar="BEGINNING", nargs="?", default="")
    login = actions.add_parser("login", help="let jpq use a server in your name")
    login.add_argument("name", metavar="NAME")
    logout = actions.add_parser("logout", help="forget a login")
    logout.add_argument("name", metavar="NAME")
    taken = actions.add_parser("import", help='take over the "mcpServers" of another client')
    taken.add_argument("file", metavar="FILE", help="its JSON file, or - for stdin")
    taken.add_argument("--force", action="store_true", help="replace servers of the same name")
    return with_examples(
        parser, "jpq mcp check files", 'jpq mcp call files/read_text_file \'{"path": "notes.txt"}\''
    )
