"""``jpq config``."""

from __future__ import annotations

import io
import json
import os
import sys

import pytest

from jpq.cli.config_cmd import build_parser, run
from jpq.cli.environment import Environment
from jpq.errors import BadInputError, ConfigError, UsageError


class Shell:
    """Runs ``jpq config`` in a home of its own."""

    def __init__(self, folder) -> None:
        self.home = folder / "home"
        self.project = folder / "project"
        self.project.mkdir()
        self.file = self.home / "config.toml"
        self.environ = {"JPQ_HOME": str(self.home)}
        self.out = self.err = ""

    def __call__(self, *words: str) -> str:
        stdout, stderr = io.BytesIO(), io.BytesIO()
        env = Environment(self.environ, str(self.project), None, stdout, stderr)
        try:
            assert run(build_parser("jpq config").parse_args(words), env) == 0
        finally:
            self.out, self.err = stdout.getvalue().decode(), stderr.getvalue().decode()
        return self.out

    def write(self, text: str) -> None:
        self.home.mkdir(exist_ok=True)
        self.file.write_text(text, encoding="utf-8")

    def editor(self, code: str) -> None:
        """An editor that runs Python with the file's name in ``path``."""
        script = self.project / "editor.py"
        script.write_text(f"import sys\npath = sys.argv[1]\n{code}\n", encoding="utf-8")
        self.environ["EDITOR"] = f"'{sys.executable}' '{script}'"


@pytest.fixture
def config(tmp_path) -> Shell:
    return Shell(tmp_path)


def test_path_is_where_the_file_is_or_would_be(config) -> None:
    assert config("path") == f"{config.file}\n"
    assert not config.home.exists()


def test_show_names_the_source_of_everything(config) -> None:
    config.write('model = "a/b"\n[aliases]\nfast = "c/d"\n')
    config.environ["JPQ_SET_REQUEST__MAX_ATTEMPTS"] = "2"
    lines = config("show").splitlines()
    assert lines[0].startswith('model = "a/b" ')
    assert lines[0].endswith(f"# {config.file}:1")
    assert any(line.startswith('aliases.fast = "c/d"') for line in lines)
    assert any("environment variable JPQ_SET_REQUEST__MAX_ATTEMPTS" in line for line in lines)
    rows = {row["key"]: row for row in json.loads(config("show", "--format", "json"))}
    assert rows["request.max_attempts"]["value"] == 2
    assert rows["request.max_cycles"] == {
        "key": "request.max_cycles",
        "value": 25,
        "source": "default",
    }


def test_nothing_shows_a_secret(config) -> None:
    secret = "sk-0123456789abcdef"
    config.write(
        '[providers.p]\napi_key_env = "P_KEY"\n'
        f'base_url = "https://me:{secret}@host/v1?key={secret}"\n'
        f'headers = {{ Authorization = "Bearer {secret}", Note = "{secret}" }}\n'
        f'[tools.t]\ncommand = ["x", "{secret}"]\n[mcp.m]\nenv = {{ A_TOKEN = "{secret}" }}\n'
    )
    config.environ["P_KEY"] = secret
    shown = config("show") + config("show", "--format", "json")
    for key in ("providers.p.headers", "providers.p.base_url", "tools.t.command", "mcp.m.env"):
        shown += config("explain", key)
    assert "0123456789" not in shown and "***" in shown


def test_explain_says_what_it_is_for_and_who_sets_it(config) -> None:
    config.write("[request]\n# slow server\nidle_timeout_s = 120\n")
    config.environ["JPQ_SET_REQUEST__IDLE_TIMEOUT_S"] = "5"
    assert config("explain", "request.idle_timeout_s").splitlines() == [
        "request.idle_timeout_s",
        "  Give up a stream after so long without an event; comments and pings do not count.",
        "  type: number, in s, more than 0",
        "Set by, the last one counts:",
        "  default: 60.0",
        f"  {config.file}:3: 120.0",
        "  environment variable JPQ_SET_REQUEST__IDLE_TIMEOUT_S: 5.0",
    ]
    assert "default: unset" in config("explain", "providers.openai.base_url")


@pytest.mark.parametrize("words", [("explain",), ("set",)])
@pytest.mark.parametrize("key", ["request.max_atempts", "nothing.like.it", "a b", "request"])
def test_an_unknown_setting_is_refused_with_a_suggestion(config, words, key) -> None:
    with pytest.raises(UsageError) as caught:
        config(*words, key, *(["1"] if words == ("set",) else []))
    if key == "request.max_atempts":
        assert caught.value.hint == "Did you mean request.max_attempts?"
    if key == "request":
        assert "request.max_attempts, " in caught.value.hint
    assert not config.file.exists()


def test_set_makes_the_file_and_then_changes_it_line_by_line(config) -> None:
    config("set", "model", "local/smollm2")
    assert os.stat(str(config.file)).st_mode & 0o777 == 0o600
    with open(str(config.file), "a", encoding="utf-8") as file:
        file.write("\n# about requests\n[request]\nmax_attempts = 3 # three\n")
    config("set", "request.max_attempts", "5")
    config("set", "providers.openai.headers.X-Org", "acme")
    config("set", "model", "openai/gpt-5")
    assert config.file.read_text() == (
        "# jpq's settings; see docs/configuration.md.\n"
        'model = "openai/gpt-5"\n'
        "\n# about requests\n[request]\nmax_attempts = 5 # three\n"
        '\n[providers.openai.headers]\nX-Org = "acme"\n'
    )
    assert config.err == f"Set model in {config.file}.\n"
    assert sorted(os.listdir(str(config.home))) == ["config.toml", "state"]
    assert os.listdir(str(config.home / "state")) == ["config.lock"]


@pytest.mark.parametrize(
    "key,value",
    [
        ("request.max_attempts", "many"),
        ("request.max_attempts", "0"),
        ("style.color", "pink"),
        ("providers.p.api_key_cmd", "pass show x"),
        ("model", "nonsense"),
    ],
)
def test_set_refuses_what_would_not_load(config, key, value) -> None:
    config.write("# mine\n")
    with pytest.raises(ConfigError):
        config("set", key, value)
    assert config.file.read_text() == "# mine\n"


def test_set_does_not_touch_a_broken_file(config) -> None:
    config.write("model = \n")
    with pytest.raises(ConfigError) as caught:
        config("set", "model", "a/b")
    assert caught.value.where == f"{config.file}:1"
    assert config.file.read_text() == "model = \n"


def test_set_mends_a_model_that_names_nothing(config) -> None:
    """A wrong model kept ``config set model`` from correcting it."""
    config.write('model = "nonsense"\n')
    config("set", "model", "a/b")
    assert config.file.read_text() == 'model = "a/b"\n'


def test_set_keeps_a_link_to_a_file_elsewhere(config, tmp_path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("# mine\n")
    config.home.mkdir()
    config.file.symlink_to(real)
    config("set", "model", "a/b")
    assert config.file.is_symlink() and real.read_text() == '# mine\nmodel = "a/b"\n'


def test_edit_checks_before_it_replaces(config) -> None:
    config.write('model = "a/b"\n')
    config.editor("open(path, 'a').write('request.max_attempts = true\\n')")
    with pytest.raises(ConfigError) as caught:
        config("edit")
    assert caught.value.where == f"{config.file}:2"
    assert config.file.read_text() == 'model = "a/b"\n'
    assert str(config.file) + ".rejected" in caught.value.hint

    config.editor("text = open(path).read()\nopen(path, 'w').write(text.replace('true', '2'))")
    config("edit")
    assert config.file.read_text() == 'model = "a/b"\nrequest.max_attempts = 2\n'
    assert os.listdir(str(config.home)) == ["config.toml"]


def test_edit_without_an_editor_says_what_to_set(config) -> None:
    with pytest.raises(UsageError) as caught:
        config("edit")
    assert "EDITOR" in caught.value.hint


def test_a_project_file_is_used_once_it_is_trusted(config) -> None:
    file = config.project / ".jpq" / "config.toml"
    file.parent.mkdir()
    file.write_text('[tools.x]\ncommand = ["x"]\n')
    assert "tools.x.command" not in config("show")
    assert "jpq config trust" in config.err
    config("trust")
    assert config.err.endswith("It sets: tools.x.command\n")
    assert "tools.x.command" in config("show") and config.err == ""
    config("trust", "--revoke")
    assert "tools.x.command" not in config("show")


def test_a_broken_project_file_is_not_trusted(config) -> None:
    with pytest.raises(BadInputError):
        config("trust")
    file = config.project / ".jpq" / "config.toml"
    file.parent.mkdir()
    file.write_text("model = \n")
    with pytest.raises(ConfigError):
        config("trust")
    config("show")
    assert "jpq config trust" in config.err


def test_warnings_go_to_stderr(config) -> None:
    config.write("[style]\nrap = 1\n")
    config("show")
    assert config.err == (
        f"jpq: Unknown setting style.rap ({config.file}:2); did you mean style.wrap?\n"
    )
