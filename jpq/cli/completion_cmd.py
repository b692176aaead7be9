"""``jpq completion``: what a shell needs to complete words after ``jpq``."""

from __future__ import annotations

import argparse
import importlib

from jpq.cli.command_help import CommandParser
from jpq.cli.environment import Environment
from jpq.errors import ExitCode, UsageError

SHELLS = ("bash", "zsh", "fish")
# Kinds of values that only jpq itself knows.
KINDS = (
    "assignments",
    "conversations",
    "embedded",
    "models",
    "providers",
    "servers",
    "settings",
    "templates",
    "tools",
)

_EPILOG = """\
to use it from the next shell on:
  bash  jpq completion bash > ~/.local/share/bash-completion/completions/jpq
  zsh   jpq completion zsh > a folder in $fpath, as _jpq
  fish  jpq completion fish > ~/.config/fish/completions/jpq.fish
"""


def build_parser(prog: str) -> argparse.ArgumentParser:
    """The parser of ``jpq completion``."""
    parser = CommandParser(
        prog=prog,
        usage=f"{prog} [-h] bash|zsh|fish",
        description="Print a script with which a shell completes words after jpq.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("word", metavar="SHELL", nargs="?", default="", help="bash, zsh or fish")
    # What the scripts call; the word is then what was typed so far.
    parser.add_argument("--list", metavar="KIND", help=argparse.SUPPRESS)
    return parser


def run(args: argparse.Namespace, env: Environment) -> int:
    """Print the script, or what ``--list`` asks for. Raises JpqError."""
    if args.list is not None:
        if args.list not in KINDS:
            raise UsageError(f"{args.list!r} is none of {', '.join(KINDS)}.")
        # Not what makes the scripts, which costs more than a press of Tab may.
        listing = importlib.import_module("jpq.cli.completion_list")
        rows = listing.candidates(args.list, args.word, env)
        env.out("".join(f"{name}\t{about}\n" if about else f"{name}\n" for name, about in rows))
        return int(ExitCode.OK)
    if args.word not in SHELLS:
        raise UsageError(
            "Name the shell: bash, zsh or fish.", hint="As in: jpq completion bash > FILE"
        )
    scripts = importlib.import_module("jpq.cli.completion_script")
    env.out(scripts.script_for(args.word))
    return int(ExitCode.OK)
