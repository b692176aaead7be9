"""``jpq tools`` and ``jpq ask`` from outside."""

from __future__ import annotations

import json
import os
import signal
import sys

import pytest

from tests.support import ptys
from tests.support.programs import conversations, entries, jpq, script

CONFIG = f"""
[policy]
allow = ["greet(name=A*)", "shell(git log *)"]
deny = ["greet(name=Mallory)"]

[tools.greet]
description = "Greet a person"
command = ["sh", "-c", 'echo "hello $1"', "_", "{{name}}"]
parameters.name = {{ type = "string", required = true }}

[tools.fails]
command = ["sh", "-c", "echo oops; exit 3"]
run = "unattended"

[tools.asks]
command = ["{sys.executable}", "-m", "jpq", "ask", "--choice", "red", "--choice", "blue", "Which?"]
run = "unattended"

[tools.hasty]
command = ["{sys.executable}", "-m", "jpq", "ask", "--timeout", "0.3", "Quick?"]
run = "unattended"

[tools.edits]
command = ["true"]
run = "edit"

[tools.slow]
command = ["sh", "-c", 'echo begun > "$JPQ_HOME/begun"; exec sleep 30']
run = "unattended"
"""


@pytest.fixture(autouse=True)
def configured() -> None:
    home = os.environ["JPQ_HOME"]
    os.makedirs(home, exist_ok=True)
    with open(os.path.join(home, "config.toml"), "w", encoding="utf-8") as file:
        file.write(CONFIG)


def on_terminal(*arguments: str) -> ptys.Child:
    environ = ptys.environment(os.environ["JPQ_HOME"])
    return ptys.Child(ptys.jpq(*arguments), environ, "/", terminal=True)


def test_show_says_what_the_model_is_told_and_what_would_be_asked() -> None:
    ran = jpq("tools", "show", "greet")
    assert ran.code == 0
    assert "Greet a person" in ran.text and "run               ask" in ran.text
    row = json.loads(jpq("tools", "show", "greet", "--format", "json").text)
    assert row["parameters"]["required"] == ["name"] and row["timeout_s"] == 60


def test_ls_lists_what_is_offered_and_what_has_to_be_named() -> None:
    rows = {row["name"]: row for row in json.loads(jpq("tools", "ls", "--format", "json").text)}
    assert rows["greet"]["offered"] and not rows["shell"]["offered"]
    ran = jpq("tools", "ls")
    assert (ran.code, ran.err) == (0, b"")
    lines = {line.split()[0]: line for line in ran.text.splitlines()}
    assert "Greet a person" in lines["greet"] and "-t shell" in lines["shell"]


def test_a_shell_line_is_judged_as_a_whole() -> None:
    def explained(line: str) -> str:
        return jpq("tools", "explain", "shell", line).text

    assert explained("git log -3").startswith("allow: the rule allow = 'shell(git log *)'")
    assert explained("git log -3; rm x").startswith('ask: the run mode of shell is "ask"')
    assert explained("git log $(rm x)").startswith("ask: no rule can be sure of this line")


def test_explain_names_what_decides() -> None:
    def explained(*arguments: str) -> str:
        ran = jpq("tools", "explain", *arguments)
        assert ran.code == 0, ran
        return ran.text

    assert explained("greet", "Ada") == "allow: the rule allow = 'greet(name=A*)'\n"
    assert explained("greet", '{"name": "Mallory"}').startswith("deny: the rule deny")
    ways = '--yes allows it, or tools.greet.run = "unattended"'
    assert explained("greet", "Bob") == f'ask: the run mode of greet is "ask"; {ways}\n'
    assert explained("-y", "greet", "Bob") == "allow: --yes\n"
    for wrong in ('{"name": 3}', "{}", '{"name": "Ada", "x": 1}'):
        assert explained("greet", wrong).startswith("not run: ")
    assert explained("shell", '{"command": 3}').startswith("not run: arguments.command must be")
    assert explained("shell").startswith("not run: ")
    assert explained("slow").startswith('allow: the run mode of slow is "unattended"')


def test_run_takes_the_path_of_a_models_call() -> None:
    assert jpq("tools", "run", "greet", "Ada").text == "hello Ada\n"
    asked = jpq("tools", "run", "greet", "Bob")
    asked.failed_with(77, "needs your permission", "--yes")
    unsure = jpq("tools", "run", "-y", "shell", "git log $(x)")
    unsure.failed_with(77, "asked about even with --yes: no rule can be sure", "under policy")
    edits = jpq("tools", "run", "-y", "edits")
    edits.failed_with(77, "policy.allow", 'tools.edits.run = "unattended"')
    denied = jpq("tools", "run", "-y", "greet", "Mallory")
    assert (denied.code, denied.text[:8]) == (0, "Not run:")
    wrong = jpq("tools", "run", "-y", "greet", '{"nome": "Ada"}')
    assert wrong.code == 1 and "must contain ['name']" in wrong.text
    failed = jpq("tools", "run", "fails")
    assert failed.code == 1 and "3" in failed.text and "oops" in failed.text
    assert jpq("tools", "run", "greet", "-", stdin=b'{"name": "Al"}').text == "hello Al\n"


def test_a_name_that_is_none_is_a_mistake() -> None:
    jpq("tools", "show", "gret").failed_with(2, "There is no tool named 'gret'", "greet")
    jpq("tools", "run", "slow", "{").failed_with(65, "not JSON", "slow")


def test_a_window_that_is_closed_over_a_question_ends_the_run_by_its_signal() -> None:
    with on_terminal("tools", "run", "greet", "Bob") as child:
        child.wait_for(b"Run greet?")
        child.hang_up()
        assert child.end() == -signal.SIGHUP


def test_ctrl_c_ends_a_call_and_its_process() -> None:
    begun = os.path.join(os.environ["JPQ_HOME"], "begun")
    os.mkfifo(begun)
    with on_terminal("tools", "run", "slow") as child:
        with open(begun, encoding="utf-8") as pipe:
            assert pipe.read() == "begun\n"
        child.type(b"\x03")
        assert child.end() == -signal.SIGINT
        assert b"Cancelled" in child.output


def test_a_tool_asks_the_person_and_goes_on_with_the_answer() -> None:
    with on_terminal("tools", "run", "asks") as child:
        child.wait_for(b"Number (1 to 2): ")
        assert b"asks asks: Which?" in child.output
        child.type(b"2\n")
        assert child.end() == 0
        assert child.output.endswith(b"blue\r\n")


def test_a_question_that_is_not_answered_in_time_closes() -> None:
    with on_terminal("tools", "run", "hasty") as child:
        child.wait_for(b"> ")
        assert child.end() == 1
        assert b"124" in child.output and b"nobody answered within 0.3 s" in child.output


def test_questions_are_part_of_the_conversation() -> None:
    call = '[[reply.tool_calls]]\nname = "asks"\narguments = {}'
    model = "scripted/" + script(os.environ["JPQ_HOME"], call, 'text = "Done."')
    with on_terminal("-m", model, "hi") as child:
        child.wait_for(b"Number (1 to 2): ")
        child.type(b"red\n")
        assert child.end() == 0
    (folder,) = conversations()
    kept = {each["type"]: each for each in entries(folder)}
    assert kept["inquiry_request"]["question"] == "Which?"
    assert kept["inquiry_response"]["answer"] == "red"
    assert kept["inquiry_request"]["id"] == kept["inquiry_response"]["id"]
    assert kept["tool_call_response"]["content"] == "red\n"


def test_without_a_terminal_a_tool_is_told_that_nobody_can_be_asked() -> None:
    ran = jpq("tools", "run", "asks", "--non-interactive")
    assert ran.code == 1
    assert "77" in ran.text and "nobody can be asked in this run" in ran.text


def test_ask_belongs_into_a_tool() -> None:
    jpq("ask", "hello").failed_with(2, "only within a tool", "JPQ_INQUIRY")
