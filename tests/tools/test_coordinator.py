"""ToolCoordinator with real threads: what runs, what does not, and what the model is told."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from typing import Any

import pytest

from jpq.conversation.event import ToolCall
from jpq.errors import RunTimeoutError
from jpq.events.turn import ToolResult
from jpq.tools.definition import STOPPED, ToolOutput
from jpq.tools.launcher import child_environ
from tests.support.tools import Calls, call, tool

WAIT_S = 30.0
ANYTHING = {"type": "object"}
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


def says(text: str) -> Any:
    return lambda invocation, cancel, progress: text


def patient(name: str, **spec: Any) -> Any:
    """A tool that runs until it is cancelled, and whose end is waited for."""
    made = tool(name, until_cancelled, **spec)
    made.stops_within_s = WAIT_S
    return made


def until_cancelled(invocation: Any, cancel: Any, progress: Any) -> ToolOutput:
    progress("half way\n")
    cancel.wait()
    return ToolOutput("half way\n", is_error=True, ended=STOPPED)


def test_a_call_runs_with_its_arguments_and_its_text_is_the_answer() -> None:
    greet = tool("greet", lambda i, c, p: f"Hello {i.arguments['city']}", parameters=CITY)
    with Calls(greet) as calls:
        answer = calls.run(call("greet", city="Oslo"))["greet"]
    assert (answer.content, answer.is_error) == ("Hello Oslo", False)


def test_calls_run_at_the_same_time() -> None:
    meeting = threading.Barrier(3, timeout=WAIT_S)
    both = tool("meet", lambda i, c, p: str(meeting.wait()), parameters=ANYTHING)
    with Calls(both) as calls:
        answers = calls.run(*(call("meet", str(n)) for n in range(3)))
    assert sorted(answer.content for answer in answers.values()) == ["0", "1", "2"]


def test_results_are_kept_as_they_come_and_shown_in_request_order() -> None:
    first_may_end = threading.Event()

    def second(invocation: Any, cancel: Any, progress: Any) -> str:
        return "second"

    def first(invocation: Any, cancel: Any, progress: Any) -> str:
        first_may_end.wait(WAIT_S)
        return "first"

    with Calls(tool("first", first), tool("second", second)) as calls:
        calls.start(call("first"), call("second"))
        while not calls.answers:
            calls.phase.attend()
        assert [answer.content for answer in calls.answers] == ["second"]
        assert not [event for event in calls.shown if isinstance(event, ToolResult)]
        first_may_end.set()
        calls.finish()
    results = [event for event in calls.shown if isinstance(event, ToolResult)]
    assert [event.content for event in results] == ["first", "second"]


@pytest.mark.parametrize(
    "made, words",
    [
        (call("nope"), ("no tool named 'nope'", "greet")),
        (call("greet", town="Oslo"), ("city", "arguments must", '"required": ["city"]')),
        (call("greet", city=5), ("arguments.city must be string", "it is 5")),
        (ToolCall("greet", "greet", {}, raw='{"city": '), ("not a JSON object", '{"city": ')),
    ],
)
def test_a_call_that_cannot_be_run_is_answered_in_words_that_let_the_model_mend_it(
    made: ToolCall, words: Any
) -> None:
    def never(invocation: Any, cancel: Any, progress: Any) -> str:
        raise AssertionError("it ran")

    with Calls(tool("greet", never, parameters=CITY)) as calls:
        (answer,) = calls.run(made).values()
    assert answer.is_error and answer.content.startswith("Not run: ")
    assert not [word for word in words if word not in answer.content], answer.content


def test_a_crash_is_a_result() -> None:
    def breaks(invocation: Any, cancel: Any, progress: Any) -> str:
        raise KeyError("missing")

    with Calls(tool("breaks", breaks)) as calls:
        answer = calls.run(call("breaks"))["breaks"]
    assert answer.content == "The tool crashed: KeyError: 'missing'" and answer.is_error


def test_a_tool_that_takes_too_long_is_stopped_and_says_how_far_it_got() -> None:
    with Calls(patient("slow", timeout_s=0.05)) as calls:
        answer = calls.run(call("slow"))["slow"]
    assert answer.is_error
    assert re.match(r"Timed out after \d+\.\d s\.", answer.content)
    assert answer.content.endswith("Its output so far:\nhalf way\n")


def test_a_tool_that_ignores_its_cancellation_holds_up_nothing() -> None:
    released = threading.Event()

    def deaf(invocation: Any, cancel: Any, progress: Any) -> str:
        progress("working\n")
        released.wait(2 * WAIT_S)
        return "too late"

    started = time.monotonic()
    try:
        with Calls(tool("deaf", deaf, timeout_s=2.0)) as calls:
            answer = calls.run(call("deaf"))["deaf"]
    finally:
        released.set()
    assert time.monotonic() - started < WAIT_S
    assert "did not stop and may still be running" in answer.content
    assert "working" in answer.content


def test_cancelling_answers_every_call_truly() -> None:
    with Calls(tool("slow", until_cancelled), workers=1) as calls:
        calls.start(call("slow", "one"), call("slow", "two"), call("nope", "three"))
        while not calls.shown or "half way" not in str(calls.shown):
            calls.inbox.take(time.monotonic() + 0.01)
        calls.phase.cancel()
        answers = calls.finish()
    assert answers["one"].content.startswith("Cancelled after ")
    assert "half way" in answers["one"].content
    assert answers["two"].content == "Cancelled before it was started."
    assert "no tool named" in answers["three"].content


def test_a_restarted_call_says_so_and_keeps_its_answers() -> None:
    runs = []

    def second_time_lucky(invocation: Any, cancel: Any, progress: Any) -> ToolOutput:
        runs.append(invocation.id)
        if len(runs) == 1:
            return until_cancelled(invocation, cancel, progress)
        return ToolOutput("done")

    with Calls(tool("flaky", second_time_lucky)) as calls:
        calls.start(call("flaky"))
        while "half way" not in str(calls.shown):
            calls.inbox.take(time.monotonic() + 0.01)
        calls.coordinator.restart([id for id, _ in calls.coordinator.running()])
        answer = calls.finish()["flaky"]
    assert runs == ["flaky", "flaky"]
    assert answer.content.startswith("Started anew by the user after ") and not answer.is_error
    assert answer.content.endswith("\n\ndone")


def test_nobody_to_ask_means_that_no_call_of_the_message_is_run() -> None:
    ran = []
    free = tool("free", lambda i, c, p: ran.append(i.id))
    asks = tool("asks", lambda i, c, p: ran.append(i.id), run="ask")
    with Calls(free, asks) as calls:
        answers = calls.run(call("free"), call("asks"), call("nope"))
    assert not ran
    for id in ("free", "asks"):
        assert answers[id].is_error and "asks needs the user's permission" in answers[id].content
    assert "no tool named" in answers["nope"].content
    denied = calls.coordinator.denied
    assert denied is not None and int(denied.exit_code) == 77
    assert "--yes" in denied.hint and 'tools.asks.run = "unattended"' in denied.hint


def test_yes_allows_what_the_run_mode_asks_and_no_more() -> None:
    echo = tool("echo", lambda i, c, p: "ran", run="ask", parameters=ANYTHING)
    with Calls(echo, yes=True, rules={"deny": ["echo(text=secret*)"]}) as calls:
        answers = calls.run(call("echo", "1", text="hi"), call("echo", "2", text="secret 1"))
    assert answers["1"].content == "ran"
    assert answers["2"].content == (
        "Not run: it is forbidden by the rule deny = 'echo(text=secret*)'."
    )
    assert calls.coordinator.denied is None
    with Calls(echo, yes=True, rules={"ask": ["echo"]}) as calls:
        calls.run(call("echo"))
    assert calls.coordinator.denied is not None
    assert "the rules under policy" in calls.coordinator.denied.hint


def test_skipped_is_no_error() -> None:
    with Calls(tool("echo", says("ran"), run="skip")) as calls:
        answer = calls.run(call("echo"))["echo"]
    assert not answer.is_error and "set to be skipped" in answer.content


def test_a_result_that_is_to_be_skipped_is_not_delivered() -> None:
    with Calls(tool("echo", says("secret"), result="skip")) as calls:
        answer = calls.run(call("echo"))["echo"]
    assert not answer.is_error and "secret" not in answer.content


def test_a_result_that_must_be_shown_first_is_not_made_where_nobody_looks() -> None:
    with Calls(tool("echo", says("secret"), result="ask")) as calls:
        calls.run(call("echo"))
    denied = calls.coordinator.denied
    assert denied is not None and 'tools.echo.result = "unattended"' in denied.hint


def test_the_same_call_again_and_again_is_not_run() -> None:
    echo = tool("echo", says("ran"), parameters=ANYTHING)
    earlier = [call("echo", str(n), word="hi") for n in range(3)]
    with Calls(echo) as calls:
        answers = calls.run(
            call("echo", "same", word="hi"), call("echo", "other", word="ho"), earlier=earlier
        )
    assert "made 3 times already" in answers["same"].content and answers["same"].is_error
    assert answers["other"].content == "ran"


def test_long_output_keeps_its_ends_and_goes_to_a_file(tmp_path: Any) -> None:
    text = "begin " + "\u00e4" * 5000 + " end"
    folder = str(tmp_path / "tool-output")
    long = tool("long", says(text), max_output_bytes=100)
    with Calls(long, output_folder=folder) as calls:
        answer = calls.run(call("long"))["long"]
    assert answer.content.startswith("begin ") and answer.content.endswith(" end")
    assert "bytes left out" in answer.content and len(answer.content.encode()) < 2000
    assert answer.full_output is not None
    with open(answer.full_output, encoding="utf-8") as file:
        assert file.read() == text
    assert os.stat(answer.full_output).st_mode & 0o777 == 0o600


def test_the_time_of_the_whole_run_ends_the_calls(tmp_path: Any) -> None:
    with Calls(patient("slow"), deadline=time.monotonic() + 0.1) as calls:
        calls.start(call("slow"))
        assert isinstance(calls.phase.attend(), RunTimeoutError)
        calls.phase.cancel()
        assert calls.coordinator.idle


def test_children_see_their_arguments_and_none_of_the_settings() -> None:
    seen = []
    look = tool("look", lambda i, c, p: seen.append(dict(i.environ)), parameters=ANYTHING)
    environ = {"PATH": "/bin", "JPQ_SET_PROVIDERS__X": "key", "SOME_KEY": "key"}
    with Calls(look, environ=child_environ(environ, ["SOME_KEY"])) as calls:
        calls.run(call("look", word="hi"))
    assert set(seen[0]) == {"PATH", "JPQ_TOOL_ARGS", "JPQ_INQUIRY"}
    assert json.loads(seen[0]["JPQ_TOOL_ARGS"]) == {"word": "hi"}
