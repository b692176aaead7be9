"""Command tools: what a program is started with, and what the model is told of how it ended."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Dict, List, Mapping, Optional

import pytest

from jpq.errors import ConfigError
from jpq.interrupt.cancel import CancelToken
from jpq.tools.argv import check_argv, filled
from jpq.tools.command import CommandTool
from jpq.tools.definition import STOPPED, Invocation, ToolOutput, ToolSpec
from jpq.tools.schema import json_schema

pytestmark = pytest.mark.skipif(os.name != "posix", reason="written for a POSIX shell")


def tool(command: List[str], *names: str, **settings: Any) -> CommandTool:
    spec = ToolSpec(
        "greet",
        "command",
        parameters=json_schema({name: {} for name in names}, "test"),
        max_output_bytes=settings.pop("max_output_bytes", 65536),
        settings={"command": command, **settings},
    )
    return CommandTool(spec, "/")


def run(
    tool: CommandTool,
    arguments: Optional[Mapping[str, Any]] = None,
    cancel: Optional[CancelToken] = None,
    full_output: Optional[str] = None,
    **environ: str,
) -> ToolOutput:
    def ask(question: Any) -> str:
        raise AssertionError("nothing was to be asked")

    environment: Dict[str, str] = {**os.environ, **environ}
    call = Invocation("c1", arguments or {}, environment, "/", full_output, ask)
    return tool.run(call, cancel or CancelToken(), lambda text: None)


@pytest.mark.parametrize(
    "template,arguments,argv",
    [
        (["p", "{a}"], {"a": "x y; rm -rf $HOME"}, ["p", "x y; rm -rf $HOME"]),
        (["p", "{a}"], {"a": ""}, ["p", ""]),
        (["p", "--a={a}"], {"a": "1 2"}, ["p", "--a=1 2"]),
        (["p", "--a={a}", "end"], {}, ["p", "end"]),
        (["p", "{a}-{b}"], {"a": "1"}, ["p"]),
        (["p", "{a}"], {"a": True}, ["p", "true"]),
        (["p", "{a}"], {"a": 2.5}, ["p", "2.5"]),
        (["p", "{a}"], {"a": None}, ["p", "null"]),
        (["p", "{a}"], {"a": ["x", 1]}, ["p", '["x", 1]']),
        (["p", "{a...}"], {"a": ["x y", 1]}, ["p", "x y", "1"]),
        (["p", "{a...}"], {}, ["p"]),
        (["p", "{a...}"], {"a": "one"}, ["p", "one"]),
        (["p", "{{a}}", "${a}", "{print $1}", "{}"], {"a": "1"},
         ["p", "{a}", "${a}", "{print $1}", "{}"]),
        (["p", "{a}"], {"a": "{b}", "b": "never"}, ["p", "{b}"]),
    ],
)  # fmt: skip
def test_a_place_is_one_argument(
    template: List[str], arguments: Mapping[str, Any], argv: List[str]
) -> None:
    check_argv(template, ("a", "b"), "tools.p.command")
    assert filled(template, arguments) == argv


@pytest.mark.parametrize(
    "command,words",
    [
        ([], "needs a command"),
        (["p", "{nmae}"], "no parameter has that name"),
        (["sh", "-c", "echo {name}"], "into a line of shell"),
        (["/bin/bash", "-euo", "pipefail", "-lc", "echo '{name}'"], "into a line of shell"),
    ],
)
def test_a_command_that_cannot_be_meant_is_told_before_it_runs(
    command: List[str], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        tool(command, "name")


def test_the_contract_s_example_greets_whoever_it_is() -> None:
    greet = tool(["sh", "-c", 'echo hello "$1"', "_", "{name}"], "name")
    arguments = {"name": "$(id); x"}
    assert run(greet, arguments) == ToolOutput("hello $(id); x\n")
    assert greet.preview(arguments) == "$ sh -c 'echo hello \"$1\"' _ '$(id); x'"


def test_a_status_is_an_error_with_the_output() -> None:
    output = run(tool(["sh", "-c", "echo partly; echo why >&2; exit 3"]))
    assert output == ToolOutput("Failed with exit status 3.\npartly\nwhy\n", is_error=True)


def test_a_signal_is_named() -> None:
    assert run(tool(["sh", "-c", "kill -ABRT $$"])).content == "Failed: it was ended by SIGABRT."


def test_no_output_is_said_since_providers_refuse_an_empty_result() -> None:
    assert run(tool(["true"])) == ToolOutput("(no output)")


def test_a_program_that_is_not_there() -> None:
    output = run(tool(["no-such-program"]))
    assert output == ToolOutput("Not run: There is no program 'no-such-program'.", is_error=True)


def test_what_it_left_in_the_background_is_told() -> None:
    output = run(tool(["sh", "-c", "sleep 300 & echo ok"]))
    assert output.content == ("ok\n[ended what it had left running in the background: sleep 300]")
    assert not output.is_error


def test_cancelled_it_says_what_it_had_so_far() -> None:
    token = CancelToken()
    slow = tool(["sh", "-c", "echo begun; sleep 300"])
    call = Invocation("c1", {}, os.environ, "/", None, lambda question: "")
    output = slow.run(call, token, lambda text: token.cancel())
    assert (output.content, output.ended) == ("begun\n", STOPPED)


def test_arguments_come_on_stdin_if_wanted() -> None:
    code = "import json, sys; print(json.load(sys.stdin)['name'])"
    arguments = {"name": "J\u00fcrgen \ud83d"}
    reads = tool([sys.executable, "-c", code.replace("print(", "print(ascii(") + ")"], "name",
                 stdin="json")  # fmt: skip
    assert run(reads, arguments).content == ascii(arguments["name"]) + "\n"


def test_its_own_variables_win() -> None:
    output = run(tool(["sh", "-c", "echo $LANG $OTHER"], env={"LANG": "C"}), LANG="de", OTHER="1")
    assert output.content == "C 1\n"


def test_too_long_output_is_whole_in_its_file(tmp_path: Any) -> None:
    path = str(tmp_path / "full.txt")
    output = run(tool(["seq", "10000"], max_output_bytes=100), full_output=path)
    assert output.full_output == path
    assert output.content.startswith("1\n2\n") and output.content.endswith("9999\n10000\n")
    with open(path, encoding="utf-8") as file:
        assert json.loads("[" + ",".join(file.read().split()) + "]") == list(range(1, 10001))


def test_binary_output_is_described(tmp_path: Any) -> None:
    path = str(tmp_path / "full.txt")
    output = run(tool(["head", "-c", "100000", "/dev/zero"]), full_output=path)
    assert output.content.startswith("[binary output of 100000 bytes")
    assert os.path.getsize(path) == 100000


def test_the_folder_is_shown_where_it_is_another() -> None:
    assert tool(["ls"], cwd="/tmp").preview({}) == "$ ls\nin /tmp"
