"""Signals in every phase of a turn: what arrived is saved, and the process ends by them at once."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

import pytest

from jpq.cli.conversation_text import as_json, as_text
from jpq.store.library import Library
from jpq.store.reading import SavedConversation
from tests.support.ptys import WAIT_S, Child, environment, jpq
from tests.support.server import (
    DONE,
    FINISH,
    Pause,
    Server,
    answer,
    chunk,
    delta,
    error,
    head,
    sse,
    unanswering,
)

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PRESS = b"\x03"
# A bound that a loaded machine keeps; the usual time is a hundredth of it.
SOON_S = 5.0
STOPPED = "Stopped; what arrived is saved. Go on with: jpq --retry"


class Place:
    """A home, a workspace in it, and an event that lets servers go on at the end."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.environ = environment(os.path.join(folder, "home"))
        self.end = threading.Event()

    def start(self, server: Server, terminal: bool, *arguments: str, stdin: bool = False) -> Child:
        return Child(
            query(server.url, *arguments), self.environ, self.folder, terminal=terminal, stdin=stdin
        )

    def entries(self) -> List[Dict[str, Any]]:
        """Those of the only conversation; none where none was begun."""
        saved = self._saved()
        return [] if saved is None else list(as_json(saved)["entries"])

    def shown(self) -> str:
        """What ``conversation show`` says."""
        saved = self._saved()
        return "" if saved is None else as_text(saved)

    def _saved(self) -> Optional[SavedConversation]:
        library = Library(os.path.join(self.folder, "home", "data", "conversations"))
        ids = library.ids()
        return library.read(ids[0]) if ids else None


def query(url: str, *arguments: str) -> List[str]:
    setting = f"providers.custom.base_url={url}"
    return jpq("-m", "custom/test", "--no-menu", "--set", setting, *(arguments or ("go",)))


def reasoning(text: str) -> Dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"reasoning_content": text}}]}


def events(*values: Any) -> List[Any]:
    """A streamed reply with these values that has not ended yet."""
    return [head(), *(chunk(event) for event in sse(*values))]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(str(tmp_path))
    yield place
    place.end.set()


@pytest.fixture(params=[True, False], ids=["terminal", "pipes"])
def terminal(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def told(child: Child) -> str:
    """What was said beside the answer, and on a terminal everything."""
    return (child.errors or child.output).decode("utf-8", "replace").replace("\r\n", "\n")


def ended_by(child: Child, signum: int, since: float) -> None:
    assert child.end() == -signum, told(child)
    assert time.monotonic() - since < SOON_S
    assert "Traceback" not in told(child) and "Exception ignored" not in told(child)
    assert b"\x1b[?25l" not in child.output, "the cursor is never hidden"


PHASES: Dict[str, Any] = {
    # What the server sends, what is then to be seen on which channel, and what must be saved.
    "connected": (lambda: [], None, None),
    "headers": (lambda: [head()], None, None),
    "text": (lambda: events(delta("Half an "), delta("answer")), b"answer", "Half an answer"),
    "reasoning": (lambda: events(reasoning("Hmm, well")), b"Hmm, well", "Hmm, well"),
    "backoff": (
        lambda: error("503 Busy", b"{}", "application/json", "Retry-After: 40"),
        b"Attempt 2 of",
        None,
    ),
}


@pytest.mark.parametrize("phase", PHASES)
def test_a_signal_saves_and_ends(phase: str, terminal: bool, tmp_path: Path) -> None:
    """All three signals at once, each to a process with a conversation of its own."""
    make_script, seen, saved = PHASES[phase]
    with contextlib.ExitStack() as stack:
        end = threading.Event()
        script = make_script() + ([] if phase == "backoff" else [Pause(end)])
        server = stack.enter_context(Server(script))
        stack.callback(end.set)
        places, children = [], []
        for signum in SIGNALS:
            folder = os.path.join(str(tmp_path), str(int(signum)))
            os.mkdir(folder)
            places.append(Place(folder))
            children.append(stack.enter_context(places[-1].start(server, terminal)))
        modes = [child.modes() for child in children if terminal]
        for child in children:
            if seen is not None:
                child.wait_for(seen, on_errors=not terminal and phase != "text")
        wait_until(lambda: len(server.seen) >= len(SIGNALS))
        for signum, child in zip(SIGNALS, children):
            pressed = time.monotonic()
            if terminal and signum == signal.SIGINT:
                child.type(PRESS)
            else:
                child.signal(signum)
            ended_by(child, signum, pressed)
            assert STOPPED in told(child)
        assert modes == [child.modes() for child in children if terminal]
        for place in places:
            entries = place.entries()
            assert [entry["type"] for entry in entries].count("turn_end") == 1
            assert entries[0]["content"] == "go"
            assert (entries[-1]["type"], entries[-1]["status"]) == ("turn_end", "interrupted")
            assert saved is None or saved in place.shown()


def test_while_the_connection_is_made(place: Place, terminal: bool) -> None:
    with unanswering() as port:
        command = query(f"http://127.0.0.1:{port}/v1", "-v", "go")
        with Child(command, place.environ, place.folder, terminal=terminal) as child:
            child.wait_for(b"conversation ", on_errors=not terminal)
            pressed = time.monotonic()
            child.signal(signal.SIGINT)
            ended_by(child, signal.SIGINT, pressed)
    assert [entry["type"] for entry in place.entries()] == ["chat_request", "turn_end"]


def test_while_stdin_is_read(place: Place, terminal: bool) -> None:
    """Nothing was asked yet, so nothing is saved."""
    with Server(answer("never asked")) as server, contextlib.ExitStack() as stack:
        children = [
            stack.enter_context(place.start(server, terminal, "-", stdin=not terminal))
            for _ in SIGNALS
        ]
        for child in children:
            child.wait_for(
                b"erminal;" if terminal else b"Waiting for stdin", on_errors=not terminal
            )
        for signum, child in zip(SIGNALS, children):
            pressed = time.monotonic()
            child.signal(signum)
            ended_by(child, signum, pressed)
        assert server.seen == []
    assert place.entries() == []


@pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None, reason="the embedded model needs its engine"
)
def test_while_a_model_is_fetched(place: Place, terminal: bool) -> None:
    """pip waits for an index that never answers, and ends with jpq."""
    with Server([Pause(place.end)]) as index, contextlib.ExitStack() as stack:
        url = f"http://127.0.0.1:{index.port}/simple"
        environ = {**place.environ, "PIP_INDEX_URL": url, "PIP_CONFIG_FILE": os.devnull}
        signum = signal.SIGINT if terminal else signal.SIGTERM
        command = jpq("-m", "local/smollm2", "go")
        child = stack.enter_context(Child(command, environ, place.folder, terminal=terminal))
        wait_until(lambda: len(index.seen) > 0)
        pressed = time.monotonic()
        child.signal(signum)
        ended_by(child, signum, pressed)  # the end of what pip writes to, too
        place.end.set()
    assert place.entries() == []


@pytest.mark.parametrize("signum", SIGNALS)
def test_while_conversations_are_searched(signum: int, place: Place, terminal: bool) -> None:
    """With a pattern that Python tries in more ways than there is time."""
    hard = "a" * 64 + "!"
    with Server(answer("Fine.")) as server, place.start(server, False, hard) as child:
        assert child.end() == 0
    command = jpq("conversation", "grep", "(a+)+$")
    with Child(command, place.environ, place.folder, terminal=terminal) as child:
        wait_until(lambda: working_s(child.process.pid) > 0.5)
        pressed = time.monotonic()
        child.signal(signum)
        ended_by(child, signum, pressed)
        assert told(child) == ""


@pytest.mark.parametrize("size", [40_000, 66_000, 70_000, 200_000])
def test_while_nobody_reads_what_a_command_prints(size: int, place: Place) -> None:
    """A pipe takes 64 KiB; what is left hangs in a write of the command, or in the last one."""
    with Server(answer("x" * size)) as server, place.start(server, False) as child:
        assert child.end() == 0
    with Child(jpq("conversation", "show"), place.environ, place.folder, terminal=False) as child:
        if size > 65_536:
            wait_until(lambda: sleeps(child.process.pid))
            child.signal(signal.SIGINT)
        assert child.end() == (-signal.SIGINT if size > 65_536 else 0)
        assert child.errors == b""


@pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None, reason="the embedded model needs its engine"
)
@pytest.mark.parametrize("signum", SIGNALS)
def test_a_download_that_is_stopped_leaves_nothing(signum: int, place: Place) -> None:
    with Server([Pause(place.end)]) as index:
        url = f"http://127.0.0.1:{index.port}/simple"
        environ = {**place.environ, "PIP_INDEX_URL": url, "PIP_CONFIG_FILE": os.devnull}
        command = jpq("models", "install", "smollm2")
        with Child(command, environ, place.folder, terminal=True) as child:
            wait_until(lambda: len(index.seen) > 0)
            pressed = time.monotonic()
            child.signal(signum)
            ended_by(child, signum, pressed)  # the end of what pip writes to, too
        place.end.set()
    models = os.path.join(place.folder, "home", "data", "models")
    assert [name for _, folders, _ in os.walk(models) for name in folders] == []


@pytest.mark.parametrize("signum", SIGNALS)
def test_while_the_cycle_is_committed(signum: int, place: Place, terminal: bool) -> None:
    """Wherever in it the signal arrives, the answer is saved once and whole."""
    with Server(answer("A whole answer.")) as server, place.start(server, terminal) as child:
        child.wait_for(b"answer.")
        pressed = time.monotonic()
        child.signal(signum)
        assert child.end() in (-signum, 0)
        assert time.monotonic() - pressed < SOON_S
    saved = [entry["type"] for entry in place.entries()]
    assert saved == ["chat_request", "chat_response", "turn_end"]
    assert "A whole answer." in place.shown()


@pytest.mark.parametrize("whole", [False, True], ids=["streaming", "answered"])
def test_while_nobody_reads_the_answer(whole: bool, place: Place, terminal: bool) -> None:
    """The renderer hangs in a write, for good; the person can leave all the same."""
    signum = signal.SIGINT if terminal else signal.SIGTERM
    text = "".join(f"word {number} of many\n" for number in range(20_000))
    script = events(delta(text), *([FINISH, DONE] if whole else []))
    with Server([*script, Pause(place.end)]) as server:
        with place.start(server, terminal) as child:
            files = os.path.join(place.folder, "home", "data", "conversations")
            wanted = "events.jsonl" if whole else "inflight.jsonl"
            wait_until(lambda: size_of(files, wanted) > len(text))
            pressed = time.monotonic()
            child.signal(signum)
            assert child.exit() == -signum
            assert time.monotonic() - pressed < SOON_S
        place.end.set()
    assert text in place.shown()


def test_the_window_is_closed(place: Place) -> None:
    """The terminal goes away and SIGHUP comes, in whatever order."""
    with Server([*events(delta("Half")), Pause(place.end)]) as server:
        with place.start(server, True) as child:
            child.wait_for(b"Half")
            pressed = time.monotonic()
            child.hang_up()
            assert child.exit() == -signal.SIGHUP
            assert time.monotonic() - pressed < SOON_S
        place.end.set()
    assert place.entries()[-1]["status"] == "interrupted"
    assert "Half" in place.shown()


@pytest.mark.parametrize("presses", [2, 4])
def test_more_presses_only_end_it_sooner(presses: int, place: Place, terminal: bool) -> None:
    with Server([*events(delta("Half")), Pause(place.end)]) as server:
        with place.start(server, terminal) as child:
            child.wait_for(b"Half")
            pressed = time.monotonic()
            for _ in range(presses):
                if child.process.poll() is None:
                    child.signal(signal.SIGINT)
            ended_by(child, signal.SIGINT, pressed)
        place.end.set()
    assert "Half" in place.shown()


def test_quit_ends_at_once(place: Place) -> None:
    with Server([*events(delta("Half")), Pause(place.end)]) as server:
        with place.start(server, True) as child:
            child.wait_for(b"Half")
            child.type(b"\x1c")
            assert child.end() == -signal.SIGQUIT
        place.end.set()
    assert "Half" in place.shown()


@pytest.mark.parametrize("signum", SIGNALS)
def test_a_signal_that_the_parent_ignores_stays_ignored(
    signum: signal.Signals, place: Place
) -> None:
    name = signum.name[len("SIG") :]
    ignoring = ["/bin/sh", "-c", f"trap '' {name}; exec \"$@\"", "sh"]
    with Server([*events(delta("Half")), Pause(place.end), *rest(" more.")]) as server:
        command = [*ignoring, *query(server.url)]
        with Child(command, place.environ, place.folder, terminal=False) as child:
            child.wait_for(b"Half")
            child.signal(signum)
            place.end.set()
            assert child.end() == 0
    assert "Half more." in place.shown()


@pytest.mark.parametrize(
    ("typed", "code"), [(PRESS, 130), (b"\x1c", 131)], ids=["Ctrl+C", "Ctrl+backslash"]
)
def test_what_an_interactive_shell_sees(typed: bytes, code: int, place: Place) -> None:
    with Server([*events(delta("Half")), Pause(place.end)]) as server, shell(place) as child:
        child.type(line(query(server.url)))
        child.wait_for(b"Half")
        child.type(typed)
        child.type(b"echo co''de=$?\n")
        child.wait_for(f"code={code}".encode())
        place.end.set()


def test_stopped_time_does_not_count(place: Place) -> None:
    """Ctrl+Z for longer than the time-out, then fg: the answer goes on."""
    script = [*events(delta("Half")), Pause(place.end), *rest(" more.")]
    with Server(script) as server, shell(place) as child:
        quick = ("--set", "request.idle_timeout_s=3", "--retries", "0", "go")
        child.type(line(query(server.url, *quick)))
        child.wait_for(b"Half")
        child.type(b"\x1a")
        child.wait_for(b"Stopped")
        time.sleep(4.5)  # what is tested is time that passes
        del child.output[:]
        child.type(b"fg; echo co''de=$?\n")
        child.wait_for(b"go\r\n")  # the shell names the job
        time.sleep(0.3)  # the time-out would be noticed by now
        place.end.set()
        child.wait_for(b"code=")
        assert b" more." in child.output and b"code=0" in child.output, child.output
    assert [entry["type"] for entry in place.entries()].count("chat_response") == 1


def test_nothing_of_it_runs_on(place: Place, terminal: bool) -> None:
    """The process was a session of its own: no process of that session is left."""
    with Server([*events(delta("Half")), Pause(place.end)]) as server:
        with place.start(server, terminal) as child:
            child.wait_for(b"Half")
            child.signal(signal.SIGTERM)
            assert child.end() == -signal.SIGTERM
            with pytest.raises(ProcessLookupError):
                os.killpg(child.process.pid, 0)
        place.end.set()


def rest(text: str) -> List[Any]:
    """How a reply that was begun ends."""
    return [*(chunk(event) for event in sse(delta(text), FINISH, DONE)), b"0\r\n\r\n"]


def shell(place: Place) -> Child:
    """An interactive shell with job control on a terminal of its own."""
    environ = {**place.environ, "PS1": "$ ", "ENV": ""}
    return Child(["/bin/sh", "-i"], environ, place.folder, terminal=True)


def line(command: Sequence[str]) -> bytes:
    return " ".join(command).encode() + b"\n"


def size_of(files: str, name: str) -> int:
    """The size of a file of the only conversation."""
    for id in Library(files).ids():
        with contextlib.suppress(FileNotFoundError):
            return os.stat(os.path.join(files, id, name)).st_size
    return 0


def working_s(pid: int) -> float:
    """How long a process has worked."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[11]) / os.sysconf("SC_CLK_TCK")


def sleeps(pid: int) -> bool:
    """Whether a process waits in a write to a pipe."""
    with open(f"/proc/{pid}/wchan", encoding="ascii") as file:
        return "pipe" in file.read()


def wait_until(is_so: Callable[[], bool]) -> None:
    """Another process has come so far; nothing tells us but looking."""
    deadline = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.005)
