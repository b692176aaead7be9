"""The command line of ``jpq tools``."""

from __future__ import annotations

import argparse

from jpq.cli.command_help import CommandParser, with_examples


def build_parser(prog: str) -> argparse.ArgumentParser:
    """The parser of ``jpq tools``."""
    parser = CommandParser(
        prog=prog,
        description="The tools a model would be given.",
    )
    verbs = parser.add_subparsers(dest="verb", metavar="COMMAND", required=True)
    ls = verbs.add_parser("ls", help="list them, builtins too")
    ls.add_argument("--format", choices=("text", "json"), default="text", help="text or json")
    show = verbs.add_parser("show", help="one tool: description, arguments, modes")
    show.add_argument("name", metavar="NAME")
    show.add_argument("--format", choices=("text", "json"), default="text", help="text or json")
    explain = verbs.add_parser("explain", help="whether a call would run, and what decides")
    run = verbs.add_parser("run", help="run a tool the way a model's call does")
    for verb in (explain, run):
        verb.add_argument("name", metavar="NAME", help="as jpq tools ls has it")
        verb.add_argument(
            "arguments",
            metavar="ARGUMENTS",
            nargs="?",
            default="{}",
            help="a JSON object; bare text where the tool needs just one",
        )
        verb.add_argument("-y", "--yes", action="store_true", help="as in a query")
    run.add_argument(
        "--non-interactive", action="store_true", help="never ask anything on the terminal"
    )
    return with_examples(
        parser,
        "jpq tools explain shell 'git log | head'",
        'jpq tools run read_file \'{"path": "notes.txt", "limit": 5}\'',
    )
