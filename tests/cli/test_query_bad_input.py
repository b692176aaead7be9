"""Whatever is wrong around a query: a few clear lines, the right code, and nothing lost."""

from __future__ import annotations

import os
import subprocess
import threading
from typing import Any, Dict, List, Optional

import pytest

from jpq.store.library import Library
from tests.support.programs import (
    JPQ,
    ROOT,
    conversations,
    entries,
    environment,
    jpq,
    model_at,
    script,
    shell,
)
from tests.support.server import Pause, Server, Tell, answer, chunk, delta, error, head, sse
from tests.support.unprivileged import bound_jpq, needs_permissions


@pytest.fixture
def model(tmp_path: Any) -> List[str]:
    return ["-m", "scripted/" + script(tmp_path, 'text = "Hello there."')]


def configure(text: str) -> str:
    """This home's configuration file, with ``text`` in it."""
    home = os.environ["JPQ_HOME"]
    os.makedirs(home, exist_ok=True)
    path = os.path.join(home, "config.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


# -- configuration -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("model = ", 1, ()),
        ("[request\nmax_attempts = 2\n", 1, ()),
        ("\n[request]\nidle_timeout_s = 'soon'\n", 3, ("request.idle_timeout_s", "number")),
        ("[style]\nreasoning = 'some'\n", 2, ("style.reasoning", "full")),
    ],
)
def test_a_broken_configuration_names_file_and_line(text: str, line: int, words: Any) -> None:
    path = configure(text)
    with Server(answer("Hi")) as server:
        ran = jpq(*model_at(server), "hi")
        assert server.connections == 0
    ran.failed_with(78, f"{path}:{line}", *words)


def test_an_unknown_key_is_told_with_the_nearest_one(model: List[str]) -> None:
    path = configure("[request]\nidle_timeout = 3\n")
    ran = jpq(*model, "hi")
    assert (ran.code, ran.text) == (0, "Hello there.\n")
    assert len(ran.told) == 1
    assert f"{path}:2" in ran.told[0] and "request.idle_timeout_s?" in ran.told[0]
    assert jpq(*model, "-q", "hi").err == b""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("-m", "gpt"), ("PROVIDER/MODEL",)),
        (("-m", "opnai/gpt"), ("no provider", "openai")),
        (("-m", "openai/"), ("openai/",)),
        (("-m", "scripted//no/such/file"), ("/no/such/file", "script")),
        (("-m", "local/llama-9"), ("llama-9",)),
        (("-m", "custom/x", "--set", "providers.custom.base_url=not a url"), ("base URL",)),
        (("-m", "custom/x", "--set", "request.idle_timeout_s=soon"), ("idle_timeout_s",)),
    ],
)
def test_a_setting_that_cannot_be_used(options: Any, words: Any) -> None:
    jpq(*options, "hi").failed_with(78, *words)
    assert conversations() == []


def test_no_model_shows_the_ways_on() -> None:
    ran = jpq("hi")
    assert (ran.code, ran.out) == (78, b"")
    assert "jpq -m local/smollm2" in ran.err.decode() or "Not here" in ran.err.decode()
    assert len(ran.told) <= 24
    assert jpq("--json", "hi").result["exit_code"] == 78


# -- keys ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (None, ("no API key", "export OPENAI_API_KEY=...", "jpq keys set openai")),
        ("  ", ("no API key",)),
        ("sk-first\nsecond", ("line break", "OPENAI_API_KEY")),
        ("\u201csk-first\u201d", ("typographic quote", "without quotes")),
        ("sk-f\u00fcrst", ("not a plain letter",)),
    ],
)
def test_a_key_that_cannot_be_right(key: Optional[str], words: Any) -> None:
    ran = jpq("-m", "openai/gpt", "hi", environ=environment(OPENAI_API_KEY=key))
    ran.failed_with(77, *words)
    assert "first" not in ran.err.decode()


def test_what_is_wrong_is_told_before_a_question_is_waited_for() -> None:
    read, write = os.pipe()  # which nobody ever ends
    try:
        jpq("-m", "openai/gpt", stdin=read).failed_with(77, "no API key")
        jpq("-m", "nosuch/x", stdin=read).failed_with(78, "no provider")
        jpq("-m", "openai/gpt", "-r", "nosuch", stdin=read).failed_with(65, "nosuch")
    finally:
        os.close(read)
        os.close(write)


def test_a_key_with_a_line_end_is_trimmed() -> None:
    with Server(answer("Hi")) as server:
        environ = environment(MISTRAL_API_KEY=" sk-right\r\n", MISTRAL_BASE_URL=server.url)
        assert jpq("-m", "mistral/test", "hi", environ=environ).code == 0
        assert server.seen[0].headers["authorization"] == "Bearer sk-right"


def test_a_wrong_key_is_not_shown_and_the_question_is_kept() -> None:
    said = b'{"error": {"message": "Incorrect API key provided: sk-very-secret-0123."}}'
    with Server(error("401 Unauthorized", said)) as server:
        environ = environment(OPENAI_API_KEY="sk-very-secret-0123", OPENAI_BASE_URL=server.url)
        ran = jpq("-m", "openai/gpt", "hi", environ=environ)
    ran.failed_with(77, "did not accept", "jpq keys set", "401")
    assert "very-secret" not in ran.err.decode()
    (folder,) = conversations()
    assert entries(folder)[0]["content"] == "hi"


# -- folders -------------------------------------------------------------------------------


def homeless(home: Optional[str]) -> Dict[str, str]:
    """An environment with no folder of jpq's but what HOME leads to."""
    kinds = ("CONFIG", "DATA", "STATE", "CACHE")
    return environment(JPQ_HOME=None, HOME=home, **{f"XDG_{kind}_HOME": None for kind in kinds})


def answered_but_not_saved(ran: Any, *words: str) -> None:
    ran.failed_with(74, "not saved", *words)
    assert ran.out == b"Hello there.\n"


def test_a_home_that_is_no_folder(model: List[str], tmp_path: Any) -> None:
    (tmp_path / "home").write_text("")
    environ = homeless(str(tmp_path / "home"))
    answered_but_not_saved(jpq(*model, "hi", environ=environ), "Not a directory", "JPQ_HOME")
    answered_but_not_saved(jpq(*model, "-q", "hi", environ=environ), "Not a directory")
    assert jpq(*model, "--ephemeral", "hi", environ=environ).code == 0


def test_programs_are_told_that_it_is_not_saved(model: List[str], tmp_path: Any) -> None:
    (tmp_path / "home").write_text("")
    ran = jpq(*model, "--format", "jsonl", "hi", environ=homeless(str(tmp_path / "home")))
    kinds = [event["type"] for event in ran.events]
    assert kinds.count("error") == 1
    assert (ran.code, ran.result["exit_code"], ran.result["status"]) == (74, 74, "complete")
    assert ran.events[0]["id"] is None


@needs_permissions
@pytest.mark.parametrize("folder", ["", "data", "data/conversations"])
def test_a_folder_that_is_read_only(model: List[str], folder: str) -> None:
    path = os.path.join(os.environ["JPQ_HOME"], folder)
    os.makedirs(path)
    os.chmod(path, 0o500)
    try:
        answered_but_not_saved(bound_jpq(*model, "hi"), "Permission denied")
    finally:
        os.chmod(path, 0o700)


@needs_permissions
def test_conversations_that_nobody_may_read(model: List[str]) -> None:
    """They are named, and not taken for none."""
    assert jpq(*model, "hi").code == 0
    (folder,) = conversations()
    id = os.path.basename(folder)
    os.chmod(folder, 0)
    try:
        listed = bound_jpq("conversation", "ls")
        assert (listed.code, listed.text.split()[0], "damaged" in listed.text) == (0, id, True)
        assert f"{id} is damaged (Permission denied)" in listed.told[0]
        bound_jpq("conversation", "show", id).failed_with(65, "Permission denied", folder)
    finally:
        os.chmod(folder, 0o700)
    parent = os.path.dirname(folder)
    os.chmod(parent, 0)
    try:
        for words in (["ls"], ["show"], ["show", id], ["grep", "x"], ["export", "--all"]):
            ran = bound_jpq("conversation", *words)
            ran.failed_with(65, "cannot be read: Permission denied", parent)
        answered_but_not_saved(bound_jpq(*model, "hi"), "Permission denied")
    finally:
        os.chmod(parent, 0o700)


def test_a_disk_that_takes_nothing(model: List[str]) -> None:
    full = shell('ulimit -f 0; jpq "$1" "$2" hi', *model)
    answered_but_not_saved(full, "File too large", os.environ["JPQ_HOME"])
    assert conversations() == []


def test_a_disk_that_takes_no_more_of_a_conversation(model: List[str]) -> None:
    """What could not be written is told once; the answer is shown and the past is kept."""
    assert jpq(*model, "hi").code == 0
    (folder,) = conversations()
    before = entries(folder)
    answered_but_not_saved(shell('ulimit -f 0; jpq "$1" "$2" -c more', *model), "File too large")
    assert entries(folder) == before
    assert jpq(*model, "-c", "once more").code == 0


def test_a_folder_for_conversations_that_is_a_file(model: List[str]) -> None:
    data = os.path.join(os.environ["JPQ_HOME"], "data")
    os.makedirs(data)
    with open(os.path.join(data, "conversations"), "w"):
        pass
    answered_but_not_saved(jpq(*model, "hi"))


def test_no_home_at_all(model: List[str]) -> None:
    """Who has no HOME may still have an account; a container's user may lack both."""
    probe = (
        "import os, pwd, sys; pwd.getpwuid = lambda uid: {}[uid]; "
        "from jpq.cli.main import main; main(sys.argv[1:])"
    )
    command = ["python", "-c", probe, *model, "hi"]
    done = subprocess.run(
        [JPQ[0], *command[1:]],
        env=homeless(None),
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    assert (done.returncode, done.stdout) == (74, b"Hello there.\n")
    assert b"HOME is not set" in done.stderr and b"JPQ_HOME" in done.stderr


def test_a_working_directory_that_was_removed(model: List[str], tmp_path: Any) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = 'rmdir "$PWD"; exec "$0" "$@"'
    done = subprocess.run(
        ["sh", "-c", command, *JPQ, *model, "hi"],
        env=environment(),
        cwd=gone,
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"Hello there.\n", b"")


# -- conversations -------------------------------------------------------------------------


def test_a_conversation_that_does_not_exist(model: List[str]) -> None:
    jpq(*model, "-r", "nosuch", "hi").failed_with(65, "nosuch", "jpq conversation ls")


def test_nothing_to_go_on_with(model: List[str], tmp_path: Any) -> None:
    jpq(*model, "-c", "hi", cwd=str(tmp_path)).failed_with(65, str(tmp_path), "without -c")
    jpq(*model, "--retry", cwd=str(tmp_path)).failed_with(65)
    assert conversations() == []


def test_a_complete_turn_is_not_retried(model: List[str]) -> None:
    assert jpq(*model, "hi").code == 0
    jpq(*model, "--retry").failed_with(65, "nothing to retry", "jpq -c")


def test_a_conversation_in_use() -> None:
    begun, over = threading.Event(), threading.Event()
    events = [chunk(event) for event in sse(delta("Hello"))]
    with Server([head(), *events, Tell(begun), Pause(over, 60)], answer("Later")) as server:
        first = subprocess.Popen(
            [*JPQ, *model_at(server), "hi"],
            env=environment(),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with first:
            assert begun.wait(30)
            options = [*model_at(server), "--set", "conversation.lock_wait_s=0.1"]
            second = jpq(*options, "-c", "more")
            late = jpq(
                *options, "--timeout", "0.5", "--set", "conversation.lock_wait_s=9", "-c", "x"
            )
            over.set()
            assert first.communicate()[0] == b"Hello\n"
    second.failed_with(75, "in use by another jpq", "waiting up to 0.1 s")
    assert len(server.seen) == 1
    late.failed_with(124, "--timeout")
    (folder,) = conversations()
    assert [e["content"] for e in entries(folder) if e["type"] == "chat_request"] == ["hi"]


def test_ephemeral_goes_on_without_writing(model: List[str]) -> None:
    assert jpq(*model, "hi").code == 0
    (folder,) = conversations()
    before = entries(folder)
    with Server(answer("Hi")) as server:
        assert jpq(*model_at(server), "-c", "--ephemeral", "more").code == 0
        assert len(server.seen[0].json["messages"]) == 3
    assert conversations() == [folder] and entries(folder) == before
    assert Library(os.path.dirname(folder)).read(os.path.basename(folder)).recovered == 0


# -- options -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--bogus", "hi"), ("--bogus", "--help")),
        (("--timeout", "soon", "hi"), ("--timeout", "'soon'", "seconds")),
        (("--timeout", "0", "hi"), ("--timeout", "above 0")),
        (("--timeout", "nan", "hi"), ("--timeout",)),
        (("--retries", "-1", "hi"), ("--retries", "0 or more")),
        (("--retries", "1.5", "hi"), ("--retries",)),
        (("--reasoning", "some", "hi"), ("--reasoning", "full", "number")),
        (("--format", "xml", "hi"), ("--format", "jsonl")),
        (("--color", "blue", "hi"), ("--color",)),
        (("-m",), ("-m", "argument")),
        (("-c", "-r", "x", "hi"), ("not allowed",)),
        (("--retry", "hi"), ("--retry",)),
        (("--retry", "--ephemeral"), ("--ephemeral",)),
        (("-o", "temperature", "hi"), ("KEY=VALUE",)),
        (("--set", "model", "hi"), ("KEY=VALUE",)),
        ((), ("no question", "jpq --help")),
        (("-",), ("no question",)),
    ],
)
def test_usage_errors(model: List[str], arguments: Any, words: Any) -> None:
    jpq(*(() if arguments == ("-m",) else model), *arguments).failed_with(2, *words)
    assert conversations() == []


@pytest.mark.parametrize("format", ["json", "jsonl"])
@pytest.mark.parametrize("wrong", [("--bogus",), ("--timeout", "x"), ("-o", "x"), ()])
def test_a_usage_error_has_a_result_where_one_was_asked_for(format: str, wrong: Any) -> None:
    words = ("hi",) if wrong else ()
    ran = jpq("-m", "ollama/x", "--format", format, *wrong, *words)
    ran.failed_with(2)
    assert (ran.result["status"], ran.result["exit_code"]) == ("error", 2)


def test_a_system_prompt_that_cannot_be_read(model: List[str]) -> None:
    ran = jpq(*model, "-s", "@/no/such/file", "hi")
    ran.failed_with(65, "/no/such/file", "system prompt")
