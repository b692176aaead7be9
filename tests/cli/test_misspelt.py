"""Command lines that nobody understands: what was meant is named, and secrets are not."""

from __future__ import annotations

import importlib
from typing import List

import pytest

from jpq.cli.run import COMMANDS, split_command
from jpq.errors import UsageError


def refused(*arguments: str) -> UsageError:
    name, rest = split_command(list(arguments))
    parser = importlib.import_module(COMMANDS[name].parser).build_parser(f"jpq {name}")
    with pytest.raises(UsageError) as caught:
        parser.parse_args(rest)
    return caught.value


@pytest.mark.parametrize(
    "line, message",
    [
        ("--shcema x hello", "Unrecognized arguments: --shcema; did you mean --schema?"),
        (
            "--modle=a --jsn hi",
            "Unrecognized arguments: --modle --jsn; did you mean --model --json?",
        ),
        ("chat --sytem x", "Unrecognized arguments: --sytem; did you mean --system?"),
        ("c ls --srot title", "Unrecognized arguments: --srot; did you mean --sort?"),
        ("models ls --remot", "Unrecognized arguments: --remot; did you mean --remote?"),
        ("--replay --last", "Unrecognized arguments: --last."),
        ("doctor --zzz", "Unrecognized arguments: --zzz."),
        ("-Z", "Unrecognized arguments: -Z."),
        ("c path a b", "Unrecognized arguments: b."),
        ("config shwo", "Argument COMMAND: 'shwo' is none of show, explain, path,"),
        ("c ls --format jsn", "'jsn' is none of text, json; did you mean json?"),
        ("--format jsn hi", "none of auto, text, markdown, json, jsonl; did you mean json?"),
        ("c grep", "The following arguments are required: PATTERN."),
    ],
)
def test_the_nearest_is_named(line: str, message: str) -> None:
    assert message in refused(*line.split()).message


def test_the_hint_names_the_command_that_was_meant() -> None:
    assert refused("c", "ls", "--srot").hint == "jpq conversation ls --help says what it takes."
    assert refused("c", "lst").hint == "jpq conversation --help says what it takes."


@pytest.mark.parametrize("line", [["--api-key=sk-123", "hi"], ["keys", "ls", "--key=sk-123"]])
def test_what_may_be_a_key_is_not_repeated(line: List[str]) -> None:
    assert "sk-123" not in refused(*line).message
