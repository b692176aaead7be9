"""The log of a run, written by the real program: what it tells, and never a key."""

from __future__ import annotations

import json
import logging
import os
import re
import stat
from typing import Any, List

import pytest

from jpq.cli.environment import Environment
from jpq.cli.log import MAX_BYTES, RunLog, known_secrets
from tests.support.programs import base_url, environment, jpq, model_at, script, shell
from tests.support.server import Server, answer, error


@pytest.fixture
def model(tmp_path: Any) -> List[str]:
    return ["-m", "scripted/" + script(tmp_path, 'text = "Hello there."')]


def log_path() -> str:
    return os.path.join(os.environ["JPQ_HOME"], "state", "log", "jpq.log")


def log_lines(path: str = "") -> List[str]:
    with open(path or log_path(), encoding="utf-8") as file:
        return file.read().splitlines()


def test_a_run_from_start_to_end() -> None:
    busy = error("503 Service Unavailable", b'{"error": {"message": "Too busy."}}')
    with Server(busy, answer("Hello")) as server:
        options = ["-m", "custom/test", *base_url(server.url)]
        ran = jpq(*options, "--set", "request.backoff_base_s=0.01", "my question")
    assert ran.code == 0
    lines = log_lines()
    assert all(re.match(r"[0-9-]{10}T[0-9:]{8}\.[0-9]{3} [0-9]+ INFO ", line) for line in lines)
    story = [line.split(" INFO ")[1] for line in lines]
    assert re.match(r"jpq [\d.]+ asks custom/test, conversation [0-9a-z]{11}$", story[0])
    assert story[1] == "attempt 1: test, messages: 1"
    assert "Too busy" in story[2] and "Attempt 2 of 4" in story[2]
    assert story[3] == "attempt 2: test, messages: 1"
    assert re.match(r"ended after [\d.]+ s: complete, finish reason stop, exit code 0", story[4])
    assert "my question" not in "\n".join(lines) and "Hello" not in "\n".join(lines)
    assert stat.S_IMODE(os.stat(log_path()).st_mode) == 0o600


def test_failures_with_their_kind(model: List[str]) -> None:
    jpq("-m", "nosuch/model", "hi")
    jpq(*model, "-r", "nosuch", "hi")
    with Server(error("401 Unauthorized", b"{}")) as server:
        jpq(*model_at(server), "hi")
    story = "\n".join(log_lines())
    assert "failed: config: There is no provider" in story
    assert "failed: bad_input: There is no conversation" in story
    assert "failed: auth: " in story and "HTTP 401" in story


def test_a_log_of_ones_own_has_the_detail(model: List[str], tmp_path: Any) -> None:
    path = str(tmp_path / "own.log")
    with Server(answer("Hello")) as server:
        assert jpq(*model_at(server), "--log-file", path, "hi").err == b""
    detail = "\n".join(log_lines(path))
    assert "DEBUG" in detail and '"POST /v1/chat/completions ' in detail
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert not os.path.exists(log_path())
    jpq("-m", "nosuch/model", "--log-file", path, "hi")
    assert "Traceback" in "\n".join(log_lines(path))


def test_no_key_gets_into_any_log(tmp_path: Any) -> None:
    """Wherever it comes from, although the server repeats it in every way."""
    path = str(tmp_path / "own.log")
    jpq("keys", "set", "mistral", stdin=b"kept-secret-key-01\n")
    command = json.dumps(["echo", "printed-secret-key"])
    ways = {
        "sk-environment-secret": ("openai", ()),
        "printed-secret-key": ("custom", ("--set", f"providers.custom.api_key_cmd={command}")),
        "kept-secret-key-01": ("mistral", ()),
        "header-secret-01": (
            "custom",
            ("--set", 'providers.custom.headers={"X-Api-Key"="header-secret-01"}'),
        ),
    }
    environ = environment(OPENAI_API_KEY="sk-environment-secret", SOME_TOKEN="token-secret-01")
    for secret, (provider, options) in ways.items():
        said = {"error": {"message": f"{secret} Authorization: Bearer {secret} ?key={secret}"}}
        where = f"providers.{provider}.base_url"
        with Server(error("401 Unauthorized", json.dumps(said).encode())) as server:
            for log in ((), ("--log-file", path)):
                asked = ("-m", f"{provider}/test", "--set", f"{where}={server.url}", *options)
                ran = jpq(*asked, *log, "-vv", "hi", environ=environ)
                assert ran.code == 77, ran
                assert secret not in ran.err.decode() + ran.text
            assert secret in "".join(server.seen[0].headers.values())
    jpq("-m", "token-secret-01", "--log-file", path, "hi", environ=environ)
    jpq("-m", "token-secret-01", "hi", environ=environ)
    for file in (path, log_path()):
        text = "\n".join(log_lines(file))
        assert "failed: auth" in text and "failed: config" in text
        assert not [secret for secret in (*ways, "token-secret-01") if secret in text]


def test_the_log_does_not_grow_for_ever(model: List[str]) -> None:
    os.makedirs(os.path.dirname(log_path()))
    with open(log_path(), "w") as file:
        file.write("x" * (MAX_BYTES + 1))
    assert jpq(*model, "hi").code == 0
    assert len(log_lines()) == 3
    assert os.path.getsize(log_path() + ".1") == MAX_BYTES + 1
    assert sorted(os.listdir(os.path.dirname(log_path()))) == ["jpq.log", "jpq.log.1"]


def test_a_log_that_cannot_be_written_breaks_nothing(model: List[str], tmp_path: Any) -> None:
    with open(os.path.join(str(tmp_path), "file"), "w"):
        pass
    ran = jpq(*model, "--log-file", str(tmp_path / "file" / "log"), "hi")
    assert (ran.code, ran.text) == (0, "Hello there.\n")
    assert len(ran.told) == 1
    assert "log" in ran.told[0] and "Not a directory" in ran.told[0]
    os.makedirs(log_path())  # a folder where the default log should be
    ran = jpq(*model, "hi")
    assert (ran.code, ran.text, ran.err) == (0, "Hello there.\n", b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_under_the_log_breaks_nothing(model: List[str]) -> None:
    ran = shell('jpq "$1" "$2" --log-file /dev/full hi', *model)
    assert (ran.code, ran.text, ran.err) == (0, "Hello there.\n", b"")


def test_a_log_cannot_drive_the_terminal_that_shows_it() -> None:
    said = json.dumps({"error": {"message": "no \x1b]0;title\x07"}}).encode()
    with Server(error("400 Bad Request", said)) as server:
        jpq(*model_at(server), "hi")
        jpq("-m", "\x1b[2Jnosuch/model", "hi")
    assert "\x1b" not in "\n".join(log_lines())


def test_the_loggers_are_left_as_they_were(own_home: str) -> None:
    """Another part of the process, or another test, may listen to them."""
    env = Environment.of_process()
    log = RunLog(known_secrets(env.environ, env.paths))
    logger = logging.getLogger("jpq")
    before = logger.level, logger.propagate, list(logger.handlers)
    log.open(env, None, tell_failure=False)
    assert not logger.propagate and logger.handlers != before[2]
    log.close()
    assert (logger.level, logger.propagate, list(logger.handlers)) == before
