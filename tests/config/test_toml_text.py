"""Finding and changing settings in TOML text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.config.toml_edit import to_toml, with_setting
from jpq.config.toml_text import line_of, loaded, parse, parse_value
from jpq.errors import ConfigError

TEXT = '''\
# mine
model = "a/b"   # the best # really
text = """
request = 1
[request]
"""

[request]  # network
"idle_timeout_s" = 5
list = [
  1, # one
  2,
]

[providers.openai]
headers = { "X-Org" = "acme" }
quirks.deep.x = true
[[things]]
a = 1
'''


@pytest.mark.parametrize(
    "path,line",
    [
        (("model",), 2),
        (("text",), 3),
        (("request",), 8),
        (("request", "idle_timeout_s"), 9),
        (("request", "list"), 10),
        (("providers", "openai"), 15),
        (("providers", "openai", "headers", "X-Org"), 16),
        (("providers", "openai", "quirks", "deep", "x"), 17),
        (("things", "a"), 19),
        (("nowhere",), None),
    ],
)
def test_a_setting_is_found_on_its_line(path, line) -> None:
    assert line_of(TEXT, path) == line
    assert line_of(TEXT.replace("\n", "\r\n"), path) == line


def test_finding_all_settings_of_a_long_file_takes_no_time() -> None:
    """A prompt of a few hundred lines beside a few dozen tools kept `config show` for minutes."""
    tables = "".join(f"[tools.t{number}]\nrun = 'ask'\n" for number in range(200))
    text = 'system = """\n' + "a line of a long prompt\n" * 5000 + f'"""\n{tables}'
    begun = time.process_time()
    lines = [line_of(text, ("tools", f"t{number}", "run")) for number in range(200)]
    assert lines == [5004 + 2 * number for number in range(200)]
    assert time.process_time() - begun < 2


@pytest.mark.parametrize(
    "text,line",
    [
        ("a = 1\nb = \nc = 3\n", 2),
        ("a = 1\na = 2\n", 2),
        ('a = "x\n', 1),
        ("[a\n", 1),
        ("a = 1\nb = [1,\n", 2),
        ("a = 1\nb = 'x'x\n", 2),
    ],
)
def test_a_syntax_error_names_file_and_line(text, line) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text, "c.toml")
    assert caught.value.where == f"c.toml:{line}"


def test_what_is_nested_too_deeply_is_an_error_and_no_crash() -> None:
    keys = "a." * 5000 + "a = 1"
    for deep in ("a = " + "[" * 100_000, "a = " + "[\n{x = " * 101, keys, f"[{keys[:-4]}]"):
        with pytest.raises(ConfigError, match="nested too deeply"):
            parse(deep, "c.toml")
    assert parse("a = " + "[" * 100 + "]" * 100, "c.toml")
    assert parse("[t]\na = [{b = 1}]\n[u]\n[[v]]\n" + "[[v]]\n" * 500, "c.toml")


@pytest.mark.parametrize("text", ["1\nb = 2", "", "x y", "1 # c\n[t]"])
def test_only_one_value_is_a_value(text) -> None:
    assert not isinstance(parse_value(text), (int, str))


SET_CASES = [
    # before, path, value, after
    ('model = "a/b"  # why\n', ("model",), "c/d", 'model = "c/d"  # why\n'),
    ("", ("model",), "c/d", 'model = "c/d"\n'),
    ("# mine\n\n[a]\nx = 1\n", ("model",), "c/d", '# mine\nmodel = "c/d"\n\n[a]\nx = 1\n'),
    ("[request]\na = 1\n\n[b]\n", ("request", "z"), 2, "[request]\na = 1\nz = 2\n\n[b]\n"),
    ("[request]", ("request", "z"), 2, "[request]\nz = 2\n"),
    ("a = 1\n", ("request", "z"), 2, "a = 1\n\n[request]\nz = 2\n"),
    ("request.a = 1\n[b]\n", ("request", "z"), 2, "request.a = 1\nrequest.z = 2\n[b]\n"),
    ("p.h = { a = 1 } # c\n", ("p", "h", "b"), 2, "p.h = { a = 1, b = 2 } # c\n"),
    ("x = [\n 1, # one\n 2,\n] # end\ny = 1\n", ("x",), [3], "x = [3] # end\ny = 1\n"),
    ("a = 1\r\n[r]\r\nb = 1 # c\r\n", ("r", "b"), 2, "a = 1\r\n[r]\r\nb = 2 # c\r\n"),
    ("a = 1\r\n[r]\r\nb = 1\r\n", ("r", "c"), 2, "a = 1\r\n[r]\r\nb = 1\r\nc = 2\r\n"),
    ('x = """\n# no\n""" # yes\n', ("x",), "#", 'x = "#" # yes\n'),
]


@pytest.mark.parametrize("before,path,value,after", SET_CASES)
def test_one_setting_changes_and_all_else_stays(before, path, value, after) -> None:
    assert with_setting(before, path, value) == after


def test_what_cannot_be_set_safely_is_not_set() -> None:
    assert with_setting("[[a]]\nx = 1\n[[a]]\nx = 2\n", ("a", "x"), 1) is None
    assert with_setting("broken", ("a",), 1) is None


PLAIN = st.one_of(
    st.booleans(),
    st.integers(-(2**62), 2**62),
    st.floats(allow_nan=False),
    st.text(st.characters(blacklist_categories=("Cs",))),
)
VALUES = st.recursive(PLAIN, st.lists, max_leaves=5)


@given(VALUES)
def test_a_value_survives_being_written(value) -> None:
    assert parse_value(to_toml(value)) == value


PATHS = st.lists(st.sampled_from(["a", "b", "c", "x y"]), min_size=1, max_size=3).map(tuple)


@given(st.lists(st.tuples(PATHS, st.integers())), st.sampled_from(["", TEXT, "# c\n\n"]))
def test_settings_set_one_after_another_are_all_there(steps, text) -> None:
    for path, value in steps:
        changed = with_setting(text, path, value)
        if changed is None:
            continue  # a value stands where a table is needed
        for line in (line for line in text.split("\n") if line.startswith("#")):
            assert line in changed.split("\n")
        text = changed
        found = loaded(text)
        for part in path:
            found = found[part]
        assert found == value
