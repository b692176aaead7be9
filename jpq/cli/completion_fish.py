"""The completion script for fish, which the shtab of Python 3.8 cannot make."""

from __future__ import annotations

import argparse
from typing import Iterator, List, Mapping, Sequence

from jpq.cli.completion_tree import (
    FILE,
    actions_of,
    arguments_of,
    help_of,
    kind_of,
    summaries,
    takes_value,
    whole_parser,
)

_HEAD = """\
# Completions of jpq for fish, printed by: jpq completion fish

# What the word that is being typed could become.
function __jpq_list
    set -l word (commandline -ct | string replace -r -- '^--[a-z-]+=' '')
    jpq completion --list $argv[1] -- "$word" 2>/dev/null
end

# Whether the line so far begins with these words.
function __jpq_in
    set -l words (commandline -opc)
    set -e words[1]
    for i in (seq (count $argv))
        test "$words[$i]" = "$argv[$i]"; or return 1
    end
    return 0
end

# Whether it is just these words.
function __jpq_at
    set -l words (commandline -opc)
    test (count $words) -eq (math (count $argv) + 1); and __jpq_in $argv
end

# Whether it is a question, and none of the commands.
function __jpq_asks
    set -l words (commandline -opc)
    test (count $words) -lt 2; or not contains -- "$words[2]" COMMANDS
end

complete -c jpq -f
"""


def fish_script() -> str:
    """The whole script."""
    root = whole_parser()
    commands = actions_of(root)
    lines: List[str] = []
    lines += _choices([], summaries(root))
    for action in arguments_of(root):
        lines += _argument(action, root, "__jpq_asks")
    for name, parser in commands.items():
        lines += _command([name], parser)
    return _HEAD.replace("COMMANDS", " ".join(commands)) + "\n".join(lines) + "\n"


def _command(words: List[str], parser: argparse.ArgumentParser) -> Iterator[str]:
    yield from _choices(words, summaries(parser))
    for action in arguments_of(parser):
        yield from _argument(action, parser, " ".join(["__jpq_in", *words]))
    for name, below in actions_of(parser).items():
        yield from _command([*words, name], below)


def _choices(words: Sequence[str], summaries: Mapping[str, str]) -> Iterator[str]:
    condition = _quoted(" ".join(["__jpq_at", *words]))
    for name, summary in summaries.items():
        yield f"complete -c jpq -n {condition} -a {name} -d {_quoted(summary)}"


def _argument(
    action: argparse.Action, parser: argparse.ArgumentParser, condition: str
) -> Iterator[str]:
    parts = [f"complete -c jpq -n {_quoted(condition)}"]
    for option in action.option_strings:
        parts.append(f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}")
    kind = kind_of(action)
    value = ""
    if kind == FILE:
        value = "-r -F"
    elif kind is not None:
        value = f"-x -a '(__jpq_list {kind})'"
    elif action.choices:
        value = f"-x -a {_quoted(' '.join(map(str, action.choices)))}"
    elif takes_value(action):
        value = "-x"
    if action.option_strings:
        parts += [value] if value else []
        parts.append(f"-d {_quoted(help_of(action, parser))}")
        yield " ".join(parts)
    elif kind is not None or action.choices:
        yield " ".join([*parts, value.replace("-x ", "").replace("-r ", "")])


def _quoted(text: str) -> str:
    """``text`` as one word of fish."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
