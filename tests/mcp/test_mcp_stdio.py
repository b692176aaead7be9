"""Servers that are child processes, of both eras, well-behaved and not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Dict, List, Optional

import pytest

from jpq.interrupt.cancel import CancelToken
from jpq.mcp import era, message_size, stdio
from jpq.mcp.client import Call, Client
from jpq.mcp.failure import McpCancelled, McpClosed, McpError, McpTimedOut, McpUnreachable
from jpq.mcp.host import Host
from jpq.mcp.link import Link
from jpq.mcp.process import Grace, server_environ
from jpq.mcp.protocol import Json

SERVER = os.path.join(os.path.dirname(__file__), "stdio_server.py")
QUICK = Grace(close_s=0.3, term_s=0.3, kill_s=2.0)
WAIT_S = 30.0
BOTH_ERAS = pytest.mark.parametrize("era_name", ["modern", "legacy"])


class Answering(Host):
    """Remembers what it was asked."""

    elicits = True
    samples = True

    def __init__(self) -> None:
        super().__init__(["/tmp"])
        self.asked: List[Json] = []

    def elicit(self, params: Json) -> Json:
        self.asked.append(params)
        return {"action": "accept", "content": {"name": "Ada"}}

    def sample(self, params: Json) -> Json:
        self.asked.append(params)
        return {"role": "assistant", "model": "m", "content": {"type": "text", "text": "hi"}}


class Lines:
    """Lines that are told on any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.lines: List[str] = []

    def __call__(self, line: str) -> None:
        with self._changed:
            self.lines.append(line)
            self._changed.notify_all()

    def wait_for(self, part: str) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: any(part in x for x in self.lines), WAIT_S)


def transport(*faults: str, **more: Any) -> stdio.StdioTransport:
    environ = server_environ(os.environ, more.pop("env", {}))
    return stdio.StdioTransport(
        [sys.executable, SERVER, *faults], environ=environ, where="test", grace=QUICK, **more
    )


def client(*faults: str, host: Optional[Host] = None, **more: Any) -> Client:
    return Client(transport(*faults, **more), host, log=more.get("log", lambda line: None))


def text(result: Json) -> str:
    return str(result["content"][0]["text"])


def gone(pid: int) -> bool:
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                if file.read().rpartition(b")")[2].split()[0] == b"Z":
                    return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


@BOTH_ERAS
def test_both_eras_are_spoken(era_name: str) -> None:
    with client(era_name) as server:
        assert server.server.modern is (era_name == "modern")
        names = [tool["name"] for tool in server.tools()]
        assert names[0] == "echo" and names[-1] == "hang"  # both pages
        assert text(server.call_tool("echo", {"text": "grüße"})) == "grüße"
        assert server.call_tool("fail")["isError"] is True
        assert server.read_resource("x://y")[0]["text"] == "the resource"
        assert server.get_prompt("p", {"a": "b"})["messages"]
        assert server.complete({"type": "ref/prompt", "name": "p"}, "city", "pa")[0] == "paris"


@BOTH_ERAS
def test_a_list_is_asked_for_once_and_again_when_it_has_changed(era_name: str) -> None:
    with client(era_name) as server:
        before = server.tools()
        assert server.tools() is before
        server.call_tool("change")
        assert [tool["name"] for tool in server.tools()][-1] == "fresh"


@BOTH_ERAS
def test_a_server_asks_the_person_and_a_model(era_name: str) -> None:
    host = Answering()
    with client(era_name, host=host) as server:
        assert json.loads(text(server.call_tool("ask")))["content"] == {"name": "Ada"}
        assert json.loads(text(server.call_tool("sample")))["content"]["text"] == "hi"
    assert len(host.asked) == 2


@BOTH_ERAS
def test_the_call_that_runs_brings_its_own_host(era_name: str) -> None:
    general, own = Answering(), Answering()
    with client(era_name, host=general) as server:
        server.call_tool("ask", {}, Call(host=own))
    assert (len(general.asked), len(own.asked)) == (0, 1)


@BOTH_ERAS
def test_a_cancelled_call_is_taken_back_at_once(era_name: str) -> None:
    with client(era_name) as server:
        cancel, seen = CancelToken(), []

        def on_progress(params: Json) -> None:
            seen.append(params["progress"])
            if len(seen) == 2:
                cancel.cancel()

        with pytest.raises(McpCancelled):
            server.call_tool("slow", {}, Call(cancel=cancel, on_progress=on_progress))
        assert len(json.loads(text(server.call_tool("cancelled")))) == 1


def test_a_call_that_takes_too_long_is_taken_back() -> None:
    with client("modern") as server:
        with pytest.raises(McpTimedOut, match="within 0.2 seconds"):
            server.call_tool("slow", {}, Call(timeout_s=0.2))
        assert len(json.loads(text(server.call_tool("cancelled")))) == 1


def test_calls_run_side_by_side() -> None:
    with client("legacy") as server:
        results: Dict[int, str] = {}

        def one(number: int) -> None:
            results[number] = text(server.call_tool("echo", {"text": str(number)}))

        threads = [threading.Thread(target=one, args=(n,)) for n in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == {n: str(n) for n in range(20)}


def test_a_server_that_ignores_what_it_does_not_know_is_an_old_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(era, "PROBE_S", 0.2)
    with client("legacy", "silent_discover") as server:
        assert not server.server.modern
        assert text(server.call_tool("echo", {"text": "x"})) == "x"


def test_an_old_server_that_ends_at_the_first_question_is_started_again() -> None:
    log = Lines()
    with client("legacy", "exits_at_discover", log=log) as server:
        assert not server.server.modern
        assert text(server.call_tool("echo", {"text": "x"})) == "x"
    assert sum("expected initialize" in line for line in log.lines) == 1


@pytest.mark.parametrize("fault", ["text_ids", "fraction_ids", "marked"])
@BOTH_ERAS
def test_answers_with_ids_or_a_beginning_that_are_not_ours(era_name: str, fault: str) -> None:
    with client(era_name, fault) as server:
        assert text(server.call_tool("echo", {"text": "x"})) == "x"


def test_stray_lines_are_passed_over_and_told_once() -> None:
    told, log = Lines(), Lines()
    with client("legacy", "stray", "bad_utf8", notice=told, log=log) as server:
        assert text(server.call_tool("echo", {"text": "x"})) == "x"
    assert len(told.lines) == 1 and "Welcome" in told.lines[0]
    assert sum("not a message" in line for line in log.lines) == 4


def test_messages_in_pieces_are_put_together() -> None:
    with client("legacy", "pieces") as server:
        assert text(server.call_tool("echo", {"text": "ä" * 100})) == "ä" * 100


def test_a_large_message_arrives() -> None:
    large = "x" * 8_000_000
    with client("modern") as server:
        assert text(server.call_tool("echo", {"text": large})) == large


def test_a_line_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_size, "MAX_MESSAGE_BYTES", 1024 * 1024)
    with pytest.raises(McpClosed, match="over 1 MiB"), client("endless_line"):
        pass


def test_stderr_is_drained_and_logged() -> None:
    log = Lines()
    with client("legacy", "stderr_flood", log=log) as server:
        assert text(server.call_tool("echo", {"text": "x"})) == "x"
        log.wait_for("stderr: yyy")


def test_what_a_server_logs_is_logged() -> None:
    log = Lines()
    with client("legacy", "log", log=log):
        log.wait_for("info: hello")


def test_a_server_that_dies_says_its_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "_LAST_WORDS_S", WAIT_S)
    with client("legacy") as server:
        with pytest.raises(McpClosed, match="ended with status 7.*about to die"):
            server.call_tool("die")
        assert server.closed
        with pytest.raises(McpClosed):
            server.call_tool("echo")


def test_a_server_that_ends_at_once_is_told_with_its_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stdio, "_LAST_WORDS_S", WAIT_S)
    with pytest.raises(McpClosed, match="status 3.*cannot find my files"), client("exit_at_once"):
        pass


def test_a_server_that_never_answers_costs_its_time_and_no_more() -> None:
    server = client("silent")
    with pytest.raises(McpTimedOut):
        server.connect(timeout_s=0.4)


def test_a_program_that_is_not_there() -> None:
    server = Client(stdio.StdioTransport(["/nowhere/at-all"], where="test"))
    with pytest.raises(McpUnreachable, match="There is no program '/nowhere/at-all'"):
        server.connect()


def test_lists_without_end_end() -> None:
    with client("legacy", "endless_pages") as server:
        assert server.tools()  # the same cursor again is the end


def test_a_blank_cursor_is_the_end() -> None:
    with client("legacy", "blank_cursor") as server:
        names = [tool["name"] for tool in server.tools()]
        assert len(names) == len(set(names)) > 5


@pytest.mark.parametrize("faults", [("ignores_eof",), ("ignores_eof", "ignores_term")])
def test_a_server_that_does_not_want_to_end_is_ended(faults: List[str]) -> None:
    started = transport("legacy", *faults)
    with Client(started):
        pid = started.pid
    assert pid is not None and gone(pid)


def test_what_a_server_has_started_is_ended_with_it(tmp_path: Any) -> None:
    file = str(tmp_path / "pid")
    server = client("legacy", "child", env={"CHILD_PID_FILE": file})
    server.connect()
    server.close()
    with open(file) as written:
        assert gone(int(written.read()))


def test_nothing_is_left_when_we_are_killed(tmp_path: Any) -> None:
    file = str(tmp_path / "pid")
    code = (
        "import sys, time; sys.path[:0] = [sys.argv[1], sys.argv[2]]\n"
        "from tests.mcp.test_mcp_stdio import Client, transport\n"
        "started = transport('legacy', 'child', 'ignores_eof', 'ignores_term',"
        " env={'CHILD_PID_FILE': sys.argv[3]})\n"
        "Client(started).connect(); print(started.pid, flush=True); time.sleep(60)\n"
    )
    root = os.getcwd()
    with subprocess.Popen(
        [sys.executable, "-c", code, root, root, file], stdout=subprocess.PIPE
    ) as run:
        assert run.stdout is not None
        pid = int(run.stdout.readline())
        run.send_signal(signal.SIGKILL)
        run.wait()
    assert gone(pid)
    with open(file) as written:
        assert gone(int(written.read()))


def test_a_server_that_does_not_read_blocks_nobody() -> None:
    deaf = transport("silent")
    link = Link(deaf, Host(), lambda method, params: None, lambda line: None)
    deaf.start(link)
    pending = link.begin("tools/call", {"arguments": {"x": "y" * 1_000_000}})
    with pytest.raises(McpTimedOut):
        link.wait(pending, 0.1)
    deaf.close()


def test_a_server_may_be_closed_while_it_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    started = transport("silent")
    link = Link(started, Host(), lambda method, params: None, lambda line: None)
    started.start(link)
    end = stdio.StdioTransport._end

    def beaten(transport: Any, *process: Any) -> None:
        monkeypatch.setattr(stdio.StdioTransport, "_end", end)
        with pytest.raises(McpClosed, match="was closed"):
            transport.start_again(link)
        end(transport, *process)

    monkeypatch.setattr(stdio.StdioTransport, "_end", beaten)
    started.close()  # and no thread of it is left, which is looked for after each test


def test_servers_see_no_keys_unless_they_are_passed() -> None:
    ours = {"PATH": "/bin", "OPENAI_API_KEY": "k", "GITHUB_TOKEN": "t", "LC_ALL": "C"}
    assert server_environ(ours, {"A": "b"}) == {"PATH": "/bin", "LC_ALL": "C", "A": "b"}
    assert server_environ(ours, {}, ["GITHUB_TOKEN"])["GITHUB_TOKEN"] == "t"


def test_an_error_of_the_server_is_told_with_its_code() -> None:
    with client("modern") as server, pytest.raises(McpError) as caught:
        server.request("nothing/like-it", {})
    assert caught.value.code == -32601
