"""Eight calls at once, each with its own kind of trouble, in the real program on a terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any, Dict, List

import pytest

from tests.support import ptys
from tests.support.programs import conversations, entries, model_at
from tests.support.server import Server, answer, delta, reply

TIMEOUT_S = 2
TERM_S = 2  # how long what ignores TERM may live on
MARGIN_S = 6  # for a busy machine to start Python in and write files

SLEEP = f"sleep 300.{os.getpid()}"  # this test's own, whatever else runs on the machine

TOOLS = f"""
[tools.hangs]
command = ["sh", "-c", "exec {SLEEP}"]
timeout_s = {TIMEOUT_S}

[tools.huge]
command = ["head", "-c", "3000000", "/dev/urandom"]

[tools.reads]
command = ["sh", "-c", "cat; echo read it all"]

[tools.leaves]
command = ["sh", "-c", "{SLEEP} & echo done"]

[tools.ignores]
command = ["sh", "-c", "trap '' TERM; echo still here; while :; do sleep 0.1; done"]
timeout_s = {TIMEOUT_S}

[tools.fails]
command = ["sh", "-c", "echo partly; exit 3"]

[tools.asks]
command = ["sh", "-c", 'echo "went $("$0" -m jpq ask "Which way?")"', "{{python}}"]
parameters.python = {{ type = "string", required = true }}
"""
NAMES = ("hangs", "huge", "reads", "leaves", "ignores", "fails", "asks", "unknown")

pytestmark = pytest.mark.skipif(os.name != "posix", reason="written for a POSIX shell")


def eight_calls() -> Dict[str, Any]:
    """A chunk in which the model makes them all."""
    arguments = {"asks": {"python": sys.executable}}
    made = delta("", finish_reason="tool_calls")
    made["choices"][0]["delta"] = {
        "tool_calls": [
            {
                "index": number,
                "id": f"call-{name}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments.get(name, {}))},
            }
            for number, name in enumerate(NAMES)
        ]
    }
    return made


def texts_of(messages: List[Dict[str, Any]]) -> Dict[str, str]:
    """The results as the model was sent them, in their order."""
    return {each["tool_call_id"]: each["content"] for each in messages if each["role"] == "tool"}


def test_eight_calls_at_once(tmp_path: Any) -> None:
    home = os.environ["JPQ_HOME"]
    os.makedirs(home)
    with open(os.path.join(home, "config.toml"), "w", encoding="utf-8") as file:
        file.write(TOOLS)
    with Server(reply(eight_calls(), "[DONE]"), answer("All done.")) as server:
        argv = ptys.jpq(*model_at(server), "-y", "Do all of it.")
        with ptys.Child(argv, ptys.environment(home), str(tmp_path), terminal=True) as child:
            before = child.modes()
            started = time.monotonic()
            child.wait_for(b"Which way?\r\n> ")
            child.type(b"left\n")
            child.wait_for(b"All done.")
            assert child.exit() == 0
            seconds = time.monotonic() - started
            assert child.modes() == before
        texts = texts_of(server.seen[1].json["messages"])
    assert TIMEOUT_S + TERM_S < seconds < TIMEOUT_S + TERM_S + MARGIN_S
    assert list(texts) == [f"call-{name}" for name in NAMES]
    _are_true({name: texts[f"call-{name}"] for name in NAMES})
    _whole_output_was_kept()
    running = subprocess.check_output(["ps", "-A", "-o", "args="]).split(b"\n")
    assert SLEEP.encode() not in running


def _are_true(texts: Dict[str, str]) -> None:
    assert texts["hangs"].startswith(f"Timed out after {TIMEOUT_S}.")
    assert texts["hangs"].endswith("It had no output yet.")
    assert texts["huge"].startswith("[binary output of 3000000 bytes")
    assert texts["reads"] == "read it all\n"
    assert texts["leaves"] == (f"done\n[ended what it had left running in the background: {SLEEP}]")
    assert texts["ignores"].startswith(f"Timed out after {TIMEOUT_S + TERM_S}.")
    assert texts["ignores"].endswith("Its output so far:\nstill here\n")
    assert texts["fails"] == "Failed with exit status 3.\npartly\n"
    assert texts["asks"] == "went left\n"
    assert texts["unknown"].startswith("Not run: there is no tool named 'unknown'.")


def _whole_output_was_kept() -> None:
    (folder,) = conversations()
    kept = os.path.join(folder, "tool-output")
    assert [os.path.getsize(os.path.join(kept, name)) for name in os.listdir(kept)] == [3000000]
    asked = [each for each in entries(folder) if each["type"].startswith("inquiry")]
    assert [each["type"] for each in asked] == ["inquiry_request", "inquiry_response"]
