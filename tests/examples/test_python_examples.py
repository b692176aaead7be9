"""examples/python: each program does what it says, with a scripted model and without a screen."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from typing import Any, Callable, Dict, Iterator, List

import pytest

import jpq
from jpq.store.library import Library
from tests.support.programs import ROOT, WAIT_S, environment, script
from tests.support.server import Pause, Server, Tell, answer, delta, reply

FOLDER = os.path.join(ROOT, "examples", "python")


def load(name: str) -> Any:
    path = os.path.join(FOLDER, f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"example_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# -- a request handler --------------------------------------------------------------------------


@pytest.fixture
def handler(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The served example; its model is the one of ``JPQ_MODEL``, set by then."""
    module = load("request_handler")
    server = module.serve(0)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    module.url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("NO_PROXY", "*")
    yield module
    server.shutdown()
    thread.join()
    server.server_close()


def get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=WAIT_S) as response:
        return response.read()


def test_a_view_answers_in_json(
    handler: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JPQ_MODEL", "scripted/" + script(tmp_path, 'text = "Hello."'))
    found = json.loads(get(f"{handler.url}/ask?q=hi"))
    assert found == {"answer": "Hello.", "complete": True}
    for path, status in (("/ask", 400), ("/nothing", 404)):
        with pytest.raises(urllib.error.HTTPError) as failed:
            get(handler.url + path)
        assert failed.value.code == status and "error" in json.loads(failed.value.read())
        failed.value.close()


def test_many_requests_at_once(
    handler: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = [f'match = "number {n}"\ntext = "You are {n}."\ndelay_s = 0.05' for n in range(6)]
    monkeypatch.setenv("JPQ_MODEL", "scripted/" + script(tmp_path, *replies))
    found: Dict[int, Any] = {}

    def visit(n: int) -> None:
        found[n] = json.loads(get(f"{handler.url}/ask?q=number+{n}"))["answer"]

    threads = [threading.Thread(target=visit, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: f"You are {n}." for n in range(6)}


def served_by(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JPQ_MODEL", "custom/test")
    monkeypatch.setenv("JPQ_SET_providers__custom__base_url", server.url)


def test_a_stream_arrives_piece_by_piece_and_stops_with_its_reader(
    handler: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It never ends: only what the server cannot send any more stops it.
    text = f"text = {json.dumps(['Hello'] * 500)}\ndelay_s = 0.02\nstall = true"
    monkeypatch.setenv("JPQ_MODEL", "scripted/" + script(tmp_path, text))
    response = urllib.request.urlopen(f"{handler.url}/stream?q=hi", timeout=WAIT_S)
    assert response.readline() == b"event: text\n"
    assert response.readline().startswith(b'data: "Hello')
    response.close()


def test_a_stream_to_its_end(handler: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with Server(answer("Hello there.")) as server:
        served_by(server, monkeypatch)
        events = get(f"{handler.url}/stream?q=hi").decode().strip().split("\n\n")
    assert events[-1] == 'event: end\ndata: "complete"'
    texts = [json.loads(event.partition("data: ")[2]) for event in events[:-1]]
    assert "".join(texts) == "Hello there."
    assert b"There is no question" in get(f"{handler.url}/stream")


# -- a report for cron --------------------------------------------------------------------------

FOUND = '{"summary": "A disk fails.", "urgent": true, "problems": ["sda1 has errors"]}'


def report(folder: Any, *replies: str) -> Any:
    log = folder / "syslog"
    log.write_text("kernel: sda1 error\n")
    return subprocess.run(
        [sys.executable, "-W", "error", os.path.join(FOLDER, "cron_report.py"), str(log)]
        + [str(folder / "report.txt")],
        env=environment(JPQ_MODEL="scripted/" + script(folder, *replies)),
        cwd=str(folder),
        capture_output=True,
        text=True,
        timeout=WAIT_S * 2,
    )


def test_a_report_is_written_and_nothing_said(tmp_path: Any) -> None:
    done = report(tmp_path, f"text = '{FOUND}'")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    text = (tmp_path / "report.txt").read_text()
    assert text == "URGENT: A disk fails.\n- sda1 has errors\n"


@pytest.mark.parametrize(
    "reply, code, word",
    [
        ("status = 401", 1, "key"),
        ("text = 'no idea'", 1, "schema"),
        ('text = "half"\ncut = true', 75, "cut"),
        ('text = "half"\nfinish = "length"', 1, "limited"),
    ],
)
def test_a_report_that_fails_leaves_the_last_one(
    reply: str, code: int, word: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JPQ_SET_request__max_attempts", "1")
    (tmp_path / "report.txt").write_text("yesterday's\n")
    done = report(tmp_path, reply)
    assert done.returncode == code and done.stdout == ""
    assert done.stderr.startswith("no report on ") and word in done.stderr
    assert done.stderr.count("\n") == 1
    assert (tmp_path / "report.txt").read_text() == "yesterday's\n"
    assert sorted(os.listdir(str(tmp_path))) == ["report.txt", "script.toml", "syslog"]


# -- a window -----------------------------------------------------------------------------------


class Widget:
    """What the example needs of a Tk widget."""

    def __init__(self, *_: Any, **settings: Any) -> None:
        self.settings = settings
        self.text = ""
        self.later: List[Callable[[], None]] = []
        self.closed = False

    def config(self, **settings: Any) -> None:
        self.settings.update(settings)

    def insert(self, place: str, text: str) -> None:
        assert self.settings["state"] == "normal"
        self.text += text

    def get(self) -> str:
        return self.text

    def delete(self, first: int, last: str) -> None:
        self.text = ""

    def after(self, ms: int, call: Callable[[], None]) -> None:
        self.later.append(call)

    def destroy(self) -> None:
        self.closed = True

    def nothing(self, *_: Any, **__: Any) -> None:
        pass

    title = bind = pack = see = protocol = nothing


class FakeTk:
    Tk = Entry = Button = Text = Widget


def turn_of_events(window: Any) -> None:
    """What Tk's main loop does for a moment."""
    calls, window.root.later = window.root.later, []
    for call in calls:
        call()


def run_until(window: Any, done: Callable[[], bool]) -> None:
    waiter = threading.Event()
    for _ in range(int(WAIT_S / 0.01)):
        turn_of_events(window)
        if done():
            return
        waiter.wait(0.01)
    raise AssertionError(window.answer.text)


def open_window(server: Server) -> Any:
    module = load("window")
    config = {"providers": {"custom": {"base_url": server.url}}, "request.max_attempts": 1}
    session = jpq.Session("custom/test", store="default", config=config)
    return module.Window(module.Worker(session), FakeTk)


def ask(window: Any, question: str) -> None:
    window.question.text = question
    window.ask()
    assert window.question.settings["state"] == "disabled"


def test_a_window_shows_an_answer_as_it_grows() -> None:
    more = threading.Event()
    head, first, second, *rest = reply(
        delta("Hel"), delta("lo."), {"choices": [{"index": 0, "finish_reason": "stop"}]}, "[DONE]"
    )
    with Server([head, first, Pause(more), second, *rest]) as server:
        window = open_window(server)
        ask(window, "hi")
        run_until(window, lambda: window.answer.text == "> hi\nHel")
        more.set()
        run_until(window, lambda: window.question.settings["state"] == "normal")
        assert window.answer.text == "> hi\nHello.\n\n"
        assert window.stop.settings["state"] == "disabled"
        window.close()


def test_its_button_stops_an_answer_which_is_saved() -> None:
    head, first, *_ = reply(delta("Hello"))
    with Server([head, first, Pause(threading.Event())]) as server:
        window = open_window(server)
        ask(window, "hi")
        run_until(window, lambda: "Hello" in window.answer.text)
        window.stop.settings["command"]()
        run_until(window, lambda: window.question.settings["state"] == "normal")
        assert window.answer.text == "> hi\nHello [stopped]\n\n"
        window.close()
    library = Library(os.path.join(os.environ["JPQ_HOME"], "data", "conversations"))
    assert len(library.ids()) == 1


def test_closing_the_window_in_the_middle_of_an_answer() -> None:
    asked = threading.Event()
    with Server([Tell(asked), Pause(threading.Event())]) as server:
        window = open_window(server)
        ask(window, "hi")
        assert asked.wait(WAIT_S)
        window.close()
        assert window.root.closed


def test_a_failure_is_shown_and_the_next_question_can_be_asked() -> None:
    with Server([b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n"], answer("Hello.")) as server:
        window = open_window(server)
        ask(window, "hi")
        run_until(window, lambda: window.question.settings["state"] == "normal")
        assert "[" in window.answer.text
        ask(window, "")  # an empty question fails before anything is sent
        run_until(window, lambda: "There is no question" in window.answer.text)
        ask(window, "hi")
        run_until(window, lambda: "Hello." in window.answer.text)
        window.close()
