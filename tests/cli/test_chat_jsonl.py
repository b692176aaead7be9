"""``jpq chat --format jsonl`` driven by another program: this one."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from typing import Any, Dict, List, Optional

import pytest

from tests.support.events import checked
from tests.support.pressing import wait_until
from tests.support.programs import (
    JPQ,
    ROOT,
    WAIT_S,
    conversations,
    entries,
    environment,
    jpq,
    model_at,
    script,
    shell,
)
from tests.support.server import FINISH, Pause, Server, answer, delta, error, reply

CALL = 'match = "go"\ntool_calls = [{ name = "shout", arguments = { word = "hey" } }]'
DONE = 'match = "go"\ntext = "Done."'
SHOUT = (
    'tools.shout={ command = ["echo", "{word}"], run = "ask", display = { name = "Shouting", '
    'title = "Shout {word}" }, parameters = { word = { type = "string" } } }'
)


class Driven:
    """A running chat. Lines go in with ``say``; ``until`` reads lines up to one of a type."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [*JPQ, "chat", "--format", "jsonl", *arguments],
            env=environment(),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self._in, self._out = self.process.stdin, self.process.stdout
        self._guard = threading.Timer(WAIT_S * 2, self.process.kill)  # a hang must not be one
        self.seen: List[Dict[str, Any]] = []

    def __enter__(self) -> Driven:
        self._guard.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._guard.cancel()
        self._guard.join()
        with self.process:
            self.process.kill()

    def say(self, type: Optional[str] = None, **fields: Any) -> None:
        line = json.dumps({"type": type, **fields}) if type else fields["line"]
        self._in.write(line.encode() + b"\n")
        self._in.flush()

    def until(self, type: str, **fields: Any) -> Dict[str, Any]:
        """The next line of ``type`` with these ``fields``."""
        while True:
            data = self._out.readline()
            assert data, (self.process.wait(WAIT_S), self.process.stderr.read())  # type: ignore[union-attr]
            line = checked(data)
            self.seen.append(line)
            assert line["type"] != "result" or type in ("result", "error"), line
            if line["type"] == type and all(line.get(k) == v for k, v in fields.items()):
                return line

    def leave(self) -> int:
        """End stdin, and read what is left: the exit code. Nothing was said on stderr."""
        self._in.close()
        self.seen += [checked(line) for line in self._out]
        assert self.process.stderr is not None
        assert self.process.stderr.read() == b""
        return self.process.wait(WAIT_S)


def types(lines: List[Dict[str, Any]], session: str = "main") -> List[str]:
    return [line["type"] for line in lines if line.get("session") == session]


def test_a_message_gives_the_lines_of_a_query() -> None:
    with Server(answer("Hello there.")) as server, Driven(*model_at(server)) as chat:
        chat.say("user", text="hi", id="q-1")
        result = chat.until("result")
        assert result["text"] == "Hello there." and result["status"] == "complete"
        assert {line["session"] for line in chat.seen} == {"main"}
        assert {line["request"] for line in chat.seen} == {"q-1"}
        assert types(chat.seen)[:2] == ["conversation", "stream_start"]
        assert types(chat.seen)[-3:] == ["complete", "token_update", "result"]
        assert chat.seen[0]["id"] is not None and chat.seen[1]["turn"] is not None
        assert chat.leave() == 0


def test_messages_of_a_session_are_answered_in_order_and_remembered() -> None:
    with Server(answer("One."), answer("Two.")) as server, Driven(*model_at(server)) as chat:
        chat.say("user", text="first", id=1)
        chat.say("user", text="second", id=2)
        assert chat.leave() == 0  # what is in the queue is answered all the same
        results = [line for line in chat.seen if line["type"] == "result"]
        assert [(each["request"], each["text"]) for each in results] == [(1, "One."), (2, "Two.")]
        assert len(server.seen[1].json["messages"]) == 3
    (folder,) = conversations()
    assert [e["content"] for e in entries(folder) if e["type"] == "chat_request"] == [
        "first",
        "second",
    ]


def test_sessions_run_beside_each_other() -> None:
    held = threading.Event()
    head, first, *rest = reply(delta("slow"), FINISH, "[DONE]")
    with Server([head, first, Pause(held), *rest]) as slow, Server(answer("quick")) as quick:
        other = ["--set", f"providers.other.base_url={quick.url}"]
        other += ["--set", "providers.other.api=openai-chat"]
        with Driven(*model_at(slow), *other) as chat:
            chat.say("open", session="b", model="other/test", system="Be quick.")
            chat.say("user", session="a", text="hi")
            chat.until("text_chunk", session="a")
            chat.say("user", session="b", text="hi")
            result = chat.until("result")  # while the other one still waits
            assert (result["session"], result["text"]) == ("b", "quick")
            assert quick.seen[0].json["messages"][0]["content"] == "Be quick."
            held.set()
            assert chat.until("result")["session"] == "a"
            assert chat.leave() == 0
    assert len(conversations()) == 2


def test_each_session_has_its_own_usage() -> None:
    with Server(answer("Hello")) as server, Driven(*model_at(server)) as chat:
        for session in ("a", "b", "a"):
            chat.say("user", session=session, text="hi")
            result = chat.until("result")
            assert result["usage"] == {"input_tokens": 7, "output_tokens": 3}
        assert result["session_usage"] == {"input_tokens": 14, "output_tokens": 6}
        assert chat.leave() == 0


def test_an_answer_of_a_certain_shape(tmp_path: Any) -> None:
    model = "scripted/" + script(tmp_path, """text = '{"name": "Ada"}'""")
    with Driven("-m", model) as chat:
        chat.say("user", text="who?", schema="name")
        assert chat.until("result")["structured"] == {"name": "Ada"}
        chat.say("user", text="who?", schema="name no-such-type", id=2)
        assert "schema" in chat.until("result")["error"]["message"]
        assert chat.leave() == 0


def test_what_was_stopped_is_gone_on_with() -> None:
    whole = reply(delta(" there."), FINISH, "[DONE]")
    with Server(endless(), whole) as server, Driven(*model_at(server)) as chat:
        chat.say("user", text="hi")
        chat.until("text_chunk")
        chat.say("cancel")
        chat.until("result")
        chat.say("retry", id="again")
        result = chat.until("result")
        assert (result["status"], result["request"]) == ("complete", "again")
        chat.say("retry")
        assert "nothing to retry" in chat.until("result")["error"]["message"]
        assert chat.leave() == 0


def test_how_turns_end_is_logged_without_a_key(tmp_path: Any) -> None:
    log = tmp_path / "log"
    with Server(answer("Hello")) as server:
        ran = jpq(
            *("chat", "--format", "jsonl", *model_at(server), "--log-file", str(log), "hi"),
            stdin=b"nonsense\n",
        )
    assert ran.code == 0
    assert "session main: complete" in log.read_text() and "bad_line" in log.read_text()


def test_permission_is_asked_for_and_given(tmp_path: Any) -> None:
    model = "scripted/" + script(tmp_path, CALL, DONE)
    with Driven("-m", model, "--set", SHOUT) as chat:
        chat.say("user", text="go")
        request = chat.until("permission_request")
        assert (request["name"], request["title"], request["kind"]) == ("shout", "Shout hey", "run")
        assert request["arguments"] == {"word": "hey"}
        chat.say("permission", id="nobody", allow=True)
        assert "nobody" in chat.until("error")["message"]
        chat.say("permission", id=request["id"], allow=True)
        assert chat.until("tool_result")["content"].strip() == "hey"
        assert chat.until("result")["text"] == "Done."
        use = next(line for line in chat.seen if line["type"] == "tool_use")
        assert (use["display_name"], use["title"]) == ("Shouting", "Shout hey")
        assert chat.leave() == 0


def test_permission_is_refused_with_a_reason(tmp_path: Any) -> None:
    model = "scripted/" + script(tmp_path, CALL, DONE)
    with Driven("-m", model, "--set", SHOUT) as chat:
        chat.say("user", text="go")
        id = chat.until("permission_request")["id"]
        chat.say("permission", id=id, allow=False, reason="too loud")
        assert chat.until("tool_result")["content"] == "Not run: the user said no: too loud."
        assert chat.leave() == 0


def test_the_end_of_stdin_refuses_what_nobody_can_allow_any_more(tmp_path: Any) -> None:
    model = "scripted/" + script(tmp_path, CALL, DONE)
    with Driven("-m", model, "--set", SHOUT) as chat:
        chat.say("user", text="go")
        chat.until("permission_request")
        assert chat.leave() == 0
    result = next(line for line in chat.seen if line["type"] == "tool_result")
    assert "has ended" in result["content"]
    assert chat.seen[-1]["text"] == "Done."


def test_yes_asks_for_nothing(tmp_path: Any) -> None:
    model = "scripted/" + script(tmp_path, CALL, DONE)
    with Driven("-m", model, "--set", SHOUT, "-y") as chat:
        chat.say("user", text="go")
        assert chat.until("result")["status"] == "complete"
        assert "permission_request" not in types(chat.seen)


@pytest.mark.parametrize("given, content", [("blue", "blue"), (None, "gave no answer")])
def test_a_tool_asks_a_question(given: Any, content: str, tmp_path: Any) -> None:
    call = CALL.replace("shout", "ask_user").replace("word", "question")
    model = "scripted/" + script(tmp_path, call, DONE)
    with Driven("-m", model, "-t", "ask_user", "-y") as chat:
        chat.say("user", text="go")
        question = chat.until("question")
        assert (question["name"], question["question"]) == ("ask_user", "hey")
        chat.say("permission", id=question["id"], allow=True)  # which is no answer
        assert chat.until("error")["kind"] == "bad_line"
        chat.say("answer", id=question["id"], text=given)
        assert content in chat.until("tool_result")["content"]
        assert chat.leave() == 0


def endless() -> List[Any]:
    head, first, *_ = reply(delta("Hello"))
    return [head, first, Pause(threading.Event())]


def test_cancel_stops_the_answer_and_saves_it() -> None:
    with Server(endless(), answer("Next.")) as server, Driven(*model_at(server)) as chat:
        chat.say("user", text="hi")
        chat.until("text_chunk")
        chat.say("cancel")
        result = chat.until("result")
        assert (result["status"], result["text"], result["exit_code"]) == (
            "interrupted",
            "Hello",
            0,
        )
        chat.say("user", text="and now?")
        assert chat.until("result")["text"] == "Next."
        chat.say("cancel")
        assert "nothing to cancel" in chat.until("error")["message"]
        assert chat.leave() == 0


def test_cancel_right_after_a_message_is_not_lost() -> None:
    with Server(endless()) as server, Driven(*model_at(server)) as chat:
        chat.say("user", text="hi")
        chat.say("cancel")
        assert chat.until("result")["status"] == "interrupted"
        assert chat.leave() == 0


def test_cancel_while_permission_is_awaited(tmp_path: Any) -> None:
    model = "scripted/" + script(tmp_path, CALL, DONE)
    with Driven("-m", model, "--set", SHOUT) as chat:
        chat.say("user", text="go")
        chat.until("permission_request")
        chat.say("cancel")
        assert chat.until("result")["status"] == "interrupted"
        assert chat.leave() == 0


MEANINGLESS = [
    ("nonsense", "not JSON"),
    ("[1]", "not a JSON object"),
    ('"text"', "not a JSON object"),
    ("{}", "no type null"),
    ('{"type": "shout"}', 'no type "shout"'),
    ('{"type": "user"}', "'text' must be a string"),
    ('{"type": "user", "text": " "}', "'text' must be a string"),
    ('{"type": "user", "text": "hi", "id": true}', "'id' must be"),
    ('{"type": "user", "text": "hi", "attachments": "x"}', "'attachments' must be"),
    ('{"type": "user", "text": "hi", "session": 1}', "'session' must be a string"),
    ('{"type": "permission", "id": "x"}', "'allow' must be"),
    ('{"type": "cancel", "session": "ghost"}', "no session 'ghost'"),
    ('{"type": "permission", "id": "x", "allow": true}', "no session 'main'"),
    ('{"type": "user", "text": NaN}', "not JSON"),
]


def test_lines_that_mean_nothing_change_nothing() -> None:
    lines = [line for line, _ in MEANINGLESS]
    with Server(answer("Hello")) as server:
        said = "\n\n".join([*lines, '{"type": "user", "text": "hi"}\n']).encode()
        ran = jpq("chat", "--format", "jsonl", *model_at(server), stdin=said)
        assert len(server.seen) == 1
    assert ran.code == 0 and ran.err == b""
    errors = [event for event in ran.events if event.get("kind") == "bad_line"]
    assert [event["type"] for event in errors] == ["error"] * len(MEANINGLESS)
    for (line, message), told in zip(MEANINGLESS, errors):
        assert message in told["message"], line
    assert ran.events[-1]["status"] == "complete"


def test_a_failure_is_told_with_its_message_and_ends_nothing() -> None:
    with Server(answer("Hello")) as server, Driven(*model_at(server)) as chat:
        chat.say("open", session="wrong", model="nobody/knows")
        chat.say("user", session="wrong", text="hi", id=7)
        result = chat.until("result")
        assert (result["status"], result["exit_code"], result["request"]) == ("error", 78, 7)
        assert types(chat.seen, "wrong") == ["conversation", "error", "result"]
        chat.say("user", text="hi", attachments=["/no/such/file"])
        assert chat.until("result")["exit_code"] == 65
        chat.say("user", text="hi")
        assert chat.until("result")["status"] == "complete"
        assert chat.leave() == 0


def test_a_session_can_be_closed_and_gone_on_with() -> None:
    told = threading.Event()
    one = [Pause(told, WAIT_S), *answer("One.")]
    with Server(one, answer("Two.")) as server, Driven(*model_at(server)) as chat:
        chat.say("user", session="a", text="first")
        chat.say("open", session="a")
        assert "open already" in chat.until("error")["message"]
        told.set()
        chat.say("close", session="a")
        chat.until("result")
        id = next(line["id"] for line in chat.seen if line["type"] == "conversation")
        chat.say("open", session="a", conversation=id)
        chat.say("user", session="a", text="second")
        assert chat.until("conversation")["id"] == id
        assert chat.until("result")["text"] == "Two."
        assert len(server.seen[1].json["messages"]) == 3
        assert chat.leave() == 0
    assert len(conversations()) == 1


def test_a_name_that_is_used_again_at_once_waits_for_the_end_of_the_first() -> None:
    with Server(answer("One."), answer("Two.")) as server, Driven(*model_at(server)) as chat:
        chat.say("user", session="a", text="first", id=1)
        chat.say("close", session="a")
        chat.say("user", session="a", text="second", id=2)
        assert chat.leave() == 0
        requests = [line["request"] for line in chat.seen]
        assert requests == sorted(requests) and set(requests) == {1, 2}
        assert len(server.seen[1].json["messages"]) == 1  # it is a conversation of its own


def test_cancel_means_one_message_and_not_the_next() -> None:
    with Server(endless(), answer("Next.")) as server, Driven(*model_at(server)) as chat:
        chat.say("user", text="hi", id=1)
        chat.say("user", text="and then?", id=2)
        chat.until("text_chunk")
        chat.say("cancel")
        assert chat.until("result", request=1)["status"] == "interrupted"
        assert chat.until("result", request=2)["text"] == "Next."
        assert chat.leave() == 0


def test_options_choose_the_conversation_and_the_first_message() -> None:
    with Server(answer("One."), answer("Two."), answer("Three.")) as server:
        options = ["chat", "--format", "jsonl", *model_at(server)]
        first = jpq(*options, "-s", "Be brief.", "-o", "temperature=0.5", "hello")
        assert first.events[-1]["text"] == "One."
        assert server.seen[0].json["temperature"] == 0.5
        id = first.events[0]["id"]
        again = jpq(*options, "-r", id, stdin=b'{"type": "user", "text": "more"}\n')
        assert again.events[0]["id"] == id
        copy = jpq(*options, "-r", id, "--fork", "and more")
        assert copy.events[0]["id"] not in (None, id)
        asked = [message["content"] for message in server.seen[2].json["messages"]]
    assert asked == ["Be brief.", "hello", "One.", "more", "Two.", "and more"]
    jpq("chat", "--format", "jsonl", "-r", "nothing").failed_with(65, "no conversation 'nothing'")


@pytest.mark.parametrize("options", [[], ["--no-stream"]])
def test_answers_come_whole_where_that_is_asked_for(options: List[str]) -> None:
    whole = {"choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}]}
    script = error("200 OK", json.dumps(whole).encode()) if options else answer("Hello")
    with Server(script) as server, Driven(*model_at(server), *options, "Hi") as chat:
        assert chat.until("result")["text"] == "Hello"
        assert server.seen[0].json["stream"] is (not options)
        assert chat.leave() == 0


def test_ephemeral_saves_nothing() -> None:
    with Server(answer("One.")) as server:
        ran = jpq("chat", "--format", "jsonl", *model_at(server), "--ephemeral", "hello")
    assert ran.events[0]["id"] is None and not conversations()


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_ends(signum: int) -> None:
    with Server(endless()) as server, Driven(*model_at(server)) as chat:
        chat.say("user", text="hi")
        chat.say("user", text="not asked any more", id=2)
        chat.until("text_chunk")
        chat.process.send_signal(signum)
        assert chat.until("result")["status"] == "interrupted"
        assert chat.until("result", request=2)["status"] == "interrupted"
        assert chat.process.wait(WAIT_S) == -signum
        assert len(server.seen) == 1
    (folder,) = conversations()
    assert [e.get("content") or e.get("message") for e in entries(folder)][:2] == ["hi", "Hello"]


def test_a_reader_that_went_away_ends_it() -> None:
    with Server(endless()) as server, Driven(*model_at(server)) as chat:
        chat.say("user", text="hi")
        chat.until("text_chunk")
        assert chat.process.stdout is not None
        chat.process.stdout.close()
        chat.say("nonsense")
        assert chat.process.wait(WAIT_S) == 141
    (folder,) = conversations()
    assert entries(folder)[1]["message"] == "Hello"


def is_saved() -> bool:
    """Whether a turn is; not while its entries are being written."""
    try:
        return any("turn_end" in str(entries(folder)) for folder in conversations())
    except (FileNotFoundError, ValueError):
        return False


def test_a_reader_that_does_not_read_keeps_no_answer_from_being_saved() -> None:
    long = reply(*[delta("word " * 1000)] * 30, FINISH, "[DONE]")  # more than a pipe takes
    with Server(long) as server, Driven(*model_at(server)) as chat:
        chat.say("user", text="hi")
        chat.process.stdin.close()  # type: ignore[union-attr]
        wait_until(is_saved)
        chat.process.send_signal(signal.SIGTERM)
        assert chat.process.wait(WAIT_S) == -signal.SIGTERM


def test_a_full_disk_ends_it_with_a_word() -> None:
    with Server(answer("Hello")) as server, open("/dev/full", "wb") as full:
        ran = jpq("chat", "--format", "jsonl", *model_at(server), "hi", stdout=full)
    ran.failed_with(74, "could not be written to stdout")
    assert len(conversations()) == 1


@pytest.mark.parametrize("redirection", ["<&-", "</dev/null"])
def test_without_a_line_there_is_nothing_to_do(redirection: str) -> None:
    ran = shell(f"jpq chat --format jsonl -m custom/test {redirection}")
    assert (ran.code, ran.out, ran.err) == (0, b"", b"")


@pytest.mark.parametrize("redirection", [">&-", "2>&-", ">/dev/null"])
def test_a_channel_that_is_closed_keeps_nothing_from_being_answered(redirection: str) -> None:
    with Server(answer("Hello")) as server:
        said = """echo '{"type": "user", "text": "hi"}'"""
        ran = shell(f'{said} | jpq chat --format jsonl "$@" {redirection}', *model_at(server))
    assert (ran.code, ran.err) == (0, b"")
    (folder,) = conversations()
    assert [e.get("message") for e in entries(folder) if e["type"] == "chat_response"] == ["Hello"]


def test_a_last_line_without_its_end_counts() -> None:
    with Server(answer("Hello")) as server:
        said = b'\xff\xfe\n{"type": "user", "text": "hi"}'
        ran = jpq("chat", "--format", "jsonl", *model_at(server), stdin=said)
    assert ran.events[-1]["text"] == "Hello"
    assert [e["kind"] for e in ran.events if e["type"] == "error"] == ["bad_line"]
