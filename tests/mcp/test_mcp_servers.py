"""The configured servers of a run: started side by side, named when they fail, started again."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from typing import Any, Dict, List, Mapping, Optional

import pytest

from jpq.config.load import Config
from jpq.config.sources import Source, file_source
from jpq.errors import ConfigError
from jpq.interrupt.cancel import CancelToken
from jpq.mcp import stdio
from jpq.mcp.failure import McpClosed
from jpq.mcp.servers import RunningServer, Servers
from jpq.mcp.settings import ServerSettings, Surroundings, configured_servers
from jpq.tools.definition import COMPLETED, STOPPED, Invocation, Question, QuestionFailed
from jpq.tools.mcp import McpTool, mcp_tools
from jpq.tools.mcp_host import CallHost, Sampler
from jpq.tools.mcp_servers import make_servers, wanted_servers
from tests.mcp.http_server import McpServer
from tests.mcp.stdio_server import PICTURE
from tests.mcp.test_mcp_stdio import SERVER, Lines
from tests.support.server import refusing

WAIT_S = 30.0


def config_of(text: str) -> Config:
    return Config([file_source("config.toml", text, [])])


def settings(name: str, *faults: str, **more: Any) -> ServerSettings:
    return ServerSettings(name, command=(sys.executable, SERVER, *faults), **more)


def made(*all_settings: ServerSettings, notice: Any = None) -> Servers:
    around = Surroundings(os.environ, os.getcwd(), None)
    return make_servers(
        all_settings, around, elicits=True, samples=True, notice=notice or (lambda line: None)
    )


class Asked:
    """A person who gives these answers, one after the other."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.questions: List[Question] = []

    def __call__(self, question: Question) -> str:
        self.questions.append(question)
        if not self._answers:
            raise QuestionFailed("nobody is there")
        return self._answers.pop(0)


def call(
    tool: McpTool, arguments: Mapping[str, Any] = {}, ask: Any = None, cancel: Any = None
) -> Any:
    invocation = Invocation("c", arguments, {}, os.getcwd(), None, ask or Asked())
    return tool.run(invocation, cancel or CancelToken(), lambda text: None)


def tools_of(
    servers: Servers, config: Optional[Config] = None, sampler: Optional[Sampler] = None
) -> Dict[str, Any]:
    return dict(mcp_tools(servers.ready(), config or config_of(""), os.getcwd(), sampler))


def test_servers_start_side_by_side(tmp_path: Any) -> None:
    env = {"MEETING_FOLDER": str(tmp_path)}
    servers = made(*(settings(name, "modern", "meets", env=env) for name in "ab"))
    try:
        servers.start()
        assert [server.name for server in servers.ready()] == ["a", "b"]
    finally:
        servers.close()


def test_the_bad_ones_are_named_and_the_others_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "_LAST_WORDS_S", WAIT_S)
    listens = socket.create_server(("127.0.0.1", 0))
    with listens as deaf, refusing() as closed, McpServer() as http:
        nobody = f"http://127.0.0.1:{deaf.getsockname()[1]}/mcp"
        refused = f"http://127.0.0.1:{closed}/mcp"
        servers = made(
            settings("good", "modern"),
            ServerSettings("web", url=http.url),
            settings("dead", "exit_at_once"),
            settings("slow", "silent", startup_timeout_s=1.5),
            ServerSettings("gone", command=("/nowhere",)),
            ServerSettings("deaf", url=nobody, startup_timeout_s=1.5),
            ServerSettings("refused", url=refused),
        )
        try:
            servers.start()
            assert [server.name for server in servers.ready()] == ["good", "web"]
            problems = {problem.name: problem.error.message for problem in servers.problems()}
            assert set(tools_of(servers)) >= {"good/echo", "web/echo"}
        finally:
            servers.close()
    assert "cannot find my files" in problems["dead"]
    for name in ("slow", "deaf"):
        assert "1.5 seconds" in problems[name] or "No answer" in problems[name]
    assert "There is no program" in problems["gone"]
    assert "connection was refused" in problems["refused"]


def test_what_is_no_text_is_told_over_either_transport() -> None:
    with McpServer() as http:
        servers = made(settings("x", "modern"), ServerSettings("web", url=http.url))
        try:
            servers.start()
            tools = tools_of(servers)
            local, remote = call(tools["x/picture"]), call(tools["web/picture"])
        finally:
            servers.close()
    assert local == remote
    told = "[audio: audio/wav, 3 bytes, not shown here]"
    assert local.content == f"Look:\n\n[image-1.png: image/png, 16 bytes]\n\n{told}"
    assert [each.content for each in local.attachments] == [PICTURE]


def test_a_server_may_be_closed_while_it_starts() -> None:
    servers = made(settings("slow", "silent"))
    servers.start()
    servers.close()
    assert all(server.error is not None for server in servers.all)


def test_a_server_that_died_is_started_again_but_not_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stdio, "_LAST_WORDS_S", WAIT_S)
    servers = made(settings("x", "legacy"))
    try:
        servers.start()
        tools = tools_of(servers)
        for _ in range(3):
            output = call(tools["x/die"])
            assert output.is_error and "ended with status 7" in output.content
            assert "not known" in output.content
        assert "not started again" in call(tools["x/echo"]).content
    finally:
        servers.close()


def test_a_tool_is_offered_under_its_servers_name_and_called() -> None:
    config = config_of('[tools."x/echo"]\nrun = "unattended"\ntimeout_s = 5\n')
    servers = made(settings("x", "modern", tools=("e*", "fail", "environ")))
    try:
        servers.start()
        tools = tools_of(servers, config)
        assert set(tools) == {"x/echo", "x/fail", "x/environ"}
        assert (tools["x/echo"].spec.run, tools["x/fail"].spec.run) == ("unattended", "ask")
        assert tools["x/echo"].spec.timeout_s == 5
        output = call(tools["x/echo"], {"text": "hi"})
        assert (output.content, output.is_error, output.ended) == ("hi", False, COMPLETED)
        assert call(tools["x/fail"]).is_error
        assert "MCP server x" in tools["x/echo"].preview({})
    finally:
        servers.close()


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_cancelled_call_says_how_far_it_got(era: str) -> None:
    servers = made(settings("x", era))
    try:
        servers.start()
        tool = tools_of(servers)["x/slow"]
        cancel, came = CancelToken(), threading.Event()
        outputs: List[Any] = []

        def run() -> None:
            invocation = Invocation("c", {}, {}, os.getcwd(), None, Asked())
            outputs.append(tool.run(invocation, cancel, lambda text: came.set()))

        thread = threading.Thread(target=run)
        thread.start()
        assert came.wait(WAIT_S)
        cancel.cancel()
        thread.join(WAIT_S)
        assert not thread.is_alive()
        assert json.loads(call(tools_of(servers)["x/cancelled"]).content)
    finally:
        servers.close()
    (output,) = outputs
    assert output.ended == STOPPED and output.content.startswith("1/100 at it")


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_server_is_told_the_working_directory_and_may_be_pinged(era: str, tmp_path: Any) -> None:
    around = Surroundings(os.environ, str(tmp_path), None)
    servers = make_servers(
        [settings("x", era)], around, elicits=False, samples=False, notice=lambda line: None
    )
    try:
        servers.start()
        (server,) = servers.ready()
        server.client().ping()
        tool = mcp_tools([server], config_of(""), str(tmp_path))["x/roots"]
        (root,) = json.loads(call(tool).content)["roots"]
    finally:
        servers.close()
    assert root == {"uri": tmp_path.as_uri(), "name": tmp_path.name}


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_the_person_is_asked_what_the_server_asks(era: str) -> None:
    servers = made(settings("x", era))
    person = Asked("yes", "Ada", "yes")
    try:
        servers.start()
        output = call(tools_of(servers)["x/ask"], ask=person)
        refused = call(tools_of(servers)["x/ask"], ask=Asked("no"))
        nobody = call(tools_of(servers)["x/ask"], ask=Asked())
    finally:
        servers.close()
    assert json.loads(output.content) == {"action": "accept", "content": {"name": "Ada"}}
    assert json.loads(refused.content) == {"action": "decline"}
    assert json.loads(nobody.content) == {"action": "cancel"}
    assert "MCP server x asks: Who?" in person.questions[0].text


def test_a_model_is_asked_only_if_the_person_allows_it() -> None:
    def sampler(params: Mapping[str, Any], cancel: CancelToken) -> Dict[str, Any]:
        return {"role": "assistant", "model": "m", "content": {"type": "text", "text": "yo"}}

    servers = made(settings("x", "legacy"))
    try:
        servers.start()
        tool = tools_of(servers, sampler=sampler)["x/sample"]
        assert json.loads(call(tool, ask=Asked("yes")).content)["content"]["text"] == "yo"
        assert "declined" in call(tool, ask=Asked("no")).content
    finally:
        servers.close()


def test_a_page_is_opened_with_consent_only(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: List[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    page = {"mode": "url", "url": "https://example.org/key", "message": "A key, please"}
    person = Asked("no", "yes")
    host = CallHost("the server", person, None, "/", CancelToken())
    assert host.elicit(page) == {"action": "decline"} and opened == []
    assert host.elicit(page) == {"action": "accept"} and opened == ["https://example.org/key"]
    assert "example.org" in person.questions[0].text


def test_an_answer_that_does_not_fit_is_asked_for_again() -> None:
    schema = {"properties": {"age": {"type": "integer", "minimum": 18}}, "required": ["age"]}
    person = Asked("yes", "ten", "10", "20", "yes")
    host = CallHost("s", person, None, "/", CancelToken())
    answer = host.elicit({"message": "?", "requestedSchema": schema})
    assert answer == {"action": "accept", "content": {"age": 20}}
    assert "at least 18" in person.questions[3].text


def test_a_result_that_breaks_its_schema_is_an_error() -> None:
    described = {"name": "t", "outputSchema": {"type": "object", "required": ["a"]}}
    results = iter(
        [
            {"content": [], "structuredContent": {"a": 1}},
            {"content": [], "structuredContent": {}},
            {"content": []},
        ]
    )

    class Server(RunningServer):
        def call_tool(self, name: str, arguments: Any, call: Any) -> Any:
            return next(results)

    server = Server(ServerSettings("x"), lambda: None, print)  # type: ignore[arg-type, return-value]
    server.tools = [described]
    tool: Any = mcp_tools([server], config_of(""), "/")["x/t"]
    assert [call(tool).is_error for _ in range(3)] == [False, True, True]


def test_settings_are_read_and_checked() -> None:
    text = """
        [mcp.a]
        command = ["a"]
        [mcp.b]
        url = "http://b/mcp"
        headers = { X = "y" }
        enabled = true
        [mcp.c]
        command = ["c"]
        enabled = false
    """
    assert [server.name for server in configured_servers(config_of(text))] == ["a", "b"]
    with pytest.raises(ConfigError, match="either a command or a url"):
        configured_servers(config_of('[mcp.a]\ncommand = ["a"]\nurl = "http://a"\n'))


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (None, ["files", "web"]),
        ([], []),
        (["files/*"], ["files"]),
        (["*"], ["files", "web"]),
        (["*read*"], ["files", "web"]),
        (["greet"], []),
        (["w*/x"], ["web"]),
    ],
)
def test_only_servers_that_may_be_wanted_are_started(wanted: Any, names: List[str]) -> None:
    config = Config(
        [
            file_source(
                "config.toml", '[mcp.files]\ncommand = ["a"]\n[mcp.web]\nurl = "http://b"', []
            ),
            Source("options", {} if wanted is None else {"active_tools": tuple(wanted)}),
        ]
    )
    assert [server.name for server in wanted_servers(config)] == names


def test_stray_output_is_told_the_person() -> None:
    told = Lines()
    servers = made(settings("x", "legacy", "stray"), notice=told)
    try:
        servers.start()
        assert servers.ready()
    finally:
        servers.close()
    assert len(told.lines) == 1


def test_a_closed_server_is_not_started_again() -> None:
    servers = made(settings("x", "modern"))
    servers.start()
    (server,) = servers.ready()
    servers.close()
    with pytest.raises(McpClosed):
        server.client()


class _Changing:
    """A client whose second list takes until ``go``."""

    closed = False

    def __init__(self) -> None:
        self.on_tools_changed: Any = None
        self.lists = 0
        self.begun, self.go = threading.Event(), threading.Event()

    def connect(self, timeout_s: float) -> None:
        """Nothing has to be greeted."""

    def tools(self) -> List[Dict[str, str]]:
        self.lists += 1
        number = self.lists
        if number == 2:
            self.begun.set()
            assert self.go.wait(WAIT_S)
        return [{"name": f"tool-{number}"}]

    def close(self) -> None:
        """Nothing is held."""


def test_one_thread_lists_tools_that_change_all_the_time() -> None:
    client: Any = _Changing()
    server = RunningServer(settings("busy"), lambda: client, log=lambda line: None)
    server.start()
    server.wait()
    client.on_tools_changed()
    assert client.begun.wait(WAIT_S)
    for _ in range(20):
        client.on_tools_changed()
    assert [each.name for each in threading.enumerate()].count("jpq-mcp-list") == 1
    client.go.set()
    assert server.tools_now(WAIT_S) == [{"name": "tool-3"}] and client.lists == 3
    server.close()


def test_a_list_that_breaks_leaves_the_tools_and_is_told() -> None:
    client: Any = _Changing()
    client.go.set()
    told: List[str] = []
    server = RunningServer(settings("odd"), lambda: client, log=told.append)
    server.start()
    server.wait()
    client.tools = lambda: [{}]
    client.on_tools_changed()
    assert server.tools_now(WAIT_S) == [{"name": "tool-1"}]
    server.close()
    assert told == ["odd: its tools have changed, and are not told: KeyError('name')"]
