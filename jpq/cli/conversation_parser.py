"""The options of ``jpq conversation``."""

from __future__ import annotations

import argparse
import re
from typing import Any

from jpq.cli.command_help import CommandParser, with_examples

_ID = "an ID, the beginning of one, or a title; without it the workspace's last conversation"
_FORMATS = ("json", "jsonl", "markdown", "html")
_AGE = re.compile(r"(\d+)([hdwmy])$")
_UNIT_S = {"h": 3600, "d": 86400, "w": 7 * 86400, "m": 30 * 86400, "y": 365 * 86400}


def build_parser(prog: str) -> argparse.ArgumentParser:
    """The parser of everything behind ``jpq conversation``."""
    parser = CommandParser(prog=prog, description="Saved conversations.")
    commands = parser.add_subparsers(dest="action", metavar="COMMAND", required=True)
    _add_reading(commands)
    _add_changing(commands)
    _add_moving(commands)
    return with_examples(
        parser, "jpq c show --last 1         the last turn here; jpq c ls finds others"
    )


def _add_reading(commands: Any) -> None:
    ls = commands.add_parser("ls", help="list them, the one written last first")
    ls.add_argument("words", metavar="WORD", nargs="*", help="only those with it in title or ID")
    ls.add_argument(
        "--sort", choices=("updated", "created", "title", "turns", "size"), default="updated"
    )
    ls.add_argument("--reverse", action="store_true", help="the other way round")
    ls.add_argument("--here", action="store_true", help="only those of this workspace")
    ls.add_argument("-n", "--limit", metavar="N", type=_count, help="at most N of them")
    ls.add_argument("-l", "--long", action="store_true", help="with size and workspace")
    _add_format(ls, "text", "json")

    show = commands.add_parser("show", help="print what was said")
    show.add_argument("id", metavar="ID", nargs="?", help=_ID)
    show.add_argument("--last", metavar="N", type=_count, help="only the last N turns")
    show.add_argument("-u", "--usage", action="store_true", help="say how many tokens it took")
    _add_format(show, "auto", "text", *_FORMATS)

    grep = commands.add_parser("grep", help="search what was said; exit code 1: not found")
    grep.add_argument("pattern", metavar="PATTERN", help="a regular expression")
    grep.add_argument(
        "ids", metavar="ID", nargs="*", default=[], help="only in these; without: in all"
    )
    grep.add_argument("-i", "--ignore-case", action="store_true", help="a is A")
    grep.add_argument("-F", "--fixed", action="store_true", help="the pattern is plain text")
    grep.add_argument(
        "-C", "--context", metavar="N", type=_count, default=0, help="N lines around each"
    )
    grep.add_argument("-l", "--list", action="store_true", help="only the IDs of conversations")
    _add_format(grep, "text", "json")

    path = commands.add_parser("path", help="print the folder of one")
    path.add_argument("id", metavar="ID", nargs="?", help=_ID)
    _add_format(path, "text", "json")


def _add_changing(commands: Any) -> None:
    title = commands.add_parser("title", help="print the title of one, or give it another")
    title.add_argument("id", metavar="ID", nargs="?", help=_ID)
    title.add_argument("words", metavar="TITLE", nargs="*", help="the new title")
    _add_format(title, "text", "json")

    fork = commands.add_parser("fork", help="copy one, to go on with the copy; prints its ID")
    fork.add_argument("id", metavar="ID", nargs="?", help=_ID)
    which = fork.add_mutually_exclusive_group()
    which.add_argument("--last", metavar="N", type=_count, help="only the last N turns")
    which.add_argument("--at", metavar="EVENT_ID", help="only what comes until this entry")
    _add_format(fork, "text", "json")

    compact = commands.add_parser("compact", help="send less of one from now on; loses nothing")
    compact.add_argument("id", metavar="ID", nargs="?", help=_ID)
    compact.add_argument(
        "--keep", metavar="N", type=_count, default=2, help="leave the last N turns alone (2)"
    )
    compact.add_argument("--reasoning", action="store_true", help="drop reasoning")
    compact.add_argument("--tools", action="store_true", help="shorten the results of tools")
    compact.add_argument("--summarize", action="store_true", help="let a model sum it up")
    compact.add_argument("-m", "--model", metavar="MODEL", help="the model that sums up")
    how = compact.add_mutually_exclusive_group()
    how.add_argument("--dry-run", action="store_true", help="only say what it would save")
    how.add_argument("--undo", action="store_true", help="take the last compaction back")
    _add_format(compact, "text", "json")

    repair = commands.add_parser("repair", help="mend damaged files; shows what, keeps a copy")
    repair.add_argument("id", metavar="ID", nargs="?", help=_ID)
    repair.add_argument("--dry-run", action="store_true", help="only show it")
    _add_format(repair, "text", "json")


def _add_moving(commands: Any) -> None:
    rm = commands.add_parser("rm", help="remove them for good, without asking")
    rm.add_argument(
        "ids", metavar="ID", nargs="+", help="an ID, the beginning of one, or a whole title"
    )
    _add_format(rm, "text", "json")

    prune = commands.add_parser("prune", help="remove old ones for good, without asking")
    prune.add_argument(
        "--older-than", metavar="AGE", type=age, required=True, help="such as 12h, 30d, 8w, 1y"
    )
    prune.add_argument("--dry-run", action="store_true", help="only say which")
    _add_format(prune, "text", "json")

    export = commands.add_parser("export", help="write them to stdout or a file")
    export.add_argument("ids", metavar="ID", nargs="*", help=_ID)
    export.add_argument("--all", action="store_true", help="every conversation")
    export.add_argument("-o", "--output", metavar="FILE", help="write there")
    _add_format(export, "jpq", *_FORMATS)

    load = commands.add_parser("import", help="take in what jpq, llm or jp saved; prints the IDs")
    load.add_argument(
        "paths",
        metavar="PATH",
        nargs="+",
        help="what export wrote, a conversation's folder, llm's logs.db, or jp's conversations",
    )
    _add_format(load, "text", "json")


def _add_format(parser: argparse.ArgumentParser, *names: str) -> None:
    parser.add_argument(
        "--format", choices=names, default=names[0], help=f"one of {', '.join(names)}"
    )


def age(text: str) -> float:
    """``30d`` and the like in seconds."""
    found = _AGE.match(text.strip().lower())
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not an age such as 12h, 30d, 8w, 6m or 1y")
    return float(int(found.group(1)) * _UNIT_S[found.group(2)])


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 0 or more")
    return int(text)
