"""A project's own settings: not used before the person, at a terminal, has agreed."""

from __future__ import annotations

import os
from typing import Any, Tuple

import pytest

from tests.support.programs import environment, jpq, script
from tests.support.ptys import Child
from tests.support.ptys import jpq as command


@pytest.fixture
def project(tmp_path: Any) -> str:
    """A folder whose settings choose a model, with an escape sequence in a comment."""
    path = script(tmp_path, 'text = "Project speaking."')
    folder = tmp_path / "project"
    (folder / ".jpq").mkdir(parents=True)
    text = f'model = "scripted/{path}"  # \x1b[2J'
    (folder / ".jpq" / "config.toml").write_text(text.replace("\x1b", "\\u001b"))
    return str(folder)


def at_a_terminal(folder: str, *keys: bytes) -> Tuple[int, bytes]:
    argv = command("-m", "scripted//no/such", "hi") if not keys else command("hi")
    with Child(argv, environment(TERM="xterm"), folder, terminal=True) as child:
        for key in keys:
            child.wait_for(b"[n]o ")
            child.type(key)
        code = child.end()
    return code, bytes(child.output)


def test_yes_is_remembered(project: str) -> None:
    code, shown = at_a_terminal(project, b"y\n")
    assert code == 0 and b"Project speaking." in shown
    assert b"This project has settings for jpq" in shown and b"model = " in shown
    ran = jpq("hi", cwd=project)
    assert (ran.code, ran.text, ran.err) == (0, "Project speaking.\n", b"")


@pytest.mark.parametrize("answer", [b"n\n", b"\n", b"what?\n", b"\x04"])
def test_anything_else_is_no_and_remembered(project: str, answer: bytes) -> None:
    code, shown = at_a_terminal(project, answer)
    assert code == 78 and b"Project speaking." not in shown
    ran = jpq("hi", cwd=project)
    assert ran.code == 78 and "not trusted" not in ran.err.decode()


def test_without_a_terminal_it_is_not_used_and_that_is_told(project: str) -> None:
    ran = jpq("hi", cwd=project)
    assert ran.code == 78
    assert "not trusted" in ran.told[0] and os.path.join(project, ".jpq") in ran.told[0]


def test_a_changed_file_is_asked_about_again(project: str) -> None:
    assert at_a_terminal(project, b"y\n")[0] == 0
    with open(os.path.join(project, ".jpq", "config.toml"), "a") as file:
        file.write("\n# changed\n")
    assert jpq("hi", cwd=project).code == 78
