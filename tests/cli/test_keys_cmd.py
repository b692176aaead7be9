"""``jpq keys``."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys

import pytest

from jpq.cli.environment import Environment
from jpq.cli.keys_cmd import build_parser, run
from jpq.errors import BadInputError, DeniedError, UsageError

SECRET = "sk-0123456789abcdef"


class Shell:
    """Runs ``jpq keys`` in a home of its own."""

    def __init__(self, home) -> None:
        self.environ = {"JPQ_HOME": str(home)}
        self.file = home / "data" / "keys.json"
        self.err = ""

    def __call__(self, *words: str, stdin=b"") -> str:
        stdout, stderr = io.BytesIO(), io.BytesIO()
        source = None if stdin is None else io.BytesIO(stdin)
        env = Environment(self.environ, os.sep, source, stdout, stderr)
        try:
            assert run(build_parser("jpq keys").parse_args(words), env) == 0
        finally:
            self.err = stderr.getvalue().decode()
        return stdout.getvalue().decode()


@pytest.fixture
def keys(tmp_path) -> Shell:
    return Shell(tmp_path)


def test_a_key_from_a_pipe_is_kept_and_never_listed(keys) -> None:
    assert keys("set", "openai", stdin=SECRET.encode() + b"\r\n") == ""
    assert SECRET not in keys.err
    assert json.loads(keys.file.read_text()) == {"openai": SECRET}
    assert keys("path") == f"{keys.file}\n"
    assert keys("ls") == "openai  jpq keys set\n"
    assert keys("rm", "openai") == "" and keys("ls") == ""
    assert "jpq keys set" in keys.err


def test_ls_says_which_of_several_keys_counts(keys, tmp_path) -> None:
    (tmp_path / "config.toml").write_text(
        '[providers.a]\napi_key_env = "A_KEY"\napi_key_cmd = ["pass", "a"]\n'
        '[providers.b]\napi_key_env = "B_KEY"\n[providers.c]\napi_key_env = "C_KEY"\n'
    )
    keys("set", "a", stdin=SECRET.encode())
    keys("set", "b", stdin=SECRET.encode())
    keys.environ["C_KEY"] = SECRET
    keys.environ["OPENAI_API_KEY"] = SECRET
    keys.environ["GOOGLE_API_KEY"] = SECRET
    assert json.loads(keys("ls", "--format", "json")) == [
        {"name": "a", "source": "command pass"},
        {"name": "b", "source": "jpq keys set"},
        {"name": "c", "source": "environment variable C_KEY"},
        {"name": "google", "source": "environment variable GOOGLE_API_KEY"},
        {"name": "openai", "source": "environment variable OPENAI_API_KEY"},
    ]
    keys.environ["GEMINI_API_KEY"] = SECRET
    assert "google  environment variable GEMINI_API_KEY\n" in keys("ls")
    config = tmp_path / "config.toml"
    config.write_text(config.read_text() + '[providers.google]\napi_key_env = "MINE"\n')
    assert "google" not in keys("ls")


@pytest.mark.parametrize(
    "stdin,error",
    [
        (b"", BadInputError),
        (b" \n", BadInputError),
        (None, BadInputError),
        (b"x" * 70000, BadInputError),
        (b"two\nlines", DeniedError),
        ("\u201csk-1\u201d".encode(), DeniedError),
        (b"sk-\xff\xfe", DeniedError),
    ],
)
def test_what_is_no_key_changes_nothing(keys, stdin, error) -> None:
    with pytest.raises(error):
        keys("set", "openai", stdin=stdin)
    assert not keys.file.exists()


@pytest.mark.parametrize("name", ["", "a b", f"{SECRET}\n", "../x"])
def test_a_name_is_checked_and_not_shown(keys, name) -> None:
    with pytest.raises(UsageError) as caught:
        keys("set", name, stdin=SECRET.encode())
    assert SECRET not in caught.value.message + caught.value.hint


@pytest.mark.parametrize("words", [["openai", SECRET], [SECRET, "x"], ["openai", SECRET, "y"]])
def test_a_key_on_the_command_line_is_refused_and_not_shown(keys, words) -> None:
    with pytest.raises(UsageError) as caught:
        keys("set", *words, stdin=b"")
    assert SECRET not in caught.value.message + caught.value.hint
    assert "asks for it" in caught.value.hint
    assert not keys.file.exists()


def test_removing_what_is_not_there_is_told(keys) -> None:
    with pytest.raises(BadInputError):
        keys("rm", "openai")


CHILD = """
import os, sys
from jpq.cli.environment import Environment
from jpq.cli.keys_cmd import build_parser, run
sys.exit(run(build_parser("jpq keys").parse_args(["set", "openai"]), Environment.of_process()))
"""


def test_a_key_typed_on_a_terminal_is_not_echoed(keys) -> None:
    terminal, inner = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD],
        env={**os.environ, **keys.environ},
        stdin=inner,
        stdout=inner,
        stderr=inner,
        start_new_session=True,
    )
    os.close(inner)
    shown = b""
    while b"not shown" not in shown:
        shown += os.read(terminal, 1024)
    os.write(terminal, SECRET.encode() + b"\n")
    try:
        while True:
            chunk = os.read(terminal, 1024)
            if not chunk:
                break
            shown += chunk
    except OSError:
        pass  # Linux reports the end of a terminal as an error
    os.close(terminal)
    assert child.wait() == 0, shown
    assert SECRET.encode() not in shown
    assert json.loads(keys.file.read_text()) == {"openai": SECRET}
