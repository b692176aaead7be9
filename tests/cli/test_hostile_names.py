"""Names and texts of other people that would drive a terminal, wherever a command repeats them."""

from __future__ import annotations

import json
import os
import re
from typing import Any, List

import pytest

from jpq.cli.json_text import escaped
from tests.support.programs import ROOT, environment, jpq, script
from tests.support.ptys import Child
from tests.support.ptys import jpq as command

EVIL = "a\x1b[2Jb\x9b31mc\x9d0;t\x9cd\u202ee\u2066f\x7fg"
OBEYED = re.compile(  # but for colours of our own
    "\x1b(?!\\[[0-9;]*m)|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")


def on_terminal(arguments: List[str]) -> str:
    """What ``jpq`` writes to a terminal."""
    environ = {**environment(), "TERM": "xterm"}
    with Child(command(*arguments), environ, ROOT, terminal=True) as child:
        child.wait_for(1)
        child.end()
        return child.output.decode("utf-8", "replace")


@pytest.mark.parametrize(
    "arguments",
    [
        ("show",),
        ("show", "--format", "json"),
        ("export",),
        ("export", "--format", "jsonl"),
        ("export", "--format", "markdown"),
        ("ls", "--format", "json"),
        ("grep", "b", "--format", "json"),
    ],
)
def test_a_saved_conversation(tmp_path: Any, arguments: Any) -> None:
    model = "scripted/" + script(tmp_path, f"text = {escaped(json.dumps(EVIL))}")
    assert jpq("-m", model, EVIL).code == 0
    shown = on_terminal(["conversation", *arguments])
    assert "b" in shown and not OBEYED.search(shown), ascii(shown)


def test_json_means_the_same(tmp_path: Any) -> None:
    model = "scripted/" + script(tmp_path, 'text = "Hello."')
    assert jpq("-m", model, EVIL).code == 0
    shown = jpq("conversation", "show", "--format", "json")
    assert json.dumps(EVIL) in json.dumps(json.loads(shown.out))


def test_the_name_of_a_log_that_cannot_be_written(tmp_path: Any) -> None:
    model = "scripted/" + script(tmp_path, 'text = "Hello."')
    shown = on_terminal(["-m", model, "--log-file", f"/{EVIL}/log", "hi"])
    assert "cannot be written" in shown and not OBEYED.search(shown.replace("\x1b[K", "")), shown


CONFIGURATION = """
system = EVIL
[tools.greet]
command = ["echo", EVIL]
description = EVIL
parameters.name = { type = "string", description = EVIL, enum = [EVIL] }
display = { name = EVIL, title = EVIL }
[providers.EVIL]
api = "openai-chat"
base_url = "http://127.0.0.1:1/v1"
[mcp.EVIL]
command = ["/no/such/program"]
[EVIL]
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ("config", "show"),
        ("config", "explain", "system"),
        ("tools", "ls"),
        ("tools", "show", "greet"),
        ("tools", "run", "-y", "greet", "{}"),
        ("tools", "run", "-y", "greet", '{"name": 5}'),
        ("mcp", "ls"),
        ("models", "ls"),
        ("keys", "ls"),
    ],
)
def test_a_configuration(arguments: Any) -> None:
    home = os.environ["JPQ_HOME"]
    os.makedirs(home, exist_ok=True)
    with open(os.path.join(home, "config.toml"), "w", encoding="utf-8") as file:
        file.write(CONFIGURATION.replace("EVIL", escaped(json.dumps(EVIL))))
    shown = on_terminal(list(arguments))
    assert shown and not OBEYED.search(shown.replace("\x1b[K", "")), ascii(shown)
