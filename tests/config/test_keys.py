"""Where API keys are kept and found."""

from __future__ import annotations

import os
import sys
import time

import pytest

from jpq.config.keys import Key, KeyStore, find_key
from jpq.errors import ConfigError, DeniedError, WriteError

SECRET = "sk-0123456789abcdef"


@pytest.fixture
def store(tmp_path) -> KeyStore:
    return KeyStore(str(tmp_path / "data" / "keys.json"))


def python(code: str):
    return [sys.executable, "-c", code]


def test_keys_are_kept_in_a_private_file(store) -> None:
    assert store.names() == [] and store.get("openai") is None
    store.set("openai", f" {SECRET}\r\n")
    store.set("groq", "gsk-1")
    assert store.names() == ["groq", "openai"] and store.get("openai") == SECRET
    assert os.stat(store.path).st_mode & 0o777 == 0o600
    folder = os.path.dirname(store.path)
    assert os.stat(folder).st_mode & 0o777 == 0o700
    assert sorted(os.listdir(folder)) == ["keys.json", "keys.json.lock"]
    assert store.remove("groq") and not store.remove("groq")
    assert store.names() == ["openai"]


def test_a_readable_file_becomes_private_when_it_is_written(store) -> None:
    store.set("a", SECRET)
    os.chmod(store.path, 0o644)
    store.set("b", SECRET)
    assert os.stat(store.path).st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 1}', "\ufeff"])
def test_a_damaged_file_is_told_and_kept(store, text) -> None:
    os.makedirs(os.path.dirname(store.path))
    with open(store.path, "w", encoding="utf-8") as file:
        file.write(text)
    with pytest.raises(ConfigError) as caught:
        store.set("a", SECRET)
    assert caught.value.where == store.path
    with open(store.path, encoding="utf-8") as file:
        assert file.read() == text


def test_a_folder_that_cannot_be_made_is_told(tmp_path) -> None:
    (tmp_path / "data").write_text("")
    store = KeyStore(str(tmp_path / "data" / "keys.json"))
    assert store.get("a") is None
    with pytest.raises(WriteError):
        store.set("a", SECRET)


def test_the_variable_wins_over_the_command_and_that_over_the_kept_key(store) -> None:
    store.set("p", "kept-key")
    command = python("print('command-key'); print('second line')")
    environ = dict(os.environ, P_KEY=" env-key\n")
    assert find_key("p", "P_KEY", command, environ, store) == Key(
        "env-key", "environment variable P_KEY"
    )
    environ["P_KEY"] = "  "
    found = find_key("p", "P_KEY", command, environ, store)
    assert found == Key("command-key", f"command {sys.executable}")
    assert find_key("p", "P_KEY", (), environ, store) == Key("kept-key", "jpq keys set")
    assert find_key("q", None, (), environ, store) is None


@pytest.mark.parametrize(
    "command,problem",
    [
        (python("raise SystemExit(3)"), "failed with status 3"),
        (python("pass"), "printed nothing"),
        (python("print()"), "printed nothing"),
        (python("import os; os.kill(os.getpid(), 9)"), "signal 9"),
        (["/nonexistent/pass"], "cannot be run"),
        (["a\0b"], "cannot be run"),
    ],
)
def test_a_command_that_fails_is_told_and_nothing_else_is_tried(store, command, problem) -> None:
    store.set("p", SECRET)
    with pytest.raises(DeniedError) as caught:
        find_key("p", None, command, os.environ, store)
    assert problem in caught.value.message
    assert "providers.p.api_key_cmd" in caught.value.where


def test_a_command_that_hangs_is_ended(store) -> None:
    started = time.monotonic()
    with pytest.raises(DeniedError) as caught:
        find_key("p", None, python("import time; time.sleep(60)"), os.environ, store, 0.3)
    assert "within 0.3 seconds" in caught.value.message
    assert time.monotonic() - started < 10


def test_no_shell_sees_the_command(store) -> None:
    command = python("import sys; print(sys.argv[1])") + ["$HOME;x"]
    assert find_key("p", None, command, os.environ, store).value == "$HOME;x"


@pytest.mark.parametrize(
    "bad,kind",
    [
        ("\u201csk-secret\u201d", "typographic quote"),
        ("sk-sec\nret", "line break"),
        ("sk sec", "space"),
        ("sk-\x1b[31m", "control character"),
        ("sk-\u00e9", "not a plain letter"),
    ],
)
def test_a_key_that_cannot_be_right_is_never_shown(store, bad, kind) -> None:
    for use in (
        lambda: store.set("p", bad),
        lambda: find_key("p", "KEY", (), {"KEY": bad}, store),
    ):
        with pytest.raises(DeniedError) as caught:
            use()
        shown = f"{caught.value.message} {caught.value.where} {caught.value.hint}"
        assert kind in shown
        assert bad not in shown and "sk" not in shown


def test_printing_a_key_does_not_show_it() -> None:
    assert SECRET not in repr(Key(SECRET, "test")) + str([Key(SECRET, "test")])
