"""``jpq models``, with the real weights and the real server where they can run."""

from __future__ import annotations

import io
import json
import os
import pty
import signal
import socket
import subprocess
import sys
import threading
from typing import Any, Dict, Iterator, List

import pytest

from jpq.cli.environment import Environment
from jpq.cli.models_cmd import build_parser, run
from jpq.config.paths import find_paths
from jpq.errors import BadInputError, ConfigError, UsageError
from jpq.provider.local_state import ServerFolder, ServerState
from jpq.provider.weights import WeightsStore, find_weights
from tests.support.weights import ENGINE_MISSING, data_with_weights, needs_engine

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_ENVIRON = dict(os.environ)  # before any test changes it


class Shell:
    """Runs ``jpq models`` in this test's home; ``err`` is what the last run told."""

    def __init__(self, environ: Dict[str, str]) -> None:
        self.environ = environ
        self.err = ""

    def __call__(self, *words: str) -> str:
        stdout, stderr = io.BytesIO(), io.BytesIO()
        env = Environment(self.environ, ROOT, None, stdout, stderr)
        try:
            assert run(build_parser("jpq models").parse_args(words), env) == 0
        finally:
            self.err = stderr.getvalue().decode()
        return stdout.getvalue().decode()

    def json(self, command: str) -> List[Dict[str, Any]]:
        rows: List[Dict[str, Any]] = json.loads(self(command, "--format", "json"))
        return rows


@pytest.fixture
def models(own_home: str) -> Iterator[Shell]:
    shell = Shell({**os.environ, "CI": "true"})
    yield shell
    shell("stop")


@pytest.fixture(scope="module")
def gguf() -> str:
    return WeightsStore(data_with_weights(_ENVIRON)).path(find_weights("smollm2"))


def jpq(*words: str) -> List[str]:
    return [sys.executable, "-m", "jpq", *words]


def test_ls_with_nothing_at_hand(models: Shell) -> None:
    local = models.json("ls")[0]
    assert local["model"] == "local/smollm2"
    assert local["status"] == ("not usable" if ENGINE_MISSING else "not installed")
    if ENGINE_MISSING:
        assert "needs" in local["note"]
    else:
        assert "jpq models install smollm2" in local["note"] and "Apache-2.0" in local["note"]
    assert models("ls").startswith("local/smollm2 ")


def test_ls_shows_who_has_a_key_and_never_the_key(models: Shell) -> None:
    models.environ["OPENAI_API_KEY"] = "sk-very-secret"
    models.environ["GOOGLE_API_KEY"] = "AI-very-secret"
    paths = find_paths(models.environ)
    os.makedirs(paths.data)
    with open(os.path.join(paths.data, "keys.json"), "w") as file:
        json.dump({"groq": "gsk-very-secret"}, file)
    with open(paths.config_file, "w") as file:
        file.write(
            '[providers.mine]\napi = "openai-chat"\nbase_url = "http://127.0.0.1:1/v1"\n'
            '[providers.broken]\napi = "openai-chat"\n'
        )
    rows = {row["provider"]: (row["status"], row["note"]) for row in models.json("ls")}
    assert rows["openai"] == ("configured", "key from OPENAI_API_KEY")
    assert rows["google"] == ("configured", "key from GOOGLE_API_KEY")
    assert rows["groq"] == ("configured", "key from jpq keys set")
    assert rows["mine"] == ("configured", "at http://127.0.0.1:1/v1, no key")
    assert rows["broken"][0] == "not usable" and "base_url" in rows["broken"][1]
    assert "anthropic" not in rows
    assert "very-secret" not in models("ls") + models.err


@needs_engine
def test_from_nothing_to_a_running_server_and_back(models: Shell, gguf: str) -> None:
    assert models("install", "smollm2", "--from", gguf) == ""
    assert "Installed local/smollm2" in models.err
    assert models.json("ls")[0]["status"] == "installed"
    models("install", "smollm2")
    assert "Already installed" in models.err
    environ = {**models.environ, "CI": "true"}
    command = jpq("-m", "local/smollm2", "-o", "max_tokens=8", "Say hello.")
    answer = subprocess.run(command, cwd=ROOT, env=environ, stdin=subprocess.DEVNULL, stdout=-1)
    assert answer.stdout.strip()
    (row,) = models.json("ps")
    assert row["model"] == "local/smollm2" and row["leases"] == 0 and row["idle_s"] >= 0
    assert f" {row['pid']} " in models("ps") and f" {row['port']} " in models("ps")
    assert models.json("ls")[0]["status"] == "running"
    models("rm", "smollm2")
    assert models.json("ps") == [] and models.json("ls")[0]["status"] == "not installed"
    with pytest.raises(BadInputError):
        models("rm", "smollm2")


@pytest.mark.skipif(not ENGINE_MISSING, reason="for Pythons that cannot run the model")
def test_install_refuses_before_it_fetches_anything(models: Shell) -> None:
    with pytest.raises(ConfigError):
        models("install", "smollm2")
    assert not os.path.exists(find_paths(models.environ).data)


@needs_engine
def test_a_wrong_file_is_refused(models: Shell) -> None:
    with pytest.raises(BadInputError) as caught:
        models("install", "smollm2", "--from", "README.md")
    assert os.path.join(ROOT, "README.md") in caught.value.where
    assert models.json("ls")[0]["status"] == "not installed"


@pytest.mark.parametrize("words", [("install",), ("rm",), ("stop",)])
def test_an_unknown_name_is_told_the_known_ones(models: Shell, words: Any) -> None:
    with pytest.raises((ConfigError, UsageError)) as caught:
        models(*words, "gpt-9")
    assert "smollm2" in caught.value.hint


def test_ps_and_stop_with_no_server(models: Shell) -> None:
    assert models("ps") == "" and "No embedded server runs" in models.err
    assert models.json("ps") == []
    assert models("stop") == "" and "No embedded server runs" in models.err
    assert models("stop", "smollm2") == "" and "No embedded server runs" in models.err


def test_ps_shows_a_server_that_still_loads(models: Shell) -> None:
    folder = ServerFolder(find_paths(models.environ).state, "smollm2")
    folder.create()
    with folder.alive_lock() as alive:
        assert alive.try_acquire()
        folder.write(ServerState(4711, "here", "smollm2", "key", 1, 0, 1700000000.0))
        assert models.json("ps")[0]["port"] is None
        assert models("ps").split()[-1] == "starting"


@needs_engine
@pytest.mark.skipif(os.name != "posix", reason="a pseudo-terminal is POSIX")
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_download_leaves_no_model_and_no_pip(own_home: str, by: int) -> None:
    """An index that accepts and stays silent: pip waits, and so does the person."""
    terminal, other = pty.openpty()
    with socket.create_server(("127.0.0.1", 0)) as index:
        url = f"http://127.0.0.1:{index.getsockname()[1]}/simple"
        process = subprocess.Popen(
            jpq("models", "install", "smollm2"),
            cwd=ROOT,
            env={**os.environ, "PIP_INDEX_URL": url, "PIP_CONFIG_FILE": os.devnull},
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
        )
        with process:
            os.close(other)
            shown = b""
            while b"Fetching [" not in shown:
                shown += os.read(terminal, 4096)
            if by == signal.SIGINT:
                os.killpg(process.pid, by)  # a terminal's Ctrl+C is for the whole group
            else:
                os.kill(process.pid, by)
            assert process.wait(timeout=30) in (130, -by)
        _group_ends(process.pid)
    os.close(terminal)
    models = os.path.join(find_paths(os.environ).data, "models")
    left = [name for name in os.listdir(models) if not name.startswith(".")]
    assert left == []
    if by == signal.SIGINT:
        assert os.listdir(models) == [".lock"]


def _group_ends(group: int) -> None:
    """Wait until no process of ``group`` is left."""
    wait = threading.Event().wait
    for _ in range(500):
        try:
            os.killpg(group, 0)
        except OSError:
            return
        wait(0.02)
    raise AssertionError("pip goes on")
