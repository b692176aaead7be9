"""Templates as files: what is in them, what is filled in, and what is wrong with one."""

from __future__ import annotations

from typing import Any, Dict, List

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.config.paths import find_paths
from jpq.config.template import EXAMPLE, Template, parse_template, read_template, template_names
from jpq.errors import ConfigError, UsageError

FILE = "/config/templates/x.toml"


def parsed(text: str) -> Template:
    warnings: List[str] = []
    template = parse_template("x", FILE, text, warnings)
    assert warnings == []
    return template


def asked(text: str, words: str = "", **given: str) -> str:
    template = parsed(text)
    return template.prompt(template.arguments(given), words)


@pytest.mark.parametrize(
    "prompt,expected",
    [
        ("in $a: $input", "in A: words"),
        ("${a}s", "As"),
        ("$$a costs $$5", "$a costs $5"),
        ("$a$a", "AA"),
        ("$A_1", "B"),
    ],
)
def test_parameters_are_filled_in(prompt: str, expected: str) -> None:
    values = {"a": "A", "A_1": "B"}
    used = {name: values[name] for name in parsed(f'prompt = "{prompt}"').parameters}
    assert asked(f'prompt = "{prompt}"', "words", **used) == expected


@given(st.text(), st.text())
def test_what_is_filled_in_is_never_read_again(value: str, words: str) -> None:
    assert asked('prompt = "$a|$input"', words, a=value) == f"{value}|{words}"


def test_defaults_stand_in_for_what_is_not_given() -> None:
    text = 'prompt = "$a $b"\n[defaults]\na = "1"\nb = "2"\n'
    assert asked(text, b="3") == "1 3"


def test_parameters_too_many_and_too_few() -> None:
    template = parsed('system = "$tone"\nprompt = "$language $input"\n')
    assert template.parameters == ("language", "tone")
    with pytest.raises(UsageError, match="needs a value for language, tone") as found:
        template.arguments({})
    assert found.value.hint == "Give it with -p language=VALUE -p tone=VALUE"
    assert found.value.where == f"{FILE}:2"
    with pytest.raises(UsageError, match='no parameter "ton"') as found:
        template.arguments({"ton": "x"})
    assert found.value.hint == "Did you mean tone?" and found.value.where == FILE
    with pytest.raises(UsageError, match='no parameter "input"'):
        template.arguments({"input": "x"})


def test_settings_it_makes() -> None:
    template = parsed(
        'model = "a/b"\nsystem = "Be $how."\ntools = ["x*"]\nextract = true\n'
        "[options]\ntemperature = 0.5\n[options.deep]\nn = 1\n"
    )
    source = template.source(template.arguments({"how": "$kind"}))
    assert source.values == {
        "model": "a/b",
        "system": "Be $kind.",
        "options": {"temperature": 0.5, "deep": {"n": 1}},
    }
    assert source.place(("model",)) == f"{FILE}:1"


def test_a_system_prompt_in_a_file_beside_it(tmp_path: Any) -> None:
    file = str(tmp_path / "x.toml")
    template = parse_template("x", file, "", [])
    with pytest.raises(ConfigError, match="is not there") as found:
        parse_template("x", file, '\nsystem = "@role.md"', [])
    assert found.value.where == f"{file}:2"
    (tmp_path / "role.md").write_text("Costs $5.", encoding="utf-8")
    template = parse_template("x", file, 'system = "@role.md"', [])
    assert template.source({}).values == {"system": "Costs $5."}


@pytest.mark.parametrize(
    "text,line,words",
    [
        ("prompt = 1", 1, "prompt must be a string"),
        ('\nprompt = "$"', 2, "no name; write $$"),
        ('\nsystem = "5$ or $5"', 2, "A $ in system"),
        ('system = "$input"', 1, "in prompt alone"),
        ('\n\ntools = "x"', 3, "array of strings"),
        ("[options]\n\nt = 1979-05-27", 1, "a date or time"),
        ("schema = 1", 1, "schema must be"),
        ("extract = 1", 1, "extract must be"),
        ('schema = "a"\nextract = true', 2, "whole answer JSON"),
        ('[defaults]\ninput = "x"', 1, "can have no default"),
        ("[defaults]\nx = 1", 1, "table of strings"),
        ("\nprompt = ", 2, "not valid TOML"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, line: int, words: str) -> None:
    with pytest.raises(ConfigError) as found:
        parse_template("x", FILE, text, [])
    assert words in found.value.message and found.value.where == f"{FILE}:{line}"


def test_unknown_keys_are_told() -> None:
    warnings: List[str] = []
    parse_template("x", FILE, '\npromt = "x"\nzzz = 1', warnings)
    assert warnings == [
        f'Unknown key "promt" ({FILE}:2); did you mean prompt?',
        f'Unknown key "zzz" ({FILE}:3) is ignored.',
    ]


def test_the_example_is_one() -> None:
    assert parsed(EXAMPLE).parameters == ("language",)
    shown: Dict[str, Any] = dict(parsed(EXAMPLE.replace("\n# ", "\n")).values)
    assert {"model", "tools", "schema", "options"} <= set(shown)


def test_names_and_paths(tmp_path: Any) -> None:
    paths = find_paths({"JPQ_HOME": str(tmp_path / "home")})
    assert template_names(paths) == []
    folder = tmp_path / "home" / "templates"
    folder.mkdir(parents=True)
    for name in ("b.toml", "a.toml", ".hidden.toml", "note.txt", "sp ace.toml"):
        (folder / name).write_text('prompt = "x"')
    assert template_names(paths) == ["a", "b"]
    assert read_template("a", paths, "/", []).file == str(folder / "a.toml")
    (tmp_path / "own.toml").write_text('prompt = "own"')
    assert read_template("own.toml", paths, str(tmp_path), []).values["prompt"] == "own"
    for name, words in (("../a", "no template"), ("c", "no template"), ("-x", "no name of")):
        with pytest.raises(UsageError, match=words):
            read_template(name, paths, str(tmp_path), [])


def test_what_is_no_file_is_no_template(tmp_path: Any) -> None:
    paths = find_paths({"JPQ_HOME": str(tmp_path)})
    (tmp_path / "templates" / "folder.toml").mkdir(parents=True)
    (tmp_path / "templates" / "zero.toml").symlink_to("/dev/zero")
    assert template_names(paths) == []
