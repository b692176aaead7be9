"""The options of a query."""

from __future__ import annotations

import argparse
import importlib
from typing import Any, List, NoReturn, Optional, Sequence, Tuple

from jpq import __version__
from jpq.cli import argument_types
from jpq.cli.query_help import HelpFormatter, add_help
from jpq.cli.script_options import (
    add_batch_options,
    add_shape_options,
    check_script_options,
    spelled_out,
)
from jpq.errors import UsageError

_EXAMPLES = """\
  jpq "Why is the sky blue?"                        the answer streams to stdout
  git diff | jpq "Write a commit message for this"  the words, then stdin
  jpq -m local/smollm2 "Hello"                      a model of its own, no key
"""
_COMMON = "-m -s -a -c -r -t -x --schema --json -q --retry -h --help-all"
_EPILOG = """\
commands (jpq COMMAND --help): chat, conversation (c), models, keys, tools, mcp,
  templates, config, render, doctor, completion; jpq query ls asks the word "ls"
"""


class TolerantParser(argparse.ArgumentParser):
    """Lets options stand anywhere among the words of the prompt."""

    def parse_args(  # type: ignore[override]
        self, args: Optional[Sequence[str]] = None, namespace: Any = None
    ) -> argparse.Namespace:
        words, after = _split_at_dashes(list(args or []))
        parsed: argparse.Namespace
        parsed, unknown = self.parse_known_intermixed_args(spelled_out(words), namespace)
        if unknown:
            self.error(_misspelt().unknown_words(self, unknown))
        parsed.words = [*parsed.words, *after]
        if parsed.retry and parsed.words:
            self.error("--retry asks the last question again and takes no words")
        if parsed.tool and parsed.no_tools:
            self.error("-t offers tools and -T offers none; choose one of them")
        if parsed.retry and parsed.attach:
            self.error("--retry asks the last question again and takes no attachments")
        if "-" in parsed.attach and "-" in parsed.words:
            self.error("stdin is either attached (-a -) or part of the question (-)")
        if parsed.template and (parsed.retry or parsed.edit):
            self.error("--template asks a new question; --retry and --edit ask the last one again")
        if parsed.param and not parsed.template:
            self.error("-p gives a parameter of a template its value; name it with --template")
        if parsed.retry and parsed.edit:
            self.error("--retry asks the last question as it is, and --edit changes it")
        if parsed.retry and parsed.ephemeral:
            self.error("--retry goes on with a saved turn, and --ephemeral saves nothing")
        if "batch" in parsed:  # not in a chat
            check_script_options(parsed, self.error)
        return parsed

    def error(self, message: str) -> NoReturn:
        """Raises UsageError: how it is told depends on --format."""
        raise UsageError(
            f"{message[:1].upper()}{message[1:]}{'' if message.endswith('?') else '.'}",
            hint=f"{self.prog} --help-all lists the options. Words that are none go after --.",
        )

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            raise _misspelt().no_choice(action, value)

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse's own hides that stdout is full, from Python 3.11 on.
        if file is not None:
            file.write(message)


def build_parser(prog: str) -> argparse.ArgumentParser:
    """The parser of ``jpq query``; its usage lines call it ``prog``."""
    parser = TolerantParser(
        prog=prog,
        usage=f"{prog} [options] [question ...]",
        description=_EXAMPLES,
        epilog=_EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    common = parser.add_argument_group("options")
    add_question_options(common)
    _add_kept_questions(common)
    add_tool_options(common)
    add_help(common, _COMMON)
    output = parser.add_argument_group("output")
    _add_formats(output)
    add_shape_options(output)
    add_output_options(output)
    run = parser.add_argument_group("run")
    add_batch_options(run)
    add_run_options(run)
    return parser


def add_question_options(group: Any) -> None:
    """Whom to ask, and what the question comes with: of a query and of a chat."""
    group.add_argument("-m", "--model", metavar="MODEL", help="PROVIDER/MODEL or an alias")
    group.add_argument("-s", "--system", metavar="TEXT", help="system prompt, or @FILE")
    group.add_argument(
        "-a",
        "--attach",
        metavar="FILE",
        action="append",
        default=[],
        help="file, folder, pattern, URL, clipboard: or - (repeat)",
    )
    which = group.add_mutually_exclusive_group()
    which.add_argument(
        "-c",
        "--continue",
        dest="continue_last",
        action="store_true",
        help="go on with the last conversation in this folder",
    )
    which.add_argument(
        "-r", "--resume", metavar="ID", help="go on with that one (jpq conversation ls)"
    )
    group.add_argument("--fork", action="store_true", help="go on with a copy of the conversation")


def _add_kept_questions(group: Any) -> None:
    group.add_argument(
        "--template", metavar="NAME", help="a question that was kept (jpq templates ls)"
    )
    group.add_argument(
        "-p",
        "--param",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a parameter of the template (repeat)",
    )
    group.add_argument(
        "--retry", action="store_true", help="ask the last unfinished turn again, or go on with it"
    )
    group.add_argument(
        "-e", "--edit", action="store_true", help="ask the last question again, in other words"
    )
    group.add_argument(
        "--replay", action="store_true", help="show the conversation; without words only that"
    )


def add_tool_options(group: Any) -> None:
    """Model options, tools, and what every command has: of a query and of a chat."""
    group.add_argument(
        "-o",
        "--option",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="model option, such as temperature=0.2 (repeat)",
    )
    group.add_argument(
        "-t",
        "--tool",
        metavar="NAME",
        action="append",
        default=[],
        help="offer this tool, or those a glob matches (repeat)",
    )
    group.add_argument("-T", "--no-tools", action="store_true", help="offer no tool")
    group.add_argument(
        "--tool-choice", metavar="HOW", help="auto, required, none, or the tool to call"
    )
    group.add_argument(
        "-y", "--yes", action="store_true", help="run tools without asking, where run = ask"
    )
    group.add_argument(
        "--version", action="version", version=f"jpq {__version__}", help="print it and exit"
    )


def _add_formats(group: Any) -> None:
    group.add_argument(
        "--format",
        metavar="NAME",
        choices=("auto", "text", "markdown", "json", "jsonl"),
        default="auto",
        help="auto, text, markdown, json or jsonl",
    )
    group.add_argument(
        "--json", dest="format", action="store_const", const="json", help="same as --format json"
    )


def add_output_options(group: Any) -> None:
    """How answers are shown: of a query and of a chat."""
    group.add_argument(
        "--reasoning",
        metavar="MODE",
        type=argument_types.reasoning,
        help="full, hidden, progress, static, or N characters",
    )
    group.add_argument(
        "--color", metavar="WHEN", choices=("auto", "always", "never"), help="auto, always or never"
    )
    group.add_argument(
        "--wrap",
        metavar="N",
        type=argument_types.wrap,
        help="where lines end: auto, off or after N columns",
    )
    group.add_argument("-u", "--usage", action="store_true", help="say how many tokens it took")
    group.add_argument("-q", "--quiet", action="store_true", help="only the answer and errors")
    group.add_argument(
        "-v",
        "--verbose",
        action="count",
        default=0,
        help="say more; -vv: tracebacks of faults",
    )
    group.add_argument("--log-file", metavar="PATH", help="write detailed diagnostics there")


def add_run_options(group: Any) -> None:
    """What a run may do and take: of a query and of a chat."""
    group.add_argument("--ephemeral", action="store_true", help="save nothing")
    group.add_argument("--base-url", metavar="URL", help="where the model's provider is")
    group.add_argument("--no-stream", action="store_true", help="ask for the answer in one piece")
    group.add_argument(
        "--timeout",
        metavar="S",
        type=argument_types.seconds,
        help="end the whole run after S seconds",
    )
    group.add_argument(
        "--retries",
        metavar="N",
        type=argument_types.count,
        help="try a failed request N times again",
    )
    group.add_argument(
        "--max-cycles",
        metavar="N",
        type=argument_types.count,
        help="tool round trips allowed in the turn",
    )
    group.add_argument(
        "--max-cost",
        metavar="USD",
        type=argument_types.dollars,
        help="send nothing more once it has cost so much",
    )
    group.add_argument(
        "--non-interactive", action="store_true", help="never ask anything on the terminal"
    )
    group.add_argument(
        "--no-menu", action="store_true", help="Ctrl+C saves and ends, without asking"
    )
    group.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a configuration value for this run (repeat)",
    )


def _misspelt() -> Any:
    # Only a command line that is wrong needs it.
    return importlib.import_module("jpq.cli.misspelt")


def _split_at_dashes(args: List[str]) -> Tuple[List[str], List[str]]:
    """The arguments before ``--``, and the words after it, which are never options."""
    if "--" not in args:
        return args, []
    at = args.index("--")
    return args[:at], args[at + 1 :]
