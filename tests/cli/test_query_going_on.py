"""--fork, --edit, --replay and going on, seen from outside: what is sent, shown and saved."""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
from typing import Any, Dict, List

import pytest

from jpq.provider.listing_cache import RemoteModel, keep
from jpq.provider.registry import resolve
from tests.support.programs import Ran, conversations, entries, environment, jpq, model_at, shell
from tests.support.ptys import Child
from tests.support.ptys import jpq as jpq_words
from tests.support.server import (
    DONE,
    FINISH,
    LAST_CHUNK,
    Pause,
    Server,
    answer,
    chunk,
    delta,
    error,
    head,
    sse,
)

TOO_LONG = b'{"error":{"message":"too long","code":"context_length_exceeded"}}'


class Home:
    """A workspace with a store of its own, and what its server was asked."""

    def __init__(self, folder: str) -> None:
        self.cwd = folder
        self.home = os.path.join(folder, "home")
        self.environ = environment(JPQ_HOME=self.home, EDITOR=None, VISUAL=None)

    def run(self, *arguments: str, **channels: Any) -> Ran:
        return jpq(*arguments, cwd=self.cwd, environ=self.environ, **channels)

    def folders(self) -> List[str]:
        return conversations(self.home)


@pytest.fixture
def home(tmp_path: Any) -> Home:
    return Home(str(tmp_path))


def said(seen: Any) -> List[str]:
    return [message["content"] for message in seen.json["messages"]]


def test_a_fork_goes_on_and_the_original_stays(home: Home) -> None:
    with Server(answer("A1"), answer("A2")) as server:
        assert home.run(*model_at(server), "q1").code == 0
        assert home.run(*model_at(server), "--fork", "q2").code == 0
        assert said(server.seen[1]) == ["q1", "A1", "q2"]
    first, second = home.folders()
    assert entries(second)[: len(entries(first))] == entries(first)
    assert len(entries(first)) < len(entries(second))
    (last, _) = json.loads(home.run("conversation", "ls", "--format", "json").out)
    assert os.path.basename(second) == last["id"]
    assert home.run("conversation", "path").text.strip() == second


def test_a_part_can_be_forked(home: Home) -> None:
    with Server(answer("A1"), answer("A2"), answer("A3")) as server:
        home.run(*model_at(server), "-s", "Be brief.", "q1")
        home.run(*model_at(server), "-c", "-s", "Be long.", "q2")
        id = home.run("conversation", "fork", "--last", "1").text.strip()
        home.run(*model_at(server), "-r", id, "q3")
        assert said(server.seen[2]) == ["Be long.", "q2", "A2", "q3"]
    (first, *_) = home.folders()
    at = entries(first)[1]["event_id"]
    id = home.run("c", "fork", os.path.basename(first), "--at", at[:5]).text.strip()
    assert home.run("c", "show", id).text == "You:\nq1\n\nAssistant:\nA1\n"
    home.run("c", "fork", "--at", "zzzzzzzz").failed_with(65, "no entry")


def test_the_last_question_in_other_words(home: Home) -> None:
    with Server(answer("A1"), answer("A2"), answer("A2b"), answer("A3")) as server:
        home.run(*model_at(server), "q1")
        home.run(*model_at(server), "-c", "q2")
        home.run(*model_at(server), "--edit", "q2 better")
        home.run(*model_at(server), "-c", "q3")
        assert said(server.seen[2]) == ["q1", "A1", "q2 better"]
        assert said(server.seen[3]) == ["q1", "A1", "q2 better", "A2b", "q3"]
    shown = home.run("conversation", "show").text
    assert "A2\n" in shown and "A2b" in shown, "nothing is lost"
    assert "replaced" in shown


def test_the_last_question_in_the_editor(home: Home) -> None:
    editor = os.path.join(home.cwd, "editor.py")
    with open(editor, "w", encoding="utf-8") as file:
        file.write(
            "import sys\npath = sys.argv[1]\ntext = open(path).read()\n"
            "open(path, 'w').write(text.upper() + '\\n')\n"
        )
    environ = {**home.environ, "EDITOR": f"{sys.executable} {editor}", "TERM": "xterm"}
    environ.pop("CI", None)
    with Server(answer("A1"), answer("A2")) as server:
        home.run(*model_at(server), "make it so")
        words = jpq_words(*model_at(server), "--edit")
        with Child(words, environ, home.cwd, terminal=True) as child:
            child.wait_for(b"A2")
            assert child.end() == 0
        assert said(server.seen[1]) == ["MAKE IT SO"]
        home.run(*model_at(server), "--edit").failed_with(2, "editor", "--edit QUESTION")


def test_edit_and_retry_say_what_they_want(home: Home) -> None:
    home.run("-e", "--retry").failed_with(2, "--retry asks")
    home.run("-m", "custom/x", "--edit", "words").failed_with(65, "no conversation")


def test_a_replay_shows_the_whole_conversation_and_then_asks(home: Home) -> None:
    with Server(answer("A1"), answer("A2")) as server:
        home.run(*model_at(server), "q1")
        shown = home.run("--replay")
        assert (shown.code, shown.text) == (0, "You:\nq1\n\nAssistant:\nA1\n")
        asked = home.run(*model_at(server), "--replay", "q2")
        assert asked.text == "You:\nq1\n\nAssistant:\nA1\n\nA2\n"
    home.run("--replay", "--format", "json", "x")
    assert json.loads(home.run("--replay", "--json").out)["exit_code"] == 2


def test_what_is_too_long_can_be_made_shorter(home: Home) -> None:
    with Server(answer("A1"), error("400 Bad Request", TOO_LONG)) as server:
        home.run(*model_at(server), "q1 " * 500)
        failed = home.run(*model_at(server), "-c", "q2")
    assert failed.code == 65
    (id,) = map(os.path.basename, home.folders())
    assert f"jpq conversation compact --summarize --keep 1 {id}" in failed.told[-1]
    with Server(answer("They said hello."), answer("A2")) as server:
        settings = model_at(server)[2:]
        environ: Dict[str, str] = {
            **home.environ,
            "JPQ_SET_PROVIDERS__CUSTOM__BASE_URL": server.url,
        }
        words = ("conversation", "compact", "--summarize", "--keep", "1", "-m", "custom/test")
        done = jpq(*words, cwd=home.cwd, environ=environ)
        assert done.code == 0, done
        assert home.run("-m", "custom/test", *settings, "--retry").text == "A2\n"
        (sent,) = said(server.seen[1])
        assert "They said hello." in str(sent) and "q2" in str(sent) and "q1" not in str(sent)


@pytest.mark.parametrize(
    "key, told", [(b"s", b"is sent as about"), (b"n", b""), (b"d", b"nothing was done")]
)
def test_on_a_terminal_it_is_offered_at_once(home: Home, key: bytes, told: bytes) -> None:
    """With the settings and the log of the question, and without another end of the run."""
    environ = {**home.environ, "TERM": "xterm"}
    environ.pop("CI", None)
    replies = [answer("A1"), error("400 Bad Request", TOO_LONG), answer("They said hello.")]
    with Server(*replies) as server:
        home.run(*model_at(server), "q1 " * 500)
        words = jpq_words(*model_at(server), "-c", "q2")
        with Child(words, environ, home.cwd, terminal=True) as child:
            child.wait_for(b"[n]o ")
            child.type(key + b"\n")
            if told:
                child.wait_for(told)
            assert child.end() == 65
        assert len(server.seen) == (3 if key == b"s" else 2)
    (folder,) = home.folders()
    made = [entry for entry in entries(folder) if entry["type"] == "compaction"]
    assert [entry["summary"] for entry in made] == ["They said hello."] * (key == b"s")
    with open(os.path.join(home.home, "state", "log", "jpq.log"), encoding="utf-8") as file:
        assert file.read().count("for a summary") == (1 if key == b"s" else 0)


def test_a_long_conversation_offers_to_be_compacted(home: Home) -> None:
    with Server(*([answer("A1 " * 200)] * 3)) as server:
        limit = ("--set", "conversation.compact_at=100")
        assert home.run(*model_at(server), *limit, "q1").told == []
        (line,) = home.run(*model_at(server), *limit, "-c", "q2").told
        assert "conversation.compact_at is 100" in line and "jpq conversation compact " in line
        assert home.run(*model_at(server), *limit, "-q", "-c", "q3").told == []


def test_the_limit_may_be_a_share_of_the_context_window(home: Home) -> None:
    """Which is known from the list of models that was asked for last."""
    with Server(*([answer("A1 " * 200)] * 4)) as server:
        options = [*model_at(server), "--set", "conversation.compact_at=0.5"]
        home.run(*options, "q1")
        assert home.run(*options, "-c", "q2").told == [], "the window is not known"
        _keep_window(home, server, 100_000)
        assert home.run(*options, "-c", "q3").told == []
        _keep_window(home, server, 500)
        (line,) = home.run(*options, "-c", "q4").told
    assert "conversation.compact_at is 0.5 of the model's 500" in line


def test_a_context_window_may_be_configured(home: Home) -> None:
    """For a model, which counts first, or for all models of a provider."""
    with Server(*([answer("A1 " * 200)] * 3)) as server:
        options = [*model_at(server), "--set", "conversation.compact_at=0.5"]
        every = ["--set", 'context_windows."custom/*"=500']
        home.run(*options, "q1")
        _keep_window(home, server, 100_000)
        (line,) = home.run(*options, *every, "-c", "q2").told
        one = ["--set", 'context_windows."custom/test"=100_000']
        assert home.run(*options, *every, *one, "-c", "q3").told == []
    assert "conversation.compact_at is 0.5 of the model's 500" in line


def _keep_window(home: Home, server: Server, tokens: int) -> None:
    row = resolve("custom", {"base_url": server.url}, home.environ)
    keep(os.path.join(home.environ["JPQ_HOME"], "cache"), row, [RemoteModel("test", tokens)], 0.0)


def test_a_conversation_that_cannot_be_written_is_answered_all_the_same(home: Home) -> None:
    with Server(answer("A1"), answer("A2")) as server:
        home.run(*model_at(server), "q1")
        (folder,) = home.folders()
        os.unlink(os.path.join(folder, "lock"))
        os.mkdir(os.path.join(folder, "lock"))
        ran = home.run(*model_at(server), "-c", "q2")
    assert (ran.code, ran.text) == (74, "A2\n") and "not saved" in ran.told[0]


def test_a_conversation_removed_while_it_is_used_is_answered_and_told(home: Home) -> None:
    gone = threading.Event()
    steps = [head(), *map(chunk, sse(delta("A2")))]
    rest = [*map(chunk, sse(delta(" and more"), FINISH, DONE)), LAST_CHUNK]
    with Server(answer("A1"), [*steps, Pause(gone), *rest]) as server:
        home.run(*model_at(server), "q1")
        (folder,) = home.folders()
        words = jpq_words(*model_at(server), "-c", "q2")
        with Child(words, home.environ, home.cwd, terminal=False) as child:
            child.wait_for(b"A2")
            shutil.rmtree(folder)
            gone.set()
            assert child.end() == 74
    assert child.output == b"A2 and more\n"
    assert b"removed while it was in use" in child.errors


def test_no_room_for_a_copy_leaves_nothing_of_it(home: Home) -> None:
    with Server(answer("A1 " * 2000)) as server:
        home.run(*model_at(server), "q1")
    (folder,) = home.folders()
    before = entries(folder)
    for words, hint in (("fork", "Free some space"), ("export -o copy.jpq", "Name another file")):
        full = f"ulimit -f 2; jpq conversation {words}"
        ran = shell(full, environ=home.environ, cwd=home.cwd)
        ran.failed_with(74, "File too large", hint)
    assert home.folders() == [folder] and entries(folder) == before
    assert not [name for name in os.listdir(home.cwd) if "copy" in name]
    assert home.run("conversation", "path").text == folder + "\n"
