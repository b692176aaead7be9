"""Tools of a Python program: functions as tools, permission, questions, titles."""

from __future__ import annotations

import sys
import threading
from typing import Any, List, Optional

import pytest

import jpq
from tests.mcp.test_mcp_stdio import SERVER
from tests.support.programs import script

CALL = 'match = "go"\ntool_calls = [{ name = "add", arguments = { a = 2, b = 3 } }]'
DONE = 'match = "go"\ntext = "Done."'


@jpq.tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers.

    Args:
        a: the first
        b: the second
    """
    return a + b


def talk(folder: Any, *tools: Any, replies: Any = (CALL, DONE), **arguments: Any) -> jpq.Session:
    return jpq.Session("scripted/" + script(folder, *replies), tools=tools, **arguments)


def results(events: Any) -> List[jpq.ToolResult]:
    return [event for event in events if isinstance(event, jpq.ToolResult)]


def test_a_function_is_described_by_itself() -> None:
    assert add(2, b=5) == 7 and add(1) == 2  # it can still be called
    assert (add.name, add.description) == ("add", "Add two numbers.")
    assert add.__doc__ is not None and add.__doc__.startswith("Add two numbers.")
    assert add.parameters == {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "description": "the first"},
            "b": {"type": "integer", "description": "the second", "default": 1},
        },
        "required": ["a"],
        "additionalProperties": False,
    }


def test_a_function_runs_and_its_result_goes_to_the_model(tmp_path: Any) -> None:
    with talk(tmp_path, add) as session:
        response = session.ask("go")
    assert response.text == "Done."
    assert [(call.name, call.arguments) for call in response.tool_calls] == [
        ("add", {"a": 2, "b": 3})
    ]


def test_a_plain_function_will_do(tmp_path: Any) -> None:
    def add(a: int, b: int) -> int:
        return a + b

    with talk(tmp_path, add) as session:
        (result,) = results(session.stream("go"))
    assert (result.name, result.content, result.is_error) == ("add", "5", False)


def test_what_a_function_raises_is_told_to_the_model(tmp_path: Any) -> None:
    def add(a: int, b: int) -> int:
        raise ValueError("no sums today")

    with talk(tmp_path, add) as session:
        events = list(session.stream("go"))
    (result,) = results(events)
    assert result.is_error and "ValueError: no sums today" in result.content
    assert events[-1].text == "Done."  # type: ignore[union-attr]


def test_an_exception_that_cannot_be_told_is_one_all_the_same(tmp_path: Any) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError("no")

    def add(a: int, b: int) -> int:
        raise Mute

    with talk(tmp_path, add) as session:
        (result,) = results(session.stream("go"))
    assert result.is_error and result.content.endswith("Mute: it cannot say what")


def test_arguments_that_do_not_match_run_nothing(tmp_path: Any) -> None:
    def add(a: str, b: int) -> str:
        raise AssertionError("it must not run")

    with talk(tmp_path, add) as session:
        (result,) = results(session.stream("go"))
    assert result.is_error and "Not run" in result.content


@pytest.mark.parametrize(
    "reply, content",
    [
        (True, "5"),
        (False, "Not run: the user said no."),
        ("not on Sundays", "Not run: the user said no: not on Sundays."),
        (None, "Not run: the user said no."),
    ],
)
def test_the_program_decides_about_calls(reply: Any, content: str, tmp_path: Any) -> None:
    asked: List[jpq.PermissionRequest] = []
    threads = []

    def approve(request: jpq.PermissionRequest) -> Any:
        asked.append(request)
        threads.append(threading.current_thread())
        return reply

    careful = jpq.tool(run="ask", title="{a} plus {b}")(add.function)
    with talk(tmp_path, careful, approve=approve) as session:
        events = list(session.stream("go"))
    (request,) = asked
    assert threads == [threading.current_thread()]
    assert request in events
    assert (request.name, request.title, request.kind) == ("add", "2 plus 3", "run")
    assert request.arguments == {"a": 2, "b": 3} and "ask" in request.why
    assert [result.content for result in results(events)] == [content]


def test_without_approve_a_call_that_needs_permission_ends_the_turn(tmp_path: Any) -> None:
    careful = jpq.tool(run="ask")(add.function)
    with talk(tmp_path, careful) as session:
        with pytest.raises(jpq.DeniedError, match="needs your permission") as denied:
            session.ask("go")
        assert "approve" in denied.value.hint
        assert not denied.value.response.is_complete
        error = next(e for e in session.stream("go") if isinstance(e, jpq.Error))
        assert "approve" in error.hint


def test_a_result_can_be_withheld(tmp_path: Any) -> None:
    asked = []

    def approve(request: jpq.PermissionRequest) -> bool:
        asked.append((request.kind, request.text))
        return False

    careful = jpq.tool(result="ask")(add.function)
    with talk(tmp_path, careful, approve=approve) as session:
        (result,) = results(session.stream("go"))
    assert asked == [("deliver", "5")]
    assert "did not deliver" in result.content


def test_a_failing_callback_stops_the_turn_and_is_raised(tmp_path: Any) -> None:
    def approve(request: jpq.PermissionRequest) -> bool:
        raise RuntimeError("the window is gone")

    careful = jpq.tool(run="ask")(add.function)
    replies = (CALL, DONE, 'text = "Hello."')
    with talk(tmp_path, careful, approve=approve, replies=replies) as session:
        with pytest.raises(RuntimeError, match="the window is gone"):
            session.ask("go")
        assert session.ask("hello").text == "Hello."  # nothing is in the way of the next one


def test_a_tool_asks_the_program(tmp_path: Any) -> None:
    def add(a: int, b: int, context: jpq.ToolContext) -> str:
        return context.ask(jpq.Question("Sure?", "yes_no"))

    def answer(request: jpq.QuestionRequest) -> Optional[str]:
        assert (request.name, request.question, request.kind) == ("add", "Sure?", "yes_no")
        return "yes"

    with talk(tmp_path, add, answer=answer) as session:
        (result,) = results(session.stream("go"))
    assert result.content == "yes"


def test_cancelling_ends_a_running_function(tmp_path: Any) -> None:
    running = threading.Event()

    def add(a: int, b: int, context: jpq.ToolContext) -> str:
        running.set()
        context.cancel.wait(15)
        return "given up" if context.cancel.cancelled else "never told"

    with talk(tmp_path, add) as session:
        canceller = threading.Thread(target=lambda: (running.wait(15), session.cancel()))
        canceller.start()
        events = list(session.stream("go"))
        canceller.join()
    (result,) = results(events)
    assert "Cancelled" in result.content or "given up" in result.content
    assert events[-1].status == "interrupted"  # type: ignore[union-attr]


def test_cancelling_while_the_program_is_asked(tmp_path: Any) -> None:
    careful = jpq.tool(run="ask")(add.function)

    def approve(request: jpq.PermissionRequest) -> bool:
        session.cancel()
        return True

    with talk(tmp_path, careful, approve=approve) as session:
        events = list(session.stream("go"))
    assert events[-1].status == "interrupted"  # type: ignore[union-attr]


def test_builtin_tools_are_offered_by_name(tmp_path: Any) -> None:
    (tmp_path / "notes.txt").write_text("the milk")
    call = 'match = "go"\ntool_calls = [{ name = "read_file", arguments = { path = "notes.txt" } }]'
    with talk(
        tmp_path, "read_file", replies=(call, DONE), approve=lambda _: True, cwd=str(tmp_path)
    ) as session:
        (result,) = results(session.stream("go"))
    assert "the milk" in result.content


def test_nothing_is_offered_unless_asked(tmp_path: Any) -> None:
    with talk(tmp_path) as session:
        (result,) = results(session.stream("go"))
    assert result.is_error and "no tool named" in result.content


def test_two_tools_of_one_name_are_refused(tmp_path: Any) -> None:
    with pytest.raises(jpq.UsageError, match="'add'"):
        talk(tmp_path, add, add.function)


def test_a_function_that_json_cannot_call_is_refused() -> None:
    with pytest.raises(jpq.ConfigError, match="cannot be a tool"):

        @jpq.tool
        def wrong(*numbers: int) -> int:
            return 0

    with pytest.raises(jpq.ConfigError, match="cannot be a tool's name"):
        jpq.tool(name="two words")(add.function)
    with pytest.raises(jpq.ConfigError, match="perhaps"):
        jpq.tool(run="perhaps")(add.function)


def test_the_tools_of_a_server(tmp_path: Any) -> None:
    call = 'match = "go"\ntool_calls = [{ name = "x/echo", arguments = { text = "hi" } }]'
    servers = {"mcp": {"x": {"command": [sys.executable, SERVER, "modern"]}}}
    asked = []

    def approve(request: jpq.PermissionRequest) -> bool:
        asked.append(request.name)
        return True

    with talk(
        tmp_path, "x/*", replies=(call, DONE, DONE), config=servers, approve=approve
    ) as session:
        assert [result.content for result in results(session.stream("go"))] == ["hi"]
        session.ask("go")  # the server is not started anew
    assert asked == ["x/echo"] * 2


def test_configured_tools_are_offered_where_nobody_chooses(tmp_path: Any) -> None:
    shout = {"source": "command", "command": ["echo", "hello"], "run": "unattended"}
    call = 'match = "go"\ntool_calls = [{ name = "shout", arguments = {} }]'
    model = "scripted/" + script(tmp_path, call, DONE)
    with jpq.Session(model, tools=None, config={"tools": {"shout": shout}}) as session:
        (result,) = results(session.stream("go"))
    assert result.content.strip() == "hello"


def test_rules_hold_for_functions_too(tmp_path: Any) -> None:
    with talk(tmp_path, add, config={"policy": {"deny": ["add(a=2)"]}}) as session:
        (result,) = results(session.stream("go"))
    assert "forbidden by the rule" in result.content


def test_answering_questions_gives_no_permission(tmp_path: Any) -> None:
    careful = jpq.tool(run="ask")(add.function)
    session = talk(tmp_path, careful, answer=lambda request: "yes")
    with session, pytest.raises(jpq.DeniedError, match="needs your permission"):
        session.ask("go")


def test_yes_is_asked_for_nothing(tmp_path: Any) -> None:
    careful = jpq.tool(run="ask")(add.function)
    with talk(tmp_path, careful, yes=True) as session:
        (result,) = results(session.stream("go"))
    assert result.content == "5"


def test_results_come_as_their_calls_end(tmp_path: Any) -> None:
    gate = threading.Event()
    calls = '{ name = "wait" }, { name = "quick" }'

    def wait() -> str:
        return "opened" if gate.wait(15) else "never opened"

    def quick() -> str:
        return "quick"

    with talk(
        tmp_path, wait, quick, replies=(f'match = "go"\ntool_calls = [{calls}]', DONE)
    ) as session:
        seen = []
        for event in session.stream("go"):
            if isinstance(event, jpq.ToolResult):
                seen.append(event.content)
                gate.set()
    assert seen == ["quick", "opened"]
