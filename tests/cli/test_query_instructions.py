"""``.jpq/instructions.md``: what a project tells the model, once the person trusts it."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.support.programs import environment, jpq, model_at
from tests.support.ptys import Child
from tests.support.ptys import jpq as command
from tests.support.server import Server, answer


@pytest.fixture
def project(tmp_path: Any) -> str:
    folder = tmp_path / "project"
    (folder / ".jpq").mkdir(parents=True)
    (folder / ".jpq" / "instructions.md").write_text("Answer in verse.\n")
    return str(folder)


def system(folder: str, *arguments: str) -> Any:
    """The system prompt that a question in ``folder`` is sent with; None without."""
    with Server(answer("Hi")) as server:
        ran = jpq(*model_at(server), *arguments, "hi", cwd=folder)
        assert ran.code == 0, ran
        first = server.seen[0].json["messages"][0]
    return first["content"] if first["role"] == "system" else None


def test_they_are_not_used_before_they_are_trusted(project: str) -> None:
    assert system(project) is None
    ran = jpq("-m", "scripted//no/such", "hi", cwd=project)
    assert "not trusted" in ran.told[0] and "instructions.md" in ran.told[0]
    told = jpq("config", "trust", cwd=project).told
    assert "instructions.md" in told[0] and "3 words" in told[1]
    assert system(project) == "Answer in verse.\n"
    assert system(project, "-s", "Be brief.") == "Be brief.\n\nAnswer in verse.\n"
    assert system(project, "--set", "instructions=") is None
    inner = os.path.join(project, "deep", "er")
    os.makedirs(inner)
    assert system(inner) == "Answer in verse.\n"
    assert "instructions.md" in jpq("config", "explain", "instructions", cwd=project).text
    jpq("config", "trust", "--revoke", cwd=project)
    assert system(project) is None


def test_changed_ones_are_asked_about_again(project: str) -> None:
    jpq("config", "trust", cwd=project)
    with open(os.path.join(project, ".jpq", "instructions.md"), "a") as file:
        file.write("In French.\n")
    assert system(project) is None


def test_settings_and_instructions_are_asked_about_apart(project: str) -> None:
    with open(os.path.join(project, ".jpq", "config.toml"), "w") as file:
        file.write('system = "S"\n')
    with Server(answer("Hi")) as server:
        argv = command(*model_at(server), "hi")
        with Child(argv, environment(TERM="xterm"), project, terminal=True) as child:
            child.wait_for(b"settings for jpq")
            child.wait_for(b"They can run commands. Use them? [y]es [n]o ")
            child.type(b"y\n")
            child.wait_for(b"instructions for the model")
            child.wait_for(b"sent with each question. Use them? [y]es [n]o ")
            child.type(b"n\n")
            assert child.end() == 0
        assert server.seen[0].json["messages"][0]["content"] == "S"
    assert system(project) == "S"


def test_what_cannot_be_used(project: str) -> None:
    path = os.path.join(project, ".jpq", "instructions.md")
    with open(path, "wb") as file:
        file.write(b"x" * 300_000)
    jpq("-m", "scripted//no/such", "hi", cwd=project).failed_with(78, "longer than 256 KiB", path)
    with open(path, "wb") as file:
        file.write(b"ok\n\xff\n")
    jpq("config", "trust", cwd=project).failed_with(78, "not UTF-8", f"{path}:2")


def test_those_of_ones_own_are_a_setting(tmp_path: Any) -> None:
    jpq("config", "set", "instructions", "Be kind.")
    assert system(str(tmp_path)) == "Be kind."
