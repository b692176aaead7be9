"""The options of a query that scripts are the first to want."""

from __future__ import annotations

import argparse
from typing import Any, Callable, List, Sequence, Tuple

from jpq.cli import argument_types

# Short options without a value, which may stand before x in one word.
_FLAGS = "ceyTuqvh"


def add_shape_options(group: Any) -> None:
    """What the answer must be, and what of it is written where."""
    group.add_argument(
        "--schema", metavar="SPEC", help='answer in JSON: "name, age int", JSON Schema or @FILE'
    )
    group.add_argument(
        "--schema-multi", metavar="SPEC", help="the same, for a list of such objects"
    )
    group.add_argument(
        "-x",
        "--extract",
        metavar="[=LANG]",
        help="only the first fenced block (of that language)",
    )
    group.add_argument("--output", metavar="FILE", help="write the answer there, once it is whole")


def add_batch_options(group: Any) -> None:
    """Many questions in one run, or none."""
    group.add_argument("--dry-run", action="store_true", help="print the request, and send nothing")
    group.add_argument("--batch", metavar="FILE", help="ask each line of FILE, or of stdin (-)")
    group.add_argument(
        "-j", "--jobs", metavar="N", type=_jobs, help="lines of a batch to ask at a time (4)"
    )
    group.add_argument(
        "--unordered", action="store_true", help="write answers of a batch as they come"
    )
    group.add_argument(
        "--shard", metavar="K/N", type=_shard, help="ask only every Nth line, beginning with K"
    )


def spelled_out(arguments: Sequence[str]) -> List[str]:
    """``arguments`` with ``-x`` and ``--extract`` in the one form that argparse understands:
    it would take the word behind them for the language."""
    return [each for argument in arguments for each in _spelled_out(argument)]


def check_script_options(parsed: argparse.Namespace, error: Callable[[str], Any]) -> None:
    """Call ``error`` for options that contradict each other."""
    if parsed.extract and any(character.isspace() for character in parsed.extract):
        error(f"-x{parsed.extract} names no language")
    for name in ("schema", "schema_multi", "output", "batch"):
        if getattr(parsed, name) == "":  # a variable of a script that is not set
            error(f"--{name.replace('_', '-')} is empty")
    if parsed.schema and parsed.schema_multi:
        error("--schema asks for one object and --schema-multi for a list; choose one of them")
    if parsed.extract is not None and (parsed.schema or parsed.schema_multi):
        error("--schema makes the whole answer JSON, and -x is for a block in a text")
    if parsed.batch is None:
        if parsed.jobs is not None or parsed.unordered or parsed.shard is not None:
            error("-j, --unordered and --shard are for --batch")
    else:
        _check_batch(parsed, error)


def _check_batch(parsed: argparse.Namespace, error: Callable[[str], Any]) -> None:
    if parsed.retry and parsed.output in (None, "-"):
        error("--batch --retry asks the lines of --output FILE that failed; name that file")
    if parsed.format in ("text", "markdown"):
        error("--batch writes JSON Lines, and no other --format")
    if parsed.attach:
        error('--batch takes attachments in its lines, as "attach"')
    where = {
        "words": parsed.words,
        "-c": parsed.continue_last,
        "-r": parsed.resume,
        "--edit": parsed.edit,
        "--fork": parsed.fork,
        "--replay": parsed.replay,
        "-x": parsed.extract is not None,
        "--template": parsed.template,
        "--dry-run": parsed.dry_run,
    }
    for name, given in where.items():
        if given:
            error(f"--batch asks what its file says, so it does not go with {name}")


def _spelled_out(argument: str) -> List[str]:
    if argument == "--extract":
        return ["--extract="]
    if argument[:1] != "-" or argument[1:2] == "-" or "x" not in argument:
        return [argument]
    flags, _, language = argument[1:].partition("x")
    if flags.strip(_FLAGS):
        return [argument]  # the x belongs to the value of another option, as in -mxai/grok
    return [*(["-" + flags] if flags else []), f"--extract={language.lstrip('=')}"]


def _jobs(text: str) -> int:
    count = argument_types.count(text)
    if not 1 <= count <= 256:
        raise argparse.ArgumentTypeError("a number from 1 to 256")
    return count


def _shard(text: str) -> Tuple[int, int]:
    part, slash, parts = text.partition("/")
    if slash and part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts):
        return int(part), int(parts)
    raise argparse.ArgumentTypeError("K/N, such as 1/4 for the first of four parts")
