"""From arguments to a command and from an error to an exit code."""

from __future__ import annotations

import errno
import io
import re
from typing import List, Optional, Tuple

import pytest

from jpq.cli.environment import Environment
from jpq.cli.failure import as_error, report
from jpq.cli.run import COMMANDS, asked_format, split_command
from jpq.errors import ConfigError
from tests.support.programs import jpq

LONGEST_HELP = 64  # lines of --help-all of a query: one for each option


@pytest.mark.parametrize(
    ("arguments", "name", "rest"),
    [
        ([], "query", []),
        (["why"], "query", ["why"]),
        (["query", "ls"], "query", ["ls"]),
        (["q", "models"], "query", ["models"]),
        (["--", "models"], "query", ["--", "models"]),
        (["-m", "x", "models"], "query", ["-m", "x", "models"]),
        (["c", "ls"], "conversation", ["ls"]),
        (["models", "ls"], "models", ["ls"]),
    ],
)
def test_a_first_word_that_names_a_command_is_that_command(
    arguments: List[str], name: str, rest: List[str]
) -> None:
    assert split_command(arguments) == (name, rest)


@pytest.mark.parametrize(
    ("arguments", "format"),
    [
        ([], None),
        (["--json"], "json"),
        (["--format", "jsonl", "--bogus"], "jsonl"),
        (["--format=jsonl"], "jsonl"),
        (["--json", "--format", "text"], "text"),
        (["--format"], ""),
        (["--", "--json"], None),
    ],
)
def test_the_format_is_known_before_the_rest_is_understood(
    arguments: List[str], format: Optional[str]
) -> None:
    assert asked_format(arguments) == format


def channels() -> Tuple[Environment, io.BytesIO, io.BytesIO]:
    out, err = io.BytesIO(), io.BytesIO()
    return Environment({}, "/", None, out, err), out, err


def test_an_error_is_told_in_three_lines_without_control_characters() -> None:
    env, out, err = channels()
    error = ConfigError("Bad \x1b[2Jname.", where="config.toml:3\nmore", hint="Correct it.")
    assert report(env, error, None, 0) == 78
    assert err.getvalue() == b"jpq: Bad name.\n  config.toml:3 more\n  Correct it.\n"
    assert out.getvalue() == b""


def test_a_reader_that_went_away_is_told_nothing() -> None:
    env, out, err = channels()
    assert report(env, BrokenPipeError(errno.EPIPE, "Broken pipe"), None, 2) == 141
    assert out.getvalue() + err.getvalue() == b""


def test_an_error_of_the_system_says_which_file() -> None:
    told = as_error(OSError(errno.EACCES, "Permission denied", "/etc/shadow"))
    assert (told.message, told.where) == ("Permission denied.", "/etc/shadow")
    assert told.exit_code == 74


def test_a_lack_of_memory_is_no_fault_of_ours() -> None:
    assert as_error(MemoryError()).message == "There is not enough memory."


def test_a_fault_shows_its_traceback_with_vv_only() -> None:
    try:
        raise KeyError("x")
    except KeyError as error:
        fault = error
    for verbose in (1, 2):
        env, _, err = channels()
        assert report(env, fault, None, verbose) == 1
        assert b"fault of its own" in err.getvalue() and b"-vv" in err.getvalue()
        assert (b"Traceback" in err.getvalue()) == (verbose == 2)


@pytest.mark.parametrize("format", ["json", "jsonl"])
def test_a_program_gets_a_result_for_an_error_before_the_turn(format: str) -> None:
    env, out, err = channels()
    report(env, ConfigError("Bad name."), format, 0)
    lines = out.getvalue().splitlines()
    assert len(lines) == {"json": 1, "jsonl": 3}[format]
    assert b'"exit_code": 78' in lines[-1]
    assert err.getvalue() == b"jpq: Bad name.\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_every_command_fits_the_screen(name: str) -> None:
    ran = jpq(name, "--help")
    assert (ran.code, ran.err) == (0, b"")
    lines = ran.text.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80


def test_help_names_common_options_first_and_shows_examples() -> None:
    ran = jpq("--help-all")
    assert (ran.code, ran.err) == (0, b"")
    assert 24 <= len(ran.text.splitlines()) <= LONGEST_HELP
    told = re.search(r"--help\): (chat, .*\n.*);", ran.text)
    assert told and {*COMMANDS} - {"query", "ask"} == {*re.findall("[a-z]{2,}", told.group(1))}
    assert ran.text.index("--model") < ran.text.index("--format") < ran.text.index("--set")
    assert 'jpq "Why is the sky blue?"' in ran.text


def test_version() -> None:
    assert jpq("--version").text.startswith("jpq 0.")
    assert jpq("query", "--version").text.startswith("jpq 0.")
