"""The parser of ``jpq chat``."""

from __future__ import annotations

import argparse

from jpq.cli.query_help import HelpFormatter, add_help
from jpq.cli.query_parser import (
    TolerantParser,
    add_output_options,
    add_question_options,
    add_run_options,
    add_tool_options,
)

_COMMON = "-m -s -a -c -r -t -T -y --ephemeral -u -h --help-all"
_EPILOG = """\
In the chat /help lists its commands, and Ctrl+D leaves.

examples:
  jpq chat                      talk; -c goes on with the last conversation here
  jpq chat -r ID -m MODEL       go on with that one, with another model
  jpq chat < questions.txt      every line is a message; answers go to stdout
"""


def build_parser(prog: str) -> argparse.ArgumentParser:
    """The parser of ``jpq chat``."""
    parser = TolerantParser(
        prog=prog,
        usage=f"{prog} [options] [first message ...]",
        description="Talk with a language model, message by message.",
        epilog=_EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    common = parser.add_argument_group("options")
    add_question_options(common)
    add_tool_options(common)
    add_help(common, _COMMON)
    output = parser.add_argument_group("output")
    output.add_argument(
        "--format",
        metavar="NAME",
        choices=("auto", "text", "markdown", "jsonl"),
        default="auto",
        help="auto, text, markdown; jsonl: events, with JSON Lines on stdin",
    )
    add_output_options(output)
    add_run_options(parser.add_argument_group("run"))
    # What a query can do instead of asking is a command in a chat.
    parser.set_defaults(
        retry=False, edit=False, replay=False, template=None, param=[], dry_run=False
    )
    return parser
