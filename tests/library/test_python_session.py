"""Session over a real server: events as they come, stopping, several at once, errors."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from typing import Any, Dict, List

import pytest

import jpq
from jpq.store.library import Library
from tests.support.programs import ROOT, environment, script
from tests.support.server import (
    DONE,
    DROP,
    FINISH,
    WAIT_S,
    Pause,
    Server,
    Tell,
    answer,
    delta,
    reply,
)

MODEL = "custom/test"


def at(server: Server, **settings: Any) -> Dict[str, Any]:
    """The configuration that makes a session ask ``server``, once."""
    return {
        "providers": {"custom": {"base_url": server.url}},
        "request.max_attempts": 1,
        **settings,
    }


def open_at(server: Server, **arguments: Any) -> jpq.Session:
    settings = arguments.pop("config", {})
    return jpq.Session(MODEL, config=at(server, **settings), **arguments)


def kinds(events: Any) -> List[str]:
    return [type(event).__name__ for event in events]


def test_an_answer_is_a_response_that_reads_as_text() -> None:
    with Server(answer("Hello there.")) as server, open_at(server) as session:
        response = session.ask("Say hello")
        assert str(response) == response.text == "Hello there."
        assert response.is_complete and response.stop_reason == "stop"
        assert response.usage == jpq.Usage(7, 3) == session.usage
        assert response.model == "test-model" and not response.tool_calls
        assert (session.id, session.model) == (None, MODEL)


def test_the_next_question_goes_on_with_the_conversation() -> None:
    with Server(answer("One."), answer("Two.")) as server:
        with open_at(server, system="Be brief.", options={"temperature": 0.5}) as session:
            session.ask("first")
            session.ask("second")
            assert session.usage == jpq.Usage(14, 6)
        asked = server.seen[1].json
    assert [m["content"] for m in asked["messages"]] == ["Be brief.", "first", "One.", "second"]
    assert asked["temperature"] == 0.5


def test_events_come_as_they_arrive_on_the_calling_thread() -> None:
    more = threading.Event()
    head, first, *rest = reply(delta("Hel"), delta("lo"), FINISH, DONE)
    with Server([head, first, Pause(more), *rest]) as server, open_at(server) as session:
        texts = []
        for event in session.stream("hi"):
            if isinstance(event, jpq.TextChunk):
                texts.append(event.text)
                more.set()  # nothing of the rest was sent before the first piece was here
        assert texts == ["Hel", "lo"]
        assert isinstance(event, jpq.Result) and event.status == "complete"


def test_the_sequence_of_events() -> None:
    with Server(answer("Hello there.")) as server, open_at(server) as session:
        events = [each for each in session.stream("hi") if not isinstance(each, jpq.Waiting)]
    seen = kinds(events)
    assert seen[:2] == ["ConversationOpened", "StreamStart"]
    assert set(seen[2:-3]) == {"TextChunk"}
    assert seen[-3:] == ["Complete", "TokenUpdate", "Result"]


def test_a_transcript_folds_what_a_stream_yields() -> None:
    with Server(answer("Hello there.")) as server, open_at(server) as session:
        transcript = jpq.Transcript()
        for event in session.stream("hi"):
            transcript.feed(event)
            if not isinstance(event, jpq.Result) and transcript.finish().text:
                assert "Hello there.".startswith(transcript.finish().text)
        assert transcript.finish() == session_response(server)


def session_response(server: Server) -> jpq.ChatResponse:
    with open_at(server) as session:
        return session.ask("hi")


def endless(text: str = "Hello") -> List[Any]:
    """A reply that begins with ``text`` and never ends by itself."""
    head, first, *_ = reply(delta(text))
    return [head, first, Pause(threading.Event())]


def test_cancelling_from_another_thread_stops_and_saves(tmp_path: Any) -> None:
    server = Server(endless(), answer("Whole."))
    with server, open_at(server, store=str(tmp_path)) as session:
        shown = threading.Event()
        canceller = threading.Thread(target=lambda: (shown.wait(WAIT_S), session.cancel()))
        canceller.start()
        events = []
        for event in session.stream("hi"):
            events.append(event)
            if isinstance(event, jpq.TextChunk):
                shown.set()
        canceller.join()
        result = events[-1]
        assert isinstance(result, jpq.Result)
        assert (result.status, result.text, result.exit_code) == ("interrupted", "Hello", 0)
        assert saved(tmp_path) == ["hi", "Hello"]
        assert session.retry().is_complete  # and it can be gone on with


def saved(folder: Any) -> List[str]:
    """The texts of the only conversation in ``folder``."""
    library = Library(str(folder))
    (id,) = library.ids()
    events = [entry.event for entry in library.read(id).stream.entries]
    texts = (getattr(each, "content", None) or getattr(each, "text", None) for each in events)
    return [text for text in texts if text]


def test_an_iterator_that_is_closed_early_stops_and_saves(tmp_path: Any) -> None:
    with Server(endless()) as server, open_at(server, store=str(tmp_path)) as session:
        for event in session.stream("hi"):
            if isinstance(event, jpq.TextChunk):
                break
        assert saved(tmp_path) == ["hi", "Hello"]


def test_closing_the_session_stops_what_is_under_way(tmp_path: Any) -> None:
    with Server(endless()) as server:
        session = open_at(server, store=str(tmp_path))
        stream = session.stream("hi")
        while not isinstance(next(stream), jpq.TextChunk):
            pass
        session.close()
        assert kinds(stream)[-1] == "Result"
        assert saved(tmp_path) == ["hi", "Hello"]
        with pytest.raises(jpq.UsageError, match="closed"):
            session.ask("again")


def test_cancelling_nothing_does_nothing() -> None:
    with Server(answer("Hello")) as server, open_at(server) as session:
        session.cancel()
        assert session.ask("hi").is_complete
        session.cancel()
        assert session.ask("hi").is_complete


def test_a_response_that_was_cancelled_is_not_complete() -> None:
    asked = threading.Event()
    with Server([Tell(asked), *endless()]) as server, open_at(server) as session:
        canceller = threading.Thread(target=lambda: (asked.wait(WAIT_S), session.cancel()))
        canceller.start()
        response = session.ask("hi")
        canceller.join()
        assert not response.is_complete
        assert (response.status, response.stop_reason) == ("interrupted", "interrupted")


def test_only_one_question_at_a_time() -> None:
    with Server(endless()) as server, open_at(server) as session:
        stream = session.stream("hi")
        next(stream)
        with pytest.raises(jpq.UsageError, match="another question"):
            session.ask("and this?")
        stream.close()


def test_many_sessions_in_as_many_threads() -> None:
    answers: Dict[int, List[str]] = {}

    def talk(number: int, server: Server) -> None:
        with open_at(server) as session:
            answers[number] = [str(session.ask(f"{number}/{turn}")) for turn in range(3)]

    servers = [Server(answer(f"I am {number}.")) for number in range(4)]
    threads = [
        threading.Thread(target=talk, args=(number, server))
        for number, server in enumerate(servers)
    ]
    for server in servers:
        server.__enter__()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, server in enumerate(servers):
        server.__exit__(None, None, None)
        assert [len(seen.json["messages"]) for seen in server.seen] == [1, 3, 5]
        assert answers[number] == [f"I am {number}."] * 3


def test_cancelling_one_session_leaves_the_others_alone() -> None:
    slow, quick = Server(endless()), Server(answer("Hello"))
    with slow, quick, open_at(slow) as first, open_at(quick) as second:
        stream = first.stream("hi")
        while not isinstance(next(stream), jpq.TextChunk):
            pass
        first.cancel()
        assert second.ask("hi").is_complete
        assert list(stream)[-1].status == "interrupted"  # type: ignore[union-attr]


def test_a_failure_raises_with_what_had_arrived() -> None:
    head, first, *_ = reply(delta("Half"))
    with Server([head, first, DROP]) as server, open_at(server) as session:
        with pytest.raises(jpq.StreamError) as failed:
            session.ask("hi")
        assert failed.value.kind in (jpq.ErrorKind.CUT, jpq.ErrorKind.RESET)
        assert failed.value.response.text == "Half"
        assert not failed.value.response.is_complete


def test_a_failure_in_a_stream_is_an_event() -> None:
    head, first, *_ = reply(delta("Half"))
    with Server([head, first, DROP]) as server, open_at(server) as session:
        events = list(session.stream("hi"))
    assert kinds(events)[-2:] == ["Error", "Result"]
    assert events[-1].text == "Half"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "arguments, error",
    [
        ({"model": "nobody/knows"}, jpq.ConfigError),
        ({"model": "no-such-alias"}, jpq.ConfigError),
        ({}, jpq.ConfigError),
        ({"model": "openai/gpt-5"}, jpq.DeniedError),
        ({"model": MODEL, "tools": ["no_such_tool"]}, jpq.UsageError),
        ({"model": MODEL, "tools": "read_file"}, jpq.UsageError),
        ({"model": MODEL, "conversation": "abc"}, jpq.UsageError),
        ({"model": MODEL, "conversation": "abc", "store": "default"}, jpq.BadInputError),
    ],
)
def test_what_cannot_be_used_is_told_at_once(arguments: Any, error: Any) -> None:
    with pytest.raises(error):
        jpq.Session(**arguments)


def test_errors_say_that_the_program_set_it() -> None:
    for arguments in ({"model": "no-such-alias"}, {"config": {"request.idle_timeout_s": "soon"}}):
        with pytest.raises(jpq.ConfigError) as wrong:
            jpq.Session(**arguments)  # type: ignore[arg-type]
        assert wrong.value.where == "option of jpq.Session"


def test_what_the_program_says_wins_over_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with Server(answer("Hello")) as server:
        config = {"providers.openai": {"base_url": server.url, "api": "openai-chat"}}
        with jpq.Session("openai/gpt-5", config=config) as session:
            assert session.ask("hi").text == "Hello"


@pytest.mark.parametrize(
    "config",
    [
        {"context_windows": {"custom/test-1.5": 4096}},
        {'context_windows."custom/test-1.5"': 4096},
    ],
)
def test_settings_are_nested_or_dotted_and_names_in_them_may_have_dots(config: Any) -> None:
    with Server(answer("Hello")) as server:
        settings = {**at(server), **config}
        with jpq.Session("custom/test-1.5", config=settings) as session:
            tokens = [e for e in session.stream("hi") if isinstance(e, jpq.TokenUpdate)]
    assert [event.context_limit for event in tokens] == [4096]


def test_a_saved_conversation_goes_on(tmp_path: Any) -> None:
    with Server(answer("One."), answer("Two.")) as server:
        with open_at(server, store=str(tmp_path), system="Be brief.") as session:
            session.ask("first")
            id = session.id
        assert id is not None
        again = jpq.Session(config=at(server), store=str(tmp_path), conversation=id)
        with again as session:
            assert session.model == MODEL and session.id == id
            session.ask("second")
        contents = [message["content"] for message in server.seen[1].json["messages"]]
    assert contents == ["Be brief.", "first", "One.", "second"]


def test_the_default_store_is_the_commands() -> None:
    with Server(answer("Hello")) as server, open_at(server, store="default") as session:
        session.ask("What is this?")
        assert session.id is not None
        folder = os.path.join(os.environ["JPQ_HOME"], "data", "conversations")
        assert Library(folder).read(session.id).metadata["title"] == "What is this?"


def test_attachments(tmp_path: Any) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("remember the milk")
    with Server(answer("Milk.")) as server, open_at(server) as session:
        session.ask("What?", attachments=[path, ("more.txt", b"and bread")])
        sent = str(server.seen[0].json)
        assert "remember the milk" in sent and "and bread" in sent
        with pytest.raises(jpq.BadInputError, match="cannot be read"):
            session.ask("What?", attachments=[tmp_path / "missing"])
        with pytest.raises(jpq.BadInputError, match="cannot be read"):
            session.ask("What?", attachments=["a\0b"])
        with pytest.raises(jpq.BadInputError, match="a folder"):
            session.ask("What?", attachments=[tmp_path])
        with pytest.raises(jpq.BadInputError, match="larger than 15 MB together"):
            session.ask("What?", attachments=[path, ("more.txt", b"x" * 15_000_000)])
        assert len(server.seen) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such files")
def test_what_has_no_end_is_not_attached(tmp_path: Any) -> None:
    os.mkfifo(tmp_path / "pipe")
    with Server(answer("x")) as server, open_at(server) as session:
        for source in (tmp_path / "pipe", "/dev/zero"):
            with pytest.raises(jpq.BadInputError, match="is no file"):
                session.ask("What?", attachments=[source])
        assert not server.seen


QUIET = """
import os, signal, sys, threading
def process():
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    return sys.getswitchinterval(), handlers
before = process()
streams = sys.stdin, sys.stdout, sys.stderr
import jpq
with jpq.Session(sys.argv[1]) as session:
    assert session.ask("hi").text == "Hello."
    list(session.stream("hi"))
assert process() == before
assert streams == (sys.stdin, sys.stdout, sys.stderr)
assert "asyncio" not in sys.modules and "logging.handlers" not in sys.modules
assert threading.active_count() == 1, threading.enumerate()
"""


def test_a_program_sees_nothing_of_it(tmp_path: Any) -> None:
    model = "scripted/" + script(tmp_path, 'text = "Hello."')
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", QUIET, model],
        env=environment(),
        cwd=str(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=WAIT_S * 3,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_importing_the_package_loads_nothing_of_it() -> None:
    code = "import sys, jpq; print([name for name in sys.modules if name.startswith('jpq')])"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), cwd=ROOT, capture_output=True, text=True
    )
    assert done.stdout == "['jpq']\n"


def test_every_name_that_is_offered_is_there() -> None:
    names = [name for name in dir(jpq) if not name.startswith("_")]
    assert {"Session", "Transcript", "tool", "TextChunk", "JpqError", "StreamError"} <= set(names)
    assert all(getattr(jpq, name) is not None for name in names)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = jpq.no_such_name  # type: ignore[attr-defined]


def test_the_stub_names_what_is_offered() -> None:
    with open(os.path.join(ROOT, "jpq", "__init__.pyi"), encoding="utf-8") as file:
        stub = {line.split()[-1] for line in file if line.startswith("from ")}
    offered = {name for names in jpq._OFFERED.values() for name in names.split()}  # type: ignore[attr-defined]
    assert stub == offered


INTERRUPTED = """
import os, signal, sys
import jpq
session = jpq.Session(sys.argv[1], store=sys.argv[2])
try:
    for event in session.stream("hi"):
        if isinstance(event, jpq.TextChunk):
            os.kill(os.getpid(), signal.SIGINT)
except KeyboardInterrupt:
    session.close()
    print("interrupted", session.id)
"""


def test_ctrl_c_is_the_programs_own_and_saves(tmp_path: Any) -> None:
    model = "scripted/" + script(tmp_path, 'text = "Hello you."\nstall = true')
    store = tmp_path / "store"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", INTERRUPTED, model, str(store)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=WAIT_S * 3,
    )
    assert done.stdout.startswith("interrupted ") and done.stderr == ""
    assert saved(store)[0] == "hi" and saved(store)[1].startswith("Hello")


def test_sessions_that_begin_at_once_in_one_store(tmp_path: Any) -> None:
    """Each has its conversation, and tools that run at the same time do not mix."""
    meeting = threading.Barrier(4, timeout=WAIT_S * 3)
    call = 'match = "go"\ntool_calls = [{ name = "meet", arguments = { me = "%s" } }]'
    found: Dict[int, str] = {}

    def meet(me: str) -> str:
        meeting.wait()  # not before all four are here
        return f"{me} was here"

    def talk(number: int) -> None:
        folder = tmp_path / str(number)
        folder.mkdir()
        model = "scripted/" + script(folder, call % number, 'match = "go"\ntext = "Done."')
        meeting.wait()
        with jpq.Session(model, tools=[meet], store=str(tmp_path / "store")) as session:
            events = list(session.stream("go"))
            found[number] = next(e.content for e in events if isinstance(e, jpq.ToolResult))

    threads = [threading.Thread(target=talk, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: f"{number} was here" for number in range(4)}
    assert len(Library(str(tmp_path / "store")).ids()) == 4


def test_the_thread_that_takes_events_may_take_its_time() -> None:
    """The whole answer is saved before the second event is taken."""
    with Server(answer("Hello there.")) as server, open_at(server, store="default") as session:
        stream = session.stream("hi")
        next(stream)
        folder = os.path.join(os.environ["JPQ_HOME"], "data", "conversations")
        waiter = threading.Event()
        while not any(t.end for t in Library(folder).read(str(session.id)).stream.turns()):
            assert not waiter.wait(0.02)
        assert kinds(stream)[-1] == "Result"


def test_an_iterator_that_is_dropped_unused_asks_nothing() -> None:
    with Server(answer("Hello")) as server, open_at(server) as session:
        session.stream("never taken")
        assert session.ask("hi").is_complete
        assert len(server.seen) == 1


LEFT = """
import sys
import jpq
session = jpq.Session(sys.argv[1], store=sys.argv[2])
stream = session.stream("hi")
for event in stream:
    if isinstance(event, jpq.TextChunk):
        break
print("leaving")
"""


def test_a_program_that_closes_nothing_ends_all_the_same(tmp_path: Any) -> None:
    model = "scripted/" + script(tmp_path, 'text = "Hello you."\nstall = true')
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", LEFT, model, str(tmp_path / "store")],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=WAIT_S * 3,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "leaving\n", "")
    library = Library(str(tmp_path / "store"))
    journal = library.open(library.ids()[0], 0, lambda line: None)
    texts = [str(getattr(entry.event, "text", "")) for entry in journal.stream.entries]
    journal.close()
    assert "".join(texts).startswith("Hello")


def test_closing_from_another_thread_at_any_moment() -> None:
    """The question is answered, stopped, or refused because the session is closed."""
    with Server(answer("Yes.")) as server:
        for _ in range(30):
            session = open_at(server)
            closer = threading.Thread(target=session.close)
            closer.start()
            with contextlib.suppress(jpq.UsageError):
                session.ask("Is it?")
            closer.join()
