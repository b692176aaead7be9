"""``-x`` from outside: how it is spelt, what is written, and how it ends."""

from __future__ import annotations

import json
from typing import Any, List, Sequence

import pytest

from jpq.cli.query_parser import build_parser
from jpq.errors import UsageError
from tests.support import ptys
from tests.support.programs import conversations, entries, jpq, script

ANSWER = "Try:\n\n```sh\nls -l\n```\n\nor\n\n```python\nprint(1)\n```\n"


@pytest.fixture
def model(tmp_path: Any) -> List[str]:
    return ["-m", "scripted/" + script(tmp_path, f"text = {json.dumps(ANSWER)}")]


@pytest.mark.parametrize(
    ("arguments", "language", "words"),
    [
        (["-x", "how"], "", ["how"]),
        (["how", "-x"], "", ["how"]),
        (["--extract", "how"], "", ["how"]),
        (["--extract=sh", "how"], "sh", ["how"]),
        (["-xsh", "how"], "sh", ["how"]),
        (["-x=sh", "how"], "sh", ["how"]),
        (["-qx", "how"], "", ["how"]),
        (["-qxsh", "how", "to"], "sh", ["how", "to"]),
        (["how", "--", "-x"], None, ["how", "-x"]),
        (["-", "x"], None, ["-", "x"]),
        (["-mxai/grok", "how"], None, ["how"]),
        (["-sx", "how"], None, ["how"]),
        (["-ax.txt", "how"], None, ["how"]),
        (["-okey=x", "how"], None, ["how"]),
    ],
)
def test_spellings(arguments: Sequence[str], language: Any, words: Sequence[str]) -> None:
    parsed = build_parser("jpq").parse_args(arguments)
    assert (parsed.extract, parsed.words) == (language, words)
    assert parsed.quiet == any(word.startswith("-q") for word in arguments)


def test_values_of_other_options_stay_what_they_are() -> None:
    parsed = build_parser("jpq").parse_args(["-mxai/grok", "-sx", "-ax.txt", "-okey=x"])
    assert (parsed.model, parsed.system) == ("xai/grok", "x")
    assert (parsed.attach, parsed.option) == (["x.txt"], ["key=x"])


def test_the_first_block_or_that_of_a_language(model: List[str]) -> None:
    ran = jpq(*model, "-x", "how?")
    assert (ran.code, ran.text, ran.err) == (0, "ls -l\n", b"")
    assert jpq(*model, "-xpython", "how?").text == "print(1)\n"
    assert jpq(*model, "--extract=sh", "how?").text == "ls -l\n"
    saved = [entry for entry in entries(conversations()[0]) if entry["type"] == "chat_response"]
    assert saved[0]["message"] == ANSWER  # all of it


def test_without_a_block_the_answer_is_printed_and_the_code_is_65(model: List[str]) -> None:
    ran = jpq(*model, "-xrust", "how?")
    assert (ran.code, ran.text) == (65, ANSWER)
    ran.failed_with(65, "no block of rust", "whole answer is printed")
    (conversation,) = json.loads(jpq("c", "ls", "--format", "json").out)
    assert conversation["status"] == "complete"
    jpq("--retry").failed_with(65, "nothing to retry")


def test_json_has_the_block_beside_the_text(model: List[str]) -> None:
    result = jpq(*model, "--json", "-x", "how?").result
    assert (result["extracted"], result["text"], result["exit_code"]) == ("ls -l\n", ANSWER, 0)
    ran = jpq(*model, "--json", "-xrust", "how?")
    assert ran.result["extracted"] is None and ran.result["error"]["kind"] == "no_block"
    assert (ran.code, ran.result["exit_code"], ran.result["status"]) == (65, 65, "complete")


def test_an_answer_that_was_cut_is_printed_as_it_is(tmp_path: Any) -> None:
    model = "scripted/" + script(tmp_path, 'text = "```sh\\nls"\nfinish = "length"')
    ran = jpq("-m", model, "-x", "how?")
    assert (ran.code, ran.text) == (76, "```sh\nls\n")


def test_a_terminal_gets_the_block_as_text_without_what_drives_it(tmp_path: Any) -> None:
    text = json.dumps("```sh\necho \x1b[2Jx # **y**\n```\n")
    model = "scripted/" + script(tmp_path, f"text = {text}")
    command = ptys.jpq("-m", model, "-x", "how?")
    with ptys.Child(
        command, ptys.environment(str(tmp_path / "home")), ptys.ROOT, terminal=True
    ) as child:
        child.wait_for(b"# **y**")
        assert child.end() == 0
        assert b"\x1b[2J" not in child.output and b"```" not in child.output


def test_a_terminal_shows_structured_answers_as_a_block(tmp_path: Any) -> None:
    answer = json.dumps(json.dumps({"name": "Ada", "age": 36}))
    model = "scripted/" + script(tmp_path, f"text = {answer}")
    command = ptys.jpq("-m", model, "--color", "never", "--schema", "name, age int", "who?")
    with ptys.Child(
        command, ptys.environment(str(tmp_path / "home")), ptys.ROOT, terminal=True
    ) as child:
        child.wait_for(b'"age": 36')
        assert child.end() == 0
        lines = [line.strip("\r") for line in child.output.decode().split("\n")]
    at = lines.index('  "name": "Ada",')
    assert lines[at - 1 : at + 3] == ["{", '  "name": "Ada",', '  "age": 36', "}"]


def test_an_unknown_short_option_with_an_x_is_still_one() -> None:
    with pytest.raises(UsageError, match="-zx"):
        build_parser("jpq").parse_args(["-zx", "how"])


def test_a_question_that_begins_like_it_is_told_apart() -> None:
    with pytest.raises(UsageError, match="-x is what.? names no language") as caught:
        build_parser("jpq").parse_args(["-x is what?"])
    assert "--" in caught.value.hint
    assert build_parser("jpq").parse_args(["--", "-x is what?"]).words == ["-x is what?"]
