"""``jpq mcp`` and a query with servers, from outside."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Dict, List

import pytest

from jpq.interrupt.menus import Place
from tests.mcp.http_server import McpServer
from tests.mcp.stdio_server import PICTURE
from tests.mcp.test_mcp_stdio import SERVER, gone
from tests.support import ptys
from tests.support.pressing import MARK, PRESS
from tests.support.programs import conversations, entries, jpq, model_at, script
from tests.support.server import DONE, Server, answer, error, reply

QUESTION = b"[x] result mode [?] "
CALL = 'tool_calls = [{ name = "x/%s", arguments = { text = "from the server" } }]'


def configure(text: str = "", *faults: str) -> None:
    home = os.environ["JPQ_HOME"]
    os.makedirs(home, exist_ok=True)
    command = json.dumps([sys.executable, SERVER, *(faults or ("modern",))])
    with open(os.path.join(home, "config.toml"), "w", encoding="utf-8") as file:
        file.write(f"[mcp.x]\ncommand = {command}\n{text}\n")


def model(tmp_path: Any, tool: str) -> List[str]:
    return ["-m", "scripted/" + script(tmp_path, CALL % tool, 'text = "Done."')]


def test_ls_shows_what_servers_offer_and_why_some_do_not() -> None:
    configure('[mcp.dead]\ncommand = ["/bin/false"]')
    ran = jpq("mcp", "ls")
    assert ran.code == 0
    assert "x/echo" in ran.text and "ended with status 1" in ran.text
    rows: List[Dict[str, Any]] = json.loads(jpq("mcp", "ls", "--format", "json").text)
    assert [row["status"] for row in rows] == ["ready", "not usable"]
    assert rows[0]["error"] is None and "ended with status 1" in rows[1]["error"]


def test_check_tells_what_a_server_says() -> None:
    configure()
    ran = jpq("mcp", "check", "x")
    assert ran.code == 0 and "test 1, MCP 2026-07-28" in ran.text
    lines = ran.text.splitlines()
    assert "x/echo" in lines
    assert "--template mcp:x/p -p city= -p lang=  What to see" in lines
    assert lines[-2:] == ["-a mcp://x/a:b  The b", "-a mcp://x/a:{city}"]
    row = json.loads(jpq("mcp", "check", "x", "--format", "json").text)
    assert [prompt["name"] for prompt in row["prompts"]] == ["p", "talk"]
    assert (len(row["resources"]), len(row["resource_templates"])) == (1, 1)
    jpq("mcp", "check", "y").failed_with(2, "There is no MCP server 'y'", "There are: x.")


def test_check_of_a_server_that_ends_at_once() -> None:
    configure("", "exit_at_once")
    jpq("mcp", "check", "x").failed_with(69, "cannot find my files", "MCP server x")


def test_call_read_and_prompt() -> None:
    configure()
    ran = jpq("mcp", "call", "-y", "x/echo", '{"text": "hi"}')
    assert (ran.code, ran.text) == (0, "hi\n")
    assert jpq("mcp", "call", "-y", "x/fail").code == 1
    jpq("mcp", "call", "x/nothing").failed_with(2, "There is no tool 'x/nothing'")
    assert jpq("mcp", "read", "mcp://x/a:b").text == "the resource"
    assert json.loads(jpq("mcp", "prompt", "x/p", "-p", "city=Oslo").text) == {"city": "Oslo"}
    told = jpq("mcp", "prompt", "x/talk", "-p", "city=Oslo").text
    assert told.split("\n\n")[1:] == [
        '[assistant]\n{"city": "Oslo"}',
        "[image-1.png: image/png, 16 bytes]\n",
    ]


def test_complete_prints_what_an_argument_may_be() -> None:
    configure()
    assert jpq("mcp", "complete", "x/p", "city").text == "paris\nparma\np\n"
    assert jpq("mcp", "complete", "x/p", "city", "par").text == "paris\nparma\n"
    assert jpq("mcp", "complete", "mcp://x/a:{city}", "city", "a").text == "a:{city}\n"
    jpq("mcp", "complete", "x", "city").failed_with(2, "'x' is not NAME/PROMPT")


def test_a_server_sees_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("WANTED", "yes")
    configure('pass_env = ["WANTED"]')
    seen = json.loads(jpq("mcp", "call", "-y", "x/environ").text)
    assert "OPENAI_API_KEY" not in seen and seen["WANTED"] == "yes"


def test_import_takes_over_and_keeps_what_is_there(tmp_path: Any) -> None:
    configure('[mcp.files]\ncommand = ["mine"]\n# a comment')
    file = tmp_path / "other.json"
    file.write_text('{"mcpServers": {"files": {"command": "a"}, "web": {"url": "http://b"}}}')
    ran = jpq("mcp", "import", str(file))
    assert ran.code == 0 and "files: configured already" in " ".join(ran.told)
    with open(os.path.join(os.environ["JPQ_HOME"], "config.toml"), encoding="utf-8") as written:
        text = written.read()
    assert "# a comment" in text and 'url = "http://b"' in text and '["mine"]' in text


def test_login_and_logout_without_a_person() -> None:
    with McpServer(faults={"auth"}) as server:
        configure(f'[mcp.web]\nurl = "{server.url}"')
        jpq("mcp", "check", "web").failed_with(77, "requires a login", "jpq mcp login")
    assert "There is no login" in jpq("mcp", "logout", "web").told[0]
    jpq("mcp", "login", "x").failed_with(2, "no url")


def test_a_query_calls_a_servers_tool(tmp_path: Any) -> None:
    configure()
    ran = jpq(*model(tmp_path, "echo"), "-y", "hello")
    assert (ran.code, ran.text) == (0, "Done.\n")
    assert "from the server" in " ".join(ran.told)


def test_a_provider_is_told_names_that_it_takes() -> None:
    configure()
    with Server(answer("Hi.")) as server:
        assert jpq(*model_at(server), "-y", "hello").code == 0
        names = [tool["function"]["name"] for tool in server.seen[0].json["tools"]]
    assert names[:2] == ["x_echo", "x_slow"]


def test_a_model_is_given_the_picture_of_a_result() -> None:
    configure('run = "unattended"')
    wanted = {"index": 0, "id": "c1", "function": {"name": "x_picture", "arguments": "{}"}}
    choice = {"index": 0, "delta": {"tool_calls": [wanted]}, "finish_reason": "tool_calls"}
    calls = reply({"choices": [choice]}, DONE)
    with Server(calls, answer("A dot."), answer("Again.")) as server:
        assert jpq(*model_at(server), "what is it?").code == 0
        assert jpq(*model_at(server), "-c", "sure?").code == 0
        later = [request.json["messages"] for request in server.seen[1:]]
    for messages in later:
        result, seen = messages[2:4]
        assert (
            result["role"] == "tool" and "[image-1.png: image/png, 16 bytes]" in result["content"]
        )
        assert "[audio: audio/wav, 3 bytes, not shown here]" in result["content"]
        named, picture = seen["content"]
        assert seen["role"] == "user" and named["text"] == "image-1.png, from x_picture:"
        assert picture["image_url"]["url"] == f"data:image/png;base64,{PICTURE}"
    stored = [e for e in entries(conversations()[0]) if e["type"] == "tool_call_response"]
    assert stored[0]["metadata"]["attachments"][0]["content"] == PICTURE


def test_a_model_that_does_not_see_is_told_in_words() -> None:
    configure('run = "unattended"')
    wanted = {"index": 0, "id": "c1", "function": {"name": "x_picture", "arguments": "{}"}}
    choice = {"index": 0, "delta": {"tool_calls": [wanted]}, "finish_reason": "tool_calls"}
    blind = error("400 Bad Request", b'{"error": {"message": "this model reads text only"}}')
    calls, dot = reply({"choices": [choice]}, DONE), answer("A dot.")
    with Server(calls, blind, dot, blind, answer("Yes.")) as server:
        ran = jpq(*model_at(server), "what is it?")
        assert (ran.code, ran.text) == (0, "A dot.\n")
        assert jpq(*model_at(server), "-c", "-T", "sure?").text == "Yes.\n"
        results = [server.seen[number].json["messages"][2] for number in (2, 4)]
    for result in results:
        assert result["role"] == "tool"
        assert "(image-1.png was attached here; this model cannot be sent it.)" in result["content"]


def test_a_tool_that_a_server_adds_is_offered_in_the_same_turn() -> None:
    configure('run = "unattended"', "modern", "waits_for_list")
    wanted = {"index": 0, "id": "c1", "function": {"name": "x_change", "arguments": "{}"}}
    choice = {"index": 0, "delta": {"tool_calls": [wanted]}, "finish_reason": "tool_calls"}
    fresh = {"index": 0, "id": "c2", "function": {"name": "x_fresh", "arguments": "{}"}}
    second = {"index": 0, "delta": {"tool_calls": [fresh]}, "finish_reason": "tool_calls"}
    calls = [reply({"choices": [each]}, DONE) for each in (choice, second)]
    with Server(*calls, answer("Done.")) as server:
        assert jpq(*model_at(server), "change").code == 0
        offered = [
            {tool["function"]["name"] for tool in request.json["tools"]} for request in server.seen
        ]
        result = server.seen[2].json["messages"][-1]
    assert offered[1] - offered[0] == {"x_fresh"} and offered[0] - offered[1] == {"x_slow"}
    assert (result["role"], result["content"]) == ("tool", "fresh from the server")


def test_a_query_goes_on_without_a_server_that_is_not_there(tmp_path: Any) -> None:
    configure('[mcp.gone]\ncommand = ["/nowhere"]')
    ran = jpq(*model(tmp_path, "echo"), "-y", "hello")
    assert ran.code == 0
    assert "The MCP server gone is not used: There is no program '/nowhere'." in ran.told[0]


def test_a_query_without_tools_starts_no_server(tmp_path: Any) -> None:
    configure("", "exit_at_once")
    plain = script(tmp_path, 'text = "Hi."')
    ran = jpq("-m", "scripted/" + plain, "-T", "hello")
    assert (ran.code, ran.told) == (0, [])


def test_a_query_may_attach_a_resource(tmp_path: Any) -> None:
    configure()
    plain = script(tmp_path, 'match = "the resource"\ntext = "Seen."')
    ran = jpq("-m", "scripted/" + plain, "-T", "-a", "mcp://x/a:b", "what is it?")
    assert (ran.code, ran.text) == (0, "Seen.\n")


def test_an_interrupted_call_says_how_far_it_got_and_the_server_is_told(tmp_path: Any) -> None:
    file = str(tmp_path / "cancelled")
    configure(f'run = "unattended"\nenv = {{ CANCELLED_FILE = "{file}" }}')
    argv = ptys.jpq(*model(tmp_path, "slow"), "hello")
    environ = ptys.environment(os.environ["JPQ_HOME"])
    with ptys.Child(argv, environ, str(tmp_path), terminal=True) as child:
        child.wait_for(b"at it")
        child.type(PRESS)
        child.wait_for(MARK[Place.TOOLS])  # the menus' own tests hold them to 100 ms
        child.type(b"s")
        child.end()
    (answer,) = [e for e in entries(conversations()[0]) if e["type"] == "tool_call_response"]
    assert "Its output so far:\n1/100 at it" in answer["content"] and answer["is_error"]
    assert os.path.getsize(file) > 0


def test_the_prompt_shows_what_a_server_says_of_its_tool(tmp_path: Any) -> None:
    configure()
    argv = ptys.jpq(*model(tmp_path, "echo"), "hello")
    environ = ptys.environment(os.environ["JPQ_HOME"])
    with ptys.Child(argv, environ, str(tmp_path), terminal=True) as child:
        child.wait_for(b"which says that it only reads, reaches other systems")
        child.wait_for(b'  text = "')
        child.wait_for(QUESTION)
        child.type(b"y")
        child.wait_for(b"Done.")
        child.end()


def test_nothing_is_left_of_a_killed_query(tmp_path: Any) -> None:
    file = str(tmp_path / "pid")
    configure(f'run = "unattended"\nenv = {{ CHILD_PID_FILE = "{file}" }}', "modern", "child")
    home = os.environ["JPQ_HOME"]
    argv = ptys.jpq(*model(tmp_path, "slow"), "hello")
    with ptys.Child(argv, ptys.environment(home), str(tmp_path), terminal=False) as child:
        child.wait_for(b"x/slow", on_errors=True)
        child.process.kill()
        child.process.wait()
        with open(file) as written:
            assert gone(int(written.read()))
