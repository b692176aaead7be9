"""Every source of settings, their order, and what is wrong with them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.config.load import load_config
from jpq.config.paths import find_paths
from jpq.config.table import ROWS
from jpq.config.trust import TrustStore
from jpq.errors import ConfigError, ExitCode, UsageError

KEYS = st.one_of(
    st.sampled_from(["model", "options", "tools", "x", "run", "providers", "request", "a.b", ""]),
    st.text(max_size=5),
)


class Home:
    """A home folder, a project folder, and what is written into them."""

    def __init__(self, folder) -> None:
        self.paths = find_paths({"JPQ_HOME": str(folder / "home")})
        self.project = folder / "project"
        self.project_file = self.project / ".jpq" / "config.toml"
        self.project_file.parent.mkdir(parents=True)
        os.makedirs(os.path.dirname(self.paths.config_file))

    def write(self, text: str, project: str = "") -> None:
        with open(self.paths.config_file, "w", encoding="utf-8") as file:
            file.write(text)
        if project:
            self.project_file.write_text(project, encoding="utf-8")

    def trust(self) -> None:
        data = self.project_file.read_bytes()
        TrustStore(self.paths.state).remember(str(self.project_file), data, True)

    def load(self, environ=None, **more):
        return load_config(self.paths, environ or {}, str(self.project), **more)


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


def test_without_any_source_everything_has_its_default(home) -> None:
    config = home.load()
    for row in ROWS:
        assert config[row.name.replace("*", "x")] == row.default
    assert config.warnings == ()


def test_each_source_wins_over_the_one_before(home) -> None:
    home.write('model = "user/m"\n', 'model = "project/m"\n')
    home.trust()
    steps = [
        ({}, {}, "project/m"),
        ({}, {"conversation": {"model": "conversation/m"}}, "conversation/m"),
        ({"JPQ_MODEL": "env/m"}, {}, "env/m"),
        ({"JPQ_MODEL": "x/y", "JPQ_SET_MODEL": "set/m"}, {}, "set/m"),
        ({}, {"options": {"model": "option/m"}}, "option/m"),
        ({}, {"options": {"model": "option/m"}, "sets": ["model=--set/m"]}, "--set/m"),
    ]
    environ, more = {}, {}
    for added_environ, added, model in steps:
        environ.update(added_environ)
        more.update(added)
        assert home.load(environ, **more)["model"] == model
    assert home.load(environ, **more).explain("model") == [
        ("default", None),
        (f"{home.paths.config_file}:1", "user/m"),
        (f"{home.project_file}:1", "project/m"),
        ("conversation", "conversation/m"),
        ("JPQ_MODEL", "x/y"),
        ("environment variable JPQ_SET_MODEL", "set/m"),
        ("option -m", "option/m"),
        ("option --set model", "--set/m"),
    ]


def test_tables_merge_key_by_key(home) -> None:
    home.write(
        '[providers.p]\nbase_url = "http://a"\nheaders = { A = "1", B = "2" }\n',
        '[providers.p]\nheaders = { B = "3" }\n',
    )
    home.trust()
    config = home.load({}, sets=["providers.p.headers.C=4"])
    assert config.table("providers.p") == {
        "base_url": "http://a",
        "headers": {"A": "1", "B": "3", "C": "4"},
    }
    assert config.table("nothing.here") == {}


def test_what_is_handed_out_is_a_copy(home) -> None:
    home.write('[providers.p]\nheaders = { A = "1" }\napi_key_cmd = ["a", "b"]\n')
    config = home.load()
    config.table("providers.p")["headers"]["A"] = "changed"
    config["providers.p.headers"]["A"] = "changed"
    assert config["providers.p.headers"] == {"A": "1"}
    assert config["providers.p.api_key_cmd"] == ("a", "b")


def test_an_integer_will_do_for_a_number(home) -> None:
    value = home.load({}, sets=["request.idle_timeout_s=5"])["request.idle_timeout_s"]
    assert value == 5.0 and isinstance(value, float)


def test_get_falls_back_and_unknown_names_are_our_mistake(home) -> None:
    config = home.load()
    assert config.get("system", "none") == "none"
    assert config.get("request.max_cycles", 1) == 25
    with pytest.raises(KeyError):
        config["request.nonsense"]


@pytest.mark.parametrize(
    "line,problem",
    [
        ("request.max_attempts = true", "must be an integer, not true or false"),
        ('request.max_attempts = "4"', "must be an integer, not a string"),
        ("request.max_attempts = 4.0", "must be an integer, not a number"),
        ("request.max_attempts = 0", "more than 0"),
        ("request.idle_timeout_s = -1", "more than 0"),
        ("request.idle_timeout_s = nan", "more than 0"),
        ("request.idle_timeout_s = inf", "at most"),
        ("request.backoff_base_s = -0.5", "0 or more"),
        ("style.typewriter_ms = inf", "finite"),
        ("request = 4", "must be a table, not an integer"),
        ("model = 2024-01-01", "must be a string, not a date or time"),
        ('tools.x.run = "maybe"', "must be one of: ask, unattended, edit, skip"),
        ('tools.x.command = "ls -l"', "must be an array of strings, not a string"),
        ('tools.x.command = ["ls", 1]', "must be an array of strings"),
        ("providers.p.headers = { A = 1 }", "must be a table of strings"),
        ('providers.p.headers = { "X A" = "b" }', "cannot be the name of a header"),
        ('providers.p.headers = { "" = "b" }', "cannot be the name of a header"),
        ('providers.p.headers.X-A = "a\\nb"', "X-A holds a character that cannot be sent"),
        ('providers.p.headers.X-A = "\u20ac"', "X-A holds a character that cannot be sent"),
        ('style.tool.result = "some lines"', "must be one of: full, off, N lines"),
        ('style.wrap = "wide"', "must be one of: auto, off, or a number of columns"),
        ("style.wrap = 0", "more than 0"),
        ('style.wrap = "\u00b2"', "must be one of: auto, off"),
        (f'style.wrap = "{"9" * 5000}"', "must be one of: auto, off"),
        (f'style.tool.result = "{"9" * 5000} lines"', "must be one of: full, off, N lines"),
        ("[[providers]]\n", "must be a table, not an array"),
        ("options.since = 2024-01-01", "holds a date or time, which cannot be sent"),
        ("options.stop = [{ a = 10:00:00 }]", "holds a date or time"),
        ("options.temperature = nan", "a number that is not finite"),
        ("tools.x.json = { n = -inf }", "a number that is not finite"),
    ],
)
def test_a_wrong_value_names_file_and_line(home, line, problem) -> None:
    home.write("# first\n\n" + line + "\n")
    with pytest.raises(ConfigError) as caught:
        home.load()
    assert problem in caught.value.message
    assert caught.value.where == f"{home.paths.config_file}:3"
    assert caught.value.exit_code == ExitCode.CONFIG


@pytest.mark.parametrize(
    "name,text,value",
    [
        ("style.tool.result", "25 lines", "25 lines"),
        ("style.wrap", "72", 72),
        ("style.wrap", "off", "off"),
        ("style.reasoning", "0", 0),
        ("system", "true", "true"),
        ("system", '"quoted"', "quoted"),
        ("system", "a = b", "a = b"),
        ("system", "", ""),
        ("options.temperature", "0.5", 0.5),
        ("options.stop", '["a"]', ("a",)),
        ("options.note", "some words", "some words"),
        ('aliases."gpt-5.1"', "openai/gpt-5.1", "openai/gpt-5.1"),
        ("providers.p.api_key_cmd", '["pass", "x"]', ("pass", "x")),
        ("providers.p.headers.X-Number", "5", "5"),
    ],
)
def test_a_value_on_the_command_line_is_toml_or_a_string(home, name, text, value) -> None:
    assert home.load({}, sets=[f"{name}={text}"]).explain(name)[-1][1] == value


@pytest.mark.parametrize("text", ["model", "=x", "a b=c", 'a."b=c'])
def test_a_set_without_key_and_value_is_a_usage_error(home, text) -> None:
    with pytest.raises(UsageError):
        home.load({}, sets=[text])


def test_errors_name_the_variable_or_the_option(home) -> None:
    for environ, more, place in [
        ({"JPQ_SET_REQUEST__MAX_ATTEMPTS": "x"}, {}, "JPQ_SET_REQUEST__MAX_ATTEMPTS"),
        ({"JPQ_SET_REQUEST__MAX_ATTEMPTS": "0"}, {}, "JPQ_SET_REQUEST__MAX_ATTEMPTS"),
        ({}, {"options": {"style.color": "pink"}}, "option --color"),
        ({}, {"sets": ["request.max_attempts="]}, "--set request.max_attempts"),
        ({}, {"sets": ["request=1"]}, "--set request"),
        ({}, {"options": {"model": "nothing"}}, "option -m"),
        ({"JPQ_MODEL": "nothing"}, {}, "JPQ_MODEL"),
    ]:
        with pytest.raises(ConfigError) as caught:
            home.load(environ, **more)
        assert place in caught.value.where


def test_unknown_names_warn_with_the_nearest_known_one(home) -> None:
    home.write("[request]\nconect_timeout_s = 1\n[providers.p]\nurl = 'x'\n[zzz]\na = 1\n")
    config = home.load({"JPQ_SET_IDLE_TIMEOUT_S": "1"}, sets=["style.rap=off"])
    file = home.paths.config_file
    assert config.warnings == (
        f"Unknown setting request.conect_timeout_s ({file}:2); "
        "did you mean request.connect_timeout_s?",
        f"Unknown setting providers.p.url ({file}:4); did you mean providers.p.base_url?",
        f"Unknown setting zzz ({file}:5) is ignored.",
        "Unknown setting idle_timeout_s (environment variable JPQ_SET_IDLE_TIMEOUT_S); "
        "did you mean request.idle_timeout_s?",
        "Unknown setting style.rap (option --set style.rap); did you mean style.wrap?",
    )
    assert config.table("zzz") == {}


def test_a_file_full_of_unknown_names_is_told_about_in_eleven_lines(home) -> None:
    home.write("".join(f"[tools.t{number}]\nkind = 1\n" for number in range(300)))
    warnings = home.load().warnings
    file = home.paths.config_file
    assert warnings[0].startswith(f"Unknown setting tools.t0.kind ({file}:2)")
    assert warnings[10:] == (f"290 more settings are unknown ({file}:22 and on).",)


@pytest.mark.parametrize("model", ["", "gpt", "/x", "x/", "a b/c", "fest"])
def test_a_model_is_an_alias_or_names_its_provider(home, model) -> None:
    home.write(f'model = "{model}"\naliases.fast = "openai/gpt-5"\n')
    with pytest.raises(ConfigError) as caught:
        home.load()
    assert caught.value.where == f"{home.paths.config_file}:1"
    if model == "fest":
        assert caught.value.hint == "Did you mean fast?"


def test_a_bad_model_that_is_overridden_does_no_harm(home) -> None:
    home.write('model = "gpt"\naliases.fast = "openai/gpt-5"\naliases.bad = "gpt"\n')
    assert home.load({}, options={"model": "fast"})["model"] == "fast"
    with pytest.raises(ConfigError) as caught:
        home.load({}, options={"model": "bad"})
    assert caught.value.where == f"{home.paths.config_file}:3"


@pytest.mark.parametrize(
    "data,where",
    [(b"a = 1\nb = '\xff'\n", ":2"), ("model = 'a/b'".encode("utf-16"), ":1")],
)
def test_a_file_that_is_not_utf8_names_the_line(home, data, where) -> None:
    with open(home.paths.config_file, "wb") as file:
        file.write(data)
    with pytest.raises(ConfigError) as caught:
        home.load()
    assert caught.value.where == home.paths.config_file + where


def test_a_byte_order_mark_does_no_harm(home) -> None:
    home.write('\ufeffmodel = "a/b"\n')
    assert home.load()["model"] == "a/b"


def test_a_folder_in_the_place_of_the_file_is_a_configuration_error(home) -> None:
    os.mkdir(home.paths.config_file)
    with pytest.raises(ConfigError):
        home.load()


def test_a_device_without_end_in_the_place_of_the_file_is_a_configuration_error(home) -> None:
    os.symlink("/dev/zero", home.paths.config_file)
    with pytest.raises(ConfigError, match="larger than 64 MiB"):
        home.load()


# Project files


def test_a_project_file_is_not_even_parsed_until_it_is_trusted(home) -> None:
    home.write("", "this is not TOML")
    config = home.load()
    (warning,) = config.warnings
    assert str(home.project_file) in warning and "jpq config trust" in warning
    home.trust()
    with pytest.raises(ConfigError):
        home.load()


def test_the_person_is_asked_once_and_again_after_a_change(home) -> None:
    home.write("", 'model = "a/b"\n')
    asked = []

    def confirm(file: str, text: str) -> bool:
        asked.append((file, text))
        return True

    inside = home.project / "deep" / "er"
    inside.mkdir(parents=True)
    for _ in range(2):
        config = load_config(home.paths, {}, str(inside), confirm=confirm)
        assert config["model"] == "a/b"
    assert asked == [(str(home.project_file), 'model = "a/b"\n')]
    home.write("", 'model = "c/d"\n')
    assert home.load({}, confirm=confirm)["model"] == "c/d"
    assert len(asked) == 2


def test_a_refusal_is_remembered_without_nagging(home) -> None:
    home.write("", 'model = "a/b"\n')
    assert home.load({}, confirm=lambda file, text: False)["model"] is None
    config = home.load({}, confirm=lambda file, text: pytest.fail("asked again"))
    assert config["model"] is None and config.warnings == ()


def test_an_answer_that_cannot_be_remembered_still_counts(home) -> None:
    home.write("", 'model = "a/b"\n')
    with open(home.paths.state, "w", encoding="utf-8"):
        pass  # a file where the folder should be
    config = home.load({}, confirm=lambda file, text: True)
    assert config["model"] == "a/b" and "not remembered" in config.warnings[0]


def test_the_same_content_elsewhere_is_not_trusted(home, tmp_path) -> None:
    home.write("", 'model = "a/b"\n')
    home.trust()
    copy = tmp_path / "copy" / ".jpq"
    copy.mkdir(parents=True)
    (copy / "config.toml").write_text('model = "a/b"\n')
    assert load_config(home.paths, {}, str(copy.parent))["model"] is None


def test_ones_own_file_is_no_project_file(tmp_path) -> None:
    """JPQ_HOME=~/.jpq made jpq ask whether to trust the person's own configuration."""
    paths = find_paths({"JPQ_HOME": str(tmp_path / ".jpq")})
    (tmp_path / ".jpq").mkdir()
    (tmp_path / ".jpq" / "config.toml").write_text('model = "a/b"\n')
    config = load_config(paths, {}, str(tmp_path))
    assert config["model"] == "a/b" and config.warnings == ()


def test_a_damaged_trust_file_asks_again(home) -> None:
    home.write("", 'model = "a/b"\n')
    home.trust()
    path = os.path.join(home.paths.state, "trust.json")
    assert os.stat(path).st_mode & 0o777 == 0o600
    for text in ("{", "[]", '{"x": 1}'):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        assert home.load()["model"] is None


# Conversations


@pytest.mark.parametrize(
    "name,value",
    [
        ("providers.p.base_url", "http://evil"),
        ("request.max_attempts", 1),
        ("tools.x.command", ["rm"]),
        ("mcp.x.command", ["rm"]),
        ("aliases.fast", "a/b"),
    ],
)
def test_a_conversation_cannot_set_what_is_not_its_own(home, name, value) -> None:
    config = home.load({}, conversation={name: value, "options.temperature": 0.5})
    assert config[name] == home.load()[name]
    assert config["options.temperature"] == 0.5
    (warning,) = config.warnings
    assert name in warning


def test_names_and_values_without_end_are_refused(home) -> None:
    name = "options." + "a." * 5000 + "b"
    with pytest.raises(UsageError, match="at most 100 parts"):
        home.load(sets=[name + "=1"])
    deep = json.loads('{"a":' * 390 + "1" + "}" * 390)
    warnings = home.load(
        {"JPQ_SET_OPTIONS" + "__A" * 5000: "1"}, conversation={"options": deep, name: 1}
    ).warnings
    assert warnings[0] == 'The conversation sets "options" too deeply nested; ignored.'
    assert "which is no setting" in warnings[1] and "names no setting" in warnings[2]


def test_a_damaged_conversation_setting_is_left_out_with_a_warning(home) -> None:
    config = home.load({}, conversation={"model": 5, "tools": {"x": {"run": "unattended"}}})
    assert config["model"] is None and config["tools.x.run"] == "unattended"
    assert len(config.warnings) == 1


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)


@given(st.dictionaries(KEYS, JSON, max_size=4))
def test_nothing_in_a_conversation_keeps_it_from_being_loaded(values) -> None:
    paths = find_paths({"JPQ_HOME": os.path.join(os.sep, "nonexistent")})
    config = load_config(paths, {}, os.sep, conversation=values, options={"model": "a/b"})
    assert config.table("providers") == {} and config["request.max_attempts"] == 4


def test_an_option_with_no_name_is_a_usage_error(home) -> None:
    with pytest.raises(UsageError):
        home.load({}, options={"options.top p": 1})


def test_loading_imports_nothing_heavy() -> None:
    code = (
        "import sys; from jpq.config.load import load_config; "
        "from jpq.config.paths import find_paths; "
        "load_config(find_paths({'JPQ_HOME': '/nonexistent'}), {'JPQ_MODEL': 'a/b'}, '/'); "
        "heavy = 'tomllib tomli json hashlib subprocess tempfile difflib platformdirs inspect "
        "dataclasses pathlib logging requests asyncio'.split(); "
        "sys.exit(', '.join(name for name in heavy if name in sys.modules) or None)"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code], stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0, done.stderr
