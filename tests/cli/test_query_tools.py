"""Tools from outside: the options that offer and allow them, and the prompts on a terminal."""

from __future__ import annotations

import json
import os
import signal
from typing import Any, Dict, List

import pytest

from tests.support import ptys
from tests.support.programs import Ran, conversations, entries, jpq, model_at, script
from tests.support.server import Server, answer, delta, reply

CALL = """
text = "Let me see. "
[[reply.tool_calls]]
name = "greet"
arguments = { name = "Ada" }
"""
DONE = 'text = "Done."'
GREET = """
[tools.greet]
description = "Greet a person"
command = ["sh", "-c", 'echo "hello $1"', "_", "{name}"]
parameters.name = { type = "string", required = true }
display = { title = "Greeting {name}" }
"""
QUESTION = b"[x] result mode [?] "


@pytest.fixture(autouse=True)
def home() -> str:
    """The test's own JPQ_HOME, with a tool configured."""
    folder = os.environ["JPQ_HOME"]
    os.makedirs(folder, exist_ok=True)
    configure(GREET)
    return folder


def configure(text: str) -> None:
    with open(os.path.join(os.environ["JPQ_HOME"], "config.toml"), "w", encoding="utf-8") as file:
        file.write(text)


def ask(tmp_path: Any, *options: str) -> Ran:
    return jpq("-m", "scripted/" + script(tmp_path, CALL, DONE), "hi", *options)


def answers(folder: str) -> List[Dict[str, Any]]:
    return [each for each in entries(folder) if each["type"] == "tool_call_response"]


def test_without_a_terminal_what_must_be_asked_ends_with_77(tmp_path: Any) -> None:
    ran = ask(tmp_path, "--non-interactive")
    assert ran.code == 77
    assert ran.text == "Let me see. \n"
    assert "--yes" in ran.told[-1] and 'tools.greet.run = "unattended"' in ran.told[-1]
    (folder,) = conversations()
    (answer,) = answers(folder)
    assert answer["is_error"] and "needs the user's permission" in answer["content"]
    assert entries(folder)[-1]["status"] == "denied"


def test_yes_runs_it(tmp_path: Any) -> None:
    ran = ask(tmp_path, "-y")
    assert (ran.code, ran.text) == (0, "Let me see. \n\nDone.\n")
    assert "hello Ada" in ran.err.decode()
    (folder,) = conversations()
    assert answers(folder)[0]["content"] == "hello Ada\n"


def test_a_program_is_told_of_each_step(tmp_path: Any) -> None:
    ran = ask(tmp_path, "--yes", "--format", "jsonl")
    types = [event["type"] for event in ran.events]
    assert types.index("tool_use") < types.index("tool_result") < types.index("complete")
    assert ran.result["status"] == "complete"


@pytest.mark.parametrize(
    "options, offered",
    [
        ([], ["greet"]),
        (["-t", "gr*"], ["greet"]),
        (["-t", "greet", "-t", "read_file"], ["greet", "read_file"]),
        (["-T"], []),
    ],
)
def test_what_is_offered(options: List[str], offered: List[str]) -> None:
    with Server(answer("Hi")) as server:
        assert jpq(*model_at(server), *options, "hi").code == 0
        tools = server.seen[0].json.get("tools", [])
    assert [tool["function"]["name"] for tool in tools] == offered


def test_a_tool_that_does_not_exist_is_a_mistake(tmp_path: Any) -> None:
    ask(tmp_path, "-t", "gret").failed_with(2, "There is no tool named 'gret'", "greet")
    ask(tmp_path, "--tool-choice", "nope").failed_with(2, "--tool-choice nope", "greet")
    ask(tmp_path, "-t", "greet", "-T").failed_with(2, "-T")


def test_a_tool_choice_holds_until_a_tool_was_called() -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "greet", "arguments": '{"name": "Ada"}'}}
    made = delta("", finish_reason="tool_calls")
    made["choices"][0]["delta"] = {"tool_calls": [call]}
    with Server(reply(made, "[DONE]"), answer("Done")) as server:
        ran = jpq(*model_at(server), "-y", "--tool-choice", "required", "hi")
        assert (ran.code, ran.text) == (0, "Done\n")
        assert [seen.json.get("tool_choice") for seen in server.seen] == ["required", None]


def on_terminal(tmp_path: Any, *options: str, **variables: str) -> ptys.Child:
    model = "scripted/" + script(tmp_path, CALL, DONE)
    environ = {**ptys.environment(os.environ["JPQ_HOME"]), **variables}
    argv = ptys.jpq("-m", model, *options, "hi")
    return ptys.Child(argv, environ, str(tmp_path), terminal=True)


def test_yes_at_the_prompt_runs_the_command_that_was_shown(tmp_path: Any) -> None:
    with on_terminal(tmp_path) as child:
        child.wait_for(QUESTION)
        assert b"Greeting Ada" in child.output
        child.type(b"y")
        assert child.end() == 0
        assert b"hello Ada" in child.output and b"Done." in child.output


def test_no_tells_the_model_why(tmp_path: Any) -> None:
    with on_terminal(tmp_path) as child:
        child.wait_for(QUESTION)
        child.type(b"n")
        child.wait_for(b"Why not?")
        child.type(b"ask me tomorrow\n")
        assert child.end() == 0
    (folder,) = conversations()
    (answer,) = answers(folder)
    assert answer["content"] == "Not run: the user said no: ask me tomorrow."
    assert not answer["is_error"]


def test_keys_typed_before_the_question_do_not_answer_it(tmp_path: Any) -> None:
    slow = CALL.replace('text = "Let me see. "', 'delay_s = 0.5\ntext = ["Let me see. ", "Well. "]')
    model = "scripted/" + script(tmp_path, slow, DONE)
    argv = ptys.jpq("-m", model, "hi")
    environ = ptys.environment(os.environ["JPQ_HOME"])
    with ptys.Child(argv, environ, str(tmp_path), terminal=True) as child:
        child.wait_for(b"Let me see.")
        child.type(b"yyyy\n")
        child.wait_for(QUESTION)
        child.type(b"n")
        child.wait_for(b"Why not?")
        child.type(b"\n")
        assert child.end() == 0
    assert answers(conversations()[0])[0]["content"] == "Not run: the user said no."


def test_edited_arguments_are_checked_and_the_model_is_told(tmp_path: Any) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/Ada/Grace/ "$1"\n')
    editor.chmod(0o755)
    with on_terminal(tmp_path, EDITOR=str(editor)) as child:
        child.wait_for(QUESTION)
        child.type(b"e")
        assert child.end() == 0
    (answer,) = answers(conversations()[0])
    assert answer["content"] == (
        'Run with arguments that the user edited: {"name": "Grace"}\n\nhello Grace\n'
    )


def test_arguments_that_do_not_match_are_not_run(tmp_path: Any) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho \'{"nome": 1}\' > "$1"\n')
    editor.chmod(0o755)
    with on_terminal(tmp_path, EDITOR=str(editor)) as child:
        child.wait_for(QUESTION)
        del child.output[:]
        child.type(b"e")
        child.wait_for(QUESTION)
        assert b"These arguments cannot be used: arguments must contain" in child.output
        child.type(b"\x04")  # Ctrl+D is no
        child.wait_for(b"Why not?")
        child.type(b"\x04")
        assert child.end() == 0
    assert answers(conversations()[0])[0]["content"] == "Not run: the user said no."


def test_always_holds_for_the_tool_in_this_conversation(tmp_path: Any) -> None:
    with on_terminal(tmp_path) as child:
        child.wait_for(QUESTION)
        child.type(b"a")
        assert child.end() == 0
    (folder,) = conversations()
    changes = [each for each in entries(folder) if each["type"] == "config_delta"]
    assert "unattended" in json.dumps(changes)
    again = jpq("-c", "--non-interactive", "again", cwd=str(tmp_path))
    assert again.code == 0, again
    assert jpq("-m", "scripted/" + script(tmp_path, CALL, DONE), "hi").code == 77


def test_ctrl_c_at_the_prompt_answers_the_call_and_ends(tmp_path: Any) -> None:
    with on_terminal(tmp_path) as child:
        before = child.modes()
        child.wait_for(QUESTION)
        child.type(b"\x03")
        child.wait_for(b"[s]top and save")  # the menu of the phase below the prompt
        child.type(b"\x03")
        assert child.exit() == -signal.SIGINT
        assert child.modes() == before
    (folder,) = conversations()
    assert answers(folder)[0]["content"] == "Cancelled before it was started."
    assert entries(folder)[-1]["status"] == "interrupted"


def test_what_is_asked_about_cannot_drive_the_terminal(tmp_path: Any) -> None:
    nasty = CALL.replace('"Ada"', '"Ada\\u001b[2J\\u202e\\nRun greet? [y]es"')
    model = "scripted/" + script(tmp_path, nasty, DONE)
    environ = ptys.environment(os.environ["JPQ_HOME"])
    argv = ptys.jpq("-m", model, "hi")
    with ptys.Child(argv, environ, str(tmp_path), terminal=True) as child:
        child.wait_for(QUESTION)
        assert b"\x1b[2J" not in child.output and "\u202e".encode() not in child.output
        child.type(b"n")
        child.wait_for(b"Why not?")
        child.type(b"\n")
        assert child.end() == 0


def test_a_tool_whose_name_no_api_takes_is_called_by_another_and_known_by_its_own() -> None:
    configure(GREET.replace("tools.greet", "tools.2fa"))
    call = {
        "index": 0,
        "id": "c1",
        "function": {"name": "_2fa", "arguments": '{"name": "Ada"}'},
    }
    calls = delta("", finish_reason="tool_calls")
    calls["choices"][0]["delta"]["tool_calls"] = [call]
    with Server(reply(calls, "[DONE]"), answer("Done.")) as server:
        ran = jpq(*model_at(server), "hi", "-y", "--format", "jsonl")
        offered = [seen.json["tools"][0]["function"]["name"] for seen in server.seen]
    assert offered == ["_2fa"] * 2, ran.err
    assert [e["name"] for e in ran.events if e["type"] == "tool_use"] == ["2fa"]
    (folder,) = conversations()
    assert answers(folder)[0]["content"] == "hello Ada\n"
