"""The embedded model end to end: the real llama.cpp server with the real weights."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
from typing import Any, Callable, Iterator, List

import pytest

from jpq.config.paths import Paths
from jpq.conversation.thread import USER, Message, Thread, ThreadText
from jpq.errors import ConfigError, ExitCode, StreamError
from jpq.events.parts import Finished, MessageDelta, Part, Started, StreamEvent
from jpq.provider import openai_chat
from jpq.provider.base import ProviderRequest, ProviderRow
from jpq.provider.http import HttpProvider
from jpq.provider.local import LocalProvider, spare_threads
from jpq.provider.local_engine import require_engine
from jpq.provider.local_process import running_servers, stop_server
from jpq.provider.local_state import ServerFolder, ServerState
from jpq.provider.weights import find_weights
from tests.support.weights import Silent, data_with_weights, needs_engine

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROW = ProviderRow("local", "local")
WAIT_S = 60.0
# A grammar makes a small model say what a test needs: a word of greeting, a story without end.
GREETING = 'root ::= "Hello there."'
STORY = 'root ::= "fox " root'
_ENVIRON = dict(os.environ)  # before any test changes it


def provider_for(paths: Paths, keep_alive_s: float = 60.0) -> LocalProvider:
    """A provider as the command line makes one."""
    return LocalProvider(
        ROW,
        paths,
        lambda row, key: HttpProvider(row, openai_chat, key),
        keep_alive_s=keep_alive_s,
        environ=os.environ,
    )


def asked(text: str, max_tokens: int = 12, grammar: str = GREETING) -> ProviderRequest:
    thread = Thread("", (Message(USER, (ThreadText(text),)),))
    options = {"max_tokens": max_tokens, "grammar": grammar}
    return ProviderRequest("smollm2", thread, options=options)


def asked_for_a_story(max_tokens: int = 2000) -> ProviderRequest:
    return asked("Tell me a very long story.", max_tokens, STORY)


def text_of(events: List[StreamEvent]) -> str:
    parts = (event.payload for event in events if isinstance(event, Part))
    return "".join(part.text for part in parts if isinstance(part, MessageDelta))


@pytest.fixture(scope="module")
def data() -> str:
    return data_with_weights(_ENVIRON)


@pytest.fixture
def paths(data: str, tmp_path: Any) -> Iterator[Paths]:
    """The shared weights with a state folder of the test's own; ends its server."""
    state = os.path.join(str(tmp_path), "state")
    yield Paths(os.path.join(str(tmp_path), "config.toml"), data, state, state)
    stop_server(ServerFolder(state, "smollm2"))


def the_server(paths: Paths) -> ServerState:
    (server,) = running_servers(paths.state)
    return server.state


def wait_for_the_end(paths: Paths) -> None:
    with ServerFolder(paths.state, "smollm2").alive_lock() as lock:
        assert lock.acquire(WAIT_S), "the server did not end"


@pytest.mark.parametrize("version", [(3, 8), (3, 9)])
def test_an_old_python_is_told_what_to_do_instead(version: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        require_engine(version)
    assert caught.value.exit_code == ExitCode.CONFIG
    assert f"3.{version[1]}" in caught.value.message
    for way in ("newer Python", "Ollama", "llama-server", "key"):
        assert way in caught.value.hint


def test_a_missing_engine_is_told_how_to_get_it() -> None:
    with pytest.raises(ConfigError) as caught:
        require_engine((3, 12), "no_such_engine")
    assert f"{sys.executable} -m pip install 'jpq[local]'" in caught.value.hint


@pytest.mark.skipif(sys.version_info >= (3, 10), reason="an older Python's refusal")
def test_prepare_refuses_before_it_fetches_anything(own_home: str) -> None:
    provider = provider_for(Paths(own_home, own_home, own_home, own_home))
    with pytest.raises(ConfigError):
        provider.prepare("smollm2", Silent())
    assert not os.path.exists(os.path.join(own_home, "models"))


def test_an_unknown_model_is_named(own_home: str) -> None:
    provider = provider_for(Paths(own_home, own_home, own_home, own_home))
    with pytest.raises(ConfigError) as caught:
        provider.prepare("gpt-9", Silent())
    assert "gpt-9" in caught.value.message


def test_one_thread_is_left_for_everything_else() -> None:
    assert 1 <= spare_threads() <= max(1, (os.cpu_count() or 1) - 1)


@needs_engine
def test_it_answers_and_its_server_is_used_again(paths: Paths) -> None:
    provider = provider_for(paths)
    progress = Silent()
    provider.prepare("smollm2", progress)
    assert progress.notices == []
    first = the_server(paths)
    events = list(provider.exchange(asked("Say hello.")).events())
    assert isinstance(events[0], Started) and events[0].model == "smollm2"
    assert text_of(events).strip()
    assert isinstance(events[-1], Finished) and events[-1].reason in ("stop", "length")
    other = provider_for(paths)
    other.prepare("smollm2", progress)
    assert text_of(list(other.exchange(asked("And again.")).events())).strip()
    assert the_server(paths) == first


@needs_engine
def test_its_server_is_private_and_apart(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXAMPLE_API_KEY", "sk-not-for-servers")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    provider_for(paths).prepare("smollm2", Silent())
    state = the_server(paths)
    assert os.getsid(state.pid) != os.getsid(0)
    assert os.getpgid(state.pid) != os.getpgid(0)
    with open(f"/proc/{state.pid}/cmdline", "rb") as file:
        assert state.key.encode() not in file.read()
    with open(f"/proc/{state.pid}/environ", "rb") as file:
        environ = file.read()
    assert state.key.encode() not in environ and b"sk-not-for-servers" not in environ
    assert os.readlink(f"/proc/{state.pid}/fd/0") == os.devnull
    connection = http.client.HTTPConnection("127.0.0.1", state.port, timeout=WAIT_S)
    connection.request("GET", "/v1/models", headers={"Authorization": "Bearer wrong"})
    assert connection.getresponse().status == 401
    connection.close()


ANSWER = """
import sys
from jpq.config.paths import Paths
from tests.provider import test_local as t
provider = t.provider_for(Paths(*sys.argv[1:5]))
provider.prepare("smollm2", t.Silent())
exchange = provider.exchange(t.asked_for_a_story(int(sys.argv[5])))
for event in exchange.events():
    if isinstance(event, t.Part):
        print("part", flush=True)
print("end", t.the_server(Paths(*sys.argv[1:5])).pid, flush=True)
"""


def client(paths: Paths, max_tokens: int) -> subprocess.Popen[bytes]:
    """Another command that asks for an answer, and says when parts of it come."""
    command = [sys.executable, "-c", ANSWER, *paths, str(max_tokens)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT)


@needs_engine
def test_two_commands_at_once_share_one_server_and_are_both_answered(paths: Paths) -> None:
    with client(paths, 12) as first, client(paths, 12) as second:
        outputs = [process.communicate(timeout=2 * WAIT_S)[0] for process in (first, second)]
    pids = {int(output.split()[-1]) for output in outputs}
    assert pids == {the_server(paths).pid}
    assert all(output.startswith(b"part\n") for output in outputs)


@needs_engine
def test_a_killed_command_leaves_the_server_well(paths: Paths) -> None:
    with client(paths, 2000) as process:
        assert process.stdout is not None and process.stdout.readline() == b"part\n"
        (server,) = running_servers(paths.state)
        assert server.leases == 1
        os.kill(process.pid, signal.SIGKILL)
    provider = provider_for(paths)
    assert text_of(list(provider.exchange(asked("Say hello.")).events())).strip()
    (after,) = running_servers(paths.state)
    assert after.state == server.state and after.leases == 0


@needs_engine
def test_a_server_that_dies_cuts_the_stream_and_the_next_try_has_a_new_one(paths: Paths) -> None:
    provider = provider_for(paths)
    provider.prepare("smollm2", Silent())
    pid = the_server(paths).pid
    exchange = provider.exchange(asked_for_a_story())
    with pytest.raises(StreamError) as caught:
        for event in exchange.events():
            if isinstance(event, Part):
                with contextlib.suppress(ProcessLookupError):  # it is dead already
                    os.kill(pid, signal.SIGKILL)
    assert caught.value.retryable
    again = provider.exchange(asked("Say hello."))
    assert text_of(list(again.events())).strip()
    assert the_server(paths).pid != pid


@needs_engine
def test_with_no_time_to_stay_the_server_ends_with_the_command(paths: Paths) -> None:
    provider = provider_for(paths, keep_alive_s=0)
    provider.prepare("smollm2", Silent())
    pid = the_server(paths).pid
    for _ in range(2):
        list(provider.exchange(asked("Say hello.", 3)).events())
        assert the_server(paths).pid == pid
    provider.close()
    wait_for_the_end(paths)
    assert running_servers(paths.state) == []


@needs_engine
def test_the_server_ends_when_its_state_is_gone(paths: Paths) -> None:
    provider_for(paths).prepare("smollm2", Silent())
    moved = paths._replace(state=paths.state + ".moved")
    os.rename(paths.state, moved.state)
    assert running_servers(paths.state) == []
    wait_for_the_end(moved)


@needs_engine
def test_it_can_be_stopped_by_name(paths: Paths) -> None:
    provider_for(paths).prepare("smollm2", Silent())
    folder = ServerFolder(paths.state, "smollm2")
    assert stop_server(folder)
    assert not stop_server(folder) and running_servers(paths.state) == []


@needs_engine
def test_an_abort_ends_an_answer(paths: Paths) -> None:
    provider = provider_for(paths)
    exchange = provider.exchange(asked_for_a_story())
    seen: List[StreamEvent] = []
    begun = threading.Event()

    def read() -> None:
        try:
            for event in exchange.events():
                seen.append(event)
                if isinstance(event, Part):
                    begun.set()
        except StreamError:
            pass  # how an aborted exchange ends is not ours to say

    reader = threading.Thread(target=read)
    reader.start()
    assert begun.wait(WAIT_S)
    exchange.abort()
    exchange.abort()
    reader.join(WAIT_S)
    assert not reader.is_alive()
    ends = [event.reason for event in seen if isinstance(event, Finished)]
    assert not {"stop", "length"} & set(ends)  # by itself it would have ended with one of them


@needs_engine
def test_an_abort_ends_a_start(paths: Paths, tmp_path: Any) -> None:
    data = os.path.join(str(tmp_path), "data")
    os.makedirs(os.path.join(data, "models"))
    # Who opens it waits for somebody to write: the server is never ready.
    os.mkfifo(os.path.join(data, "models", find_weights("smollm2").file))
    provider = provider_for(paths._replace(data=data))
    exchange = provider.exchange(asked("Say hello."))
    reader = threading.Thread(target=lambda: list(exchange.events()))
    folder = ServerFolder(paths.state, "smollm2")
    reader.start()
    log = os.path.join(folder.path, "server.log")
    _until(lambda: os.path.exists(log))
    exchange.abort()
    reader.join(WAIT_S)
    assert not reader.is_alive()
    wait_for_the_end(paths)
    assert not folder.lives()


def test_an_abort_before_the_start_starts_nothing(own_home: str) -> None:
    provider = provider_for(Paths(own_home, own_home, own_home, own_home))
    exchange = provider.exchange(asked("Say hello."))
    exchange.abort()
    assert list(exchange.events()) == []
    assert not exchange.ending


def test_an_abort_ends_the_wait_for_another_command(own_home: str) -> None:
    folder = ServerFolder(own_home, "smollm2")
    folder.create()
    provider = provider_for(Paths(own_home, own_home, own_home, own_home))
    exchange = provider.exchange(asked("Say hello."))
    with folder.start_lock() as lock:
        assert lock.try_acquire()
        reader = threading.Thread(target=lambda: list(exchange.events()))
        reader.start()
        exchange.abort()
        reader.join(WAIT_S)
        assert not reader.is_alive()


@needs_engine
def test_weights_that_cannot_be_loaded(paths: Paths, tmp_path: Any) -> None:
    data = os.path.join(str(tmp_path), "data")
    os.makedirs(os.path.join(data, "models"))
    row = find_weights("smollm2")
    with open(os.path.join(data, "models", row.file), "wb") as file:
        file.truncate(row.size)
    with pytest.raises(StreamError) as caught:
        provider_for(paths._replace(data=data)).prepare("smollm2", Silent())
    assert caught.value.exit_code == ExitCode.UNREACHABLE
    assert "server.log" in caught.value.where
    assert running_servers(paths.state) == []


def test_a_state_folder_that_cannot_be_written_is_told(tmp_path: Any) -> None:
    blocked = os.path.join(str(tmp_path), "file")
    open(blocked, "w").close()
    provider = provider_for(Paths(blocked, blocked, blocked, blocked))
    with pytest.raises(StreamError) as caught:
        list(provider.exchange(asked("Say hello.")).events())
    assert "JPQ_HOME" in caught.value.hint


def test_a_state_folder_that_cannot_be_used_is_told(own_home: str) -> None:
    folder = ServerFolder(own_home, "smollm2")
    folder.create()
    os.mkdir(os.path.join(folder.path, "start"))
    provider = provider_for(Paths(own_home, own_home, own_home, own_home))
    with pytest.raises(StreamError) as caught:
        list(provider.exchange(asked("Say hello.")).events())
    assert "Is a directory" in caught.value.message and folder.path in caught.value.where


def test_a_stale_state_file_harms_nobody(own_home: str) -> None:
    """A dead server's file may hold a number that now belongs to somebody else: to us."""
    folder = ServerFolder(own_home, "smollm2")
    folder.create()
    folder.write(
        ServerState(os.getpid(), socket.gethostname(), "smollm2", "key", 1, 1, 1700000000.0)
    )
    assert running_servers(own_home) == []
    assert not stop_server(folder)


def test_a_server_of_another_machine_is_not_signalled(own_home: str) -> None:
    folder = ServerFolder(own_home, "smollm2")
    folder.create()
    folder.write(ServerState(os.getpid(), "elsewhere", "smollm2", "key", 1, 1, 1700000000.0))
    with folder.alive_lock() as alive:
        assert alive.try_acquire()
        (server,) = running_servers(own_home)
        assert server.idle_s is None and server.state.host == "elsewhere"


def _until(condition: Callable[[], bool]) -> None:
    wait = threading.Event().wait
    for _ in range(int(WAIT_S / 0.005)):
        if condition():
            return
        wait(0.005)
    raise AssertionError("it never came true")
