"""``--template`` and ``-p`` in a query, and what wins over what."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any, List

import pytest

from tests.support.programs import (
    JPQ,
    conversations,
    entries,
    environment,
    jpq,
    model_at,
    question,
    script,
)
from tests.support.server import Server, answer


def template(text: str, name: str = "t") -> str:
    """A kept template; its file."""
    folder = os.path.join(os.environ["JPQ_HOME"], "templates")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{name}.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def sent(*arguments: str, **channels: Any) -> Any:
    """The request that is sent."""
    with Server(answer("Hi")) as server:
        ran = jpq(*model_at(server), "--template", "t", *arguments, **channels)
        assert (ran.code, ran.text, ran.err) == (0, "Hi\n", b""), ran
        return server.seen[0]


@pytest.mark.parametrize(
    "prompt,words,piped,expected",
    [
        ("Sum up: $input.", ["a", "b"], b"", "Sum up: a b."),
        ("Sum up:\\n\\n$input", ["a"], b"text\n", "Sum up:\n\na\n\ntext"),
        ("Sum up:\\n\\n$input", [], b"text\n", "Sum up:\n\ntext"),
        ("Tell a joke.", [], b"", "Tell a joke."),
        ("Tell a joke.", ["A", "short one."], b"", "Tell a joke.\n\nA short one."),
        ("Tell a joke on this:", [], b"cats\n", "Tell a joke on this:\n\ncats"),
        ("Tell a joke on this:", ["-"], b"cats\n", "Tell a joke on this:\n\ncats"),
        ("", ["Hello?"], b"", "Hello?"),
        ("$input", ["costs $5 and $$"], b"", "costs $5 and $$"),
    ],
)
def test_what_is_asked(prompt: str, words: List[str], piped: bytes, expected: str) -> None:
    template(f'prompt = "{prompt}"')
    assert question(sent(*words, stdin=piped)) == expected


def test_a_silent_pipe_does_not_keep_a_prompt_that_is_whole() -> None:
    template('prompt = "Tell a joke."')
    reader, writer = os.pipe()
    try:
        with Server(answer("Hi")) as server:
            ran = jpq(
                *model_at(server),
                *("--template", "t", "--set", "input.stdin_wait_s=0.1"),
                stdin=reader,
            )
            assert ran.code == 0 and "Nothing came on stdin" in ran.told[0]
            assert question(server.seen[0]) == "Tell a joke."
    finally:
        os.close(reader)
        os.close(writer)


def test_options_win_over_the_template_and_it_over_settings() -> None:
    template('system = "S"\nmodel = "custom/other"\n[options]\ntemperature = 0.5\nseed = 1\n')
    settings = os.path.join(os.environ["JPQ_HOME"], "config.toml")
    with open(settings, "w", encoding="utf-8") as file:
        file.write('system = "mine"\nmodel = "custom/mine"\n[options]\nseed = 2\ntop_p = 0.1\n')
    with Server(answer("Hi"), answer("Hi"), answer("Hi")) as server:
        at = ["--retries", "0", "--set", f"providers.custom.base_url={server.url}"]
        environ = environment(JPQ_MODEL="custom/variable")
        jpq(*at, "--template", "t", "hi", environ=environ)
        jpq(*at, "--template", "t", "-m", "custom/x", "-s", "O", "-o", "seed=3", "hi")
        jpq(*at, "-c", "more")
        first, second, third = (seen.json for seen in server.seen)
    assert first["model"] == "other" and first["messages"][0]["content"] == "S"
    assert (first["temperature"], first["seed"], first["top_p"]) == (0.5, 1, 0.1)
    assert second["model"] == "x" and second["messages"][0]["content"] == "O"
    assert (second["temperature"], second["seed"]) == (0.5, 3)
    assert third["model"] == "x" and third["temperature"] == 0.5, "it belongs to the conversation"


def test_the_conversation_holds_the_question_as_it_was_sent() -> None:
    template('prompt = "In $language: $input"')
    sent("-p", "language=French", "hello")
    (folder,) = conversations()
    assert entries(folder)[0]["content"] == "In French: hello"


@pytest.mark.parametrize(
    "text,arguments,code,words",
    [
        ('prompt = "$a"', (), 2, ("needs a value for a", "-p a=VALUE")),
        ('prompt = "$a"', ("-p", "b=1"), 2, ('no parameter "b"',)),
        ('prompt = "$a"', ("-p", "b"), 2, ("not KEY=VALUE",)),
        ('prompt = "$input"', (), 2, ("no question",)),
        ('system = "x"', (), 2, ("no question",)),
        ("\nprompt = 1", (), 78, ("prompt must be", "t.toml:2")),
        ('\nmodel = "none"', ("hi",), 78, ("neither PROVIDER/MODEL", "t.toml:2")),
        ("", ("--retry",), 2, ("--retry",)),
        ("", ("-e",), 2, ("--edit",)),
    ],
)
def test_what_is_wrong_ends_before_anything_is_sent(
    text: str, arguments: Any, code: int, words: Any
) -> None:
    template(text)
    ran = jpq("-m", "scripted//no/such", "--template", "t", *arguments)
    if "neither" in words[0]:
        ran = jpq("--template", "t", *arguments)
    ran.failed_with(code, *words)
    assert conversations() == []


def test_a_template_that_is_not_there() -> None:
    template("", "translate")
    jpq("--template", "translat", "hi").failed_with(2, "no template", "mean translate")
    jpq("-p", "a=1", "hi").failed_with(2, "--template")


def test_a_template_that_is_a_file(tmp_path: Any) -> None:
    (tmp_path / "own.toml").write_text('prompt = "Own: $input"')
    with Server(answer("Hi")) as server:
        ran = jpq(*model_at(server), "--template", "./own.toml", "x", cwd=str(tmp_path))
        assert ran.code == 0 and question(server.seen[0]) == "Own: x"


def test_tools_of_a_template(tmp_path: Any) -> None:
    template('tools = ["read_file"]')
    assert [tool["function"]["name"] for tool in sent("hi").json["tools"]] == ["read_file"]
    assert "tools" not in sent("-T", "hi").json
    template('tools = ["no_such_tool"]')
    with Server() as server:
        jpq(*model_at(server), "--template", "t", "hi").failed_with(2, "no_such_tool")


def editor(folder: Any, command: str) -> Any:
    """An environment whose editor runs ``command`` on the file ``$1``."""
    path = folder / "editor.sh"
    path.write_text(f"#!/bin/sh\n{command}\n")
    path.chmod(0o700)
    return environment(VISUAL=str(path))


def edit(environ: Any, name: str = "new") -> Any:
    """Run without a controlling terminal."""
    return subprocess.run(
        ["setsid", *JPQ, "templates", "edit", name],
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
    )


def test_templates_are_listed_and_shown() -> None:
    ran = jpq("templates", "ls")
    assert ran.text == "" and "templates edit NAME" in ran.told[0]
    path = template('description = "Sums up"\nprompt = "$how: $input"')
    template("prompt = ", "bad")
    ran = jpq("templates", "ls")
    bad, good = ran.text.splitlines()
    assert good == "t -p how=  Sums up" and "not valid TOML" in bad and "bad.toml:1" in bad
    (bad, good) = json.loads(jpq("templates", "ls", "--format", "json").text)
    assert good == {"name": "t", "description": "Sums up", "parameters": ["how"], "error": None}
    with open(path, encoding="utf-8") as file:
        assert jpq("templates", "show", "t").text == file.read() + "\n"
    jpq("templates", "show", "x").failed_with(2, "no template x")
    assert jpq("templates", "path").text == os.path.dirname(path) + "\n"


def test_a_template_is_begun_and_changed_in_the_editor(tmp_path: Any) -> None:
    done = edit(editor(tmp_path, 'grep -q language "$1" && echo \'prompt = "a"\' > "$1"'))
    assert done.returncode == 0 and "jpq --template new" in done.stderr, done
    done = edit(editor(tmp_path, "echo 'prompt = 1' > \"$1\""))
    assert done.returncode == 78 and "unchanged" in done.stderr
    assert jpq("templates", "show", "new").text == 'prompt = "a"\n'
    done = edit(editor(tmp_path, 'sed -i \'s/1/"b"/\' "$1"'))
    assert done.returncode == 0, done
    assert jpq("templates", "show", "new").text == 'prompt = "b"\n'
    assert os.listdir(os.path.join(os.environ["JPQ_HOME"], "templates")) == ["new.toml"]
    jpq("templates", "edit", "new").failed_with(2, "no editor")


def test_what_the_answer_must_be(tmp_path: Any) -> None:
    model = "scripted/" + script(tmp_path, 'text = """x\n```py\n1\n```\n"""')
    template("extract = true")
    assert jpq("-m", model, "--template", "t", "hi").text == "1\n"
    template('extract = "py"')
    assert jpq("-m", model, "--template", "t", "hi").text == "1\n"
    template('extract = "sh"')
    assert jpq("-m", model, "--template", "t", "hi").code == 65
    model = "scripted/" + script(tmp_path, 'text = \'{"name": "A"}\'')
    (tmp_path / "schema.json").write_text('{"type": "object", "required": ["age"]}')
    for schema, code in (
        ('"name"', 0),
        ('"age int"', 65),
        ('{ type = "object", required = ["name"] }', 0),
        ('{ type = "object", required = ["age"] }', 65),
        (f'"@{tmp_path}/schema.json"', 65),
    ):
        template(f"schema = {schema}")
        ran = jpq("-m", model, "--template", "t", "hi")
        assert ran.code == code, (schema, ran)
        assert jpq("-m", model, "--template", "t", "--schema", "name", "hi").code == 0
