"""``jpq ask``: a running tool asks the person, and prints the answer."""

from __future__ import annotations

import argparse

from jpq.cli.argument_types import seconds
from jpq.cli.command_help import CommandParser
from jpq.cli.environment import Environment
from jpq.errors import DeniedError, ExitCode, RunTimeoutError, UsageError
from jpq.tools.definition import INQUIRY_VARIABLE, Question, QuestionFailed
from jpq.tools.inquiry import put_question


def build_parser(prog: str) -> argparse.ArgumentParser:
    """The parser of ``jpq ask``."""
    parser = CommandParser(
        prog=prog,
        description="Ask the person a question from within a tool that jpq runs, and print "
        "the answer.",
        epilog="Exit codes: 77 when nobody can be asked or no answer is given, 124 for --timeout.",
    )
    parser.add_argument("question", nargs="+", help="what to ask")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--yes-no", action="store_true", help="the answer is yes or no")
    kind.add_argument(
        "--choice",
        metavar="TEXT",
        action="append",
        default=[],
        help="the answer is one of these (repeat)",
    )
    parser.add_argument(
        "--timeout", metavar="S", type=seconds, help="wait so many seconds for the answer"
    )
    return parser


def run(args: argparse.Namespace, env: Environment) -> int:
    """Ask and print. Raises UsageError outside a tool, DeniedError, RunTimeoutError."""
    address = env.environ.get(INQUIRY_VARIABLE, "")
    if not address:
        raise UsageError(
            "jpq ask works only within a tool that jpq runs.",
            where=f"{INQUIRY_VARIABLE} is not set",
            hint="docs/tools.md shows how a tool asks.",
        )
    kind = "choice" if args.choice else "yes_no" if args.yes_no else "text"
    question = Question(" ".join(args.question), kind, tuple(args.choice), args.timeout)
    try:
        answer = put_question(address, question)
    except QuestionFailed as failure:
        kind_of_error = RunTimeoutError if failure.late else DeniedError
        raise kind_of_error(f"No answer: {failure}.") from failure
    env.out(answer + "\n")
    return int(ExitCode.OK)
