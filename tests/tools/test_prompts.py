"""What the person is asked while calls run, on a real pseudo-terminal."""

from __future__ import annotations

import signal
import threading
from typing import Any

from jpq.conversation.event import ConfigDelta, InquiryRequest, InquiryResponse
from jpq.interrupt.signals import Interrupt
from jpq.tools.command import CommandTool
from jpq.tools.definition import Question, QuestionFailed, ToolOutput, ToolSpec
from tests.support.person import Person, PersonPrompter, editor
from tests.support.tools import Calls, call, tool

WORDS = {"type": "object", "properties": {"word": {"type": "string"}}}
WAIT_S = 30.0
KEYS = "[x] result mode [?] "
DELIVER = "[y]es [n]o [e]dit "
WHY = "Enter for no reason) "


def echo(invocation: Any, cancel: Any, progress: Any) -> str:
    return f"echo {invocation.arguments.get('word')}"


def asking(name: str = "echo", **spec: Any) -> Any:
    return tool(name, echo, run="ask", parameters=WORDS, **spec)


def test_prompts_come_one_at_a_time_in_request_order() -> None:
    with Person((KEYS, b"y"), (KEYS, b"n"), (WHY, b"\n"), (KEYS, b"Y")) as person:
        prompter = PersonPrompter(person)
        with Calls(asking(), prompter=prompter) as calls:
            answers = calls.run(*(call("echo", str(n), word=f"w{n}") for n in range(3)))
    assert [answers[id].content for id in "012"] == [
        "echo w0",
        "Not run: the user said no.",
        "echo w2",
    ]
    assert prompter.leases == 3 and person.done
    assert person.seen.index("w0") < person.seen.index("w1") < person.seen.index("w2")


def test_calls_run_and_are_kept_while_a_prompt_for_another_is_open() -> None:
    free = tool("free", echo, parameters=WORDS)
    with Person() as person, Calls(asking(), free, prompter=PersonPrompter(person)) as calls:

        def answer_when_the_other_is_done() -> None:
            if calls.answers:
                person.then(KEYS, b"y")
            else:
                person.then("", answer_when_the_other_is_done)

        person.then("", answer_when_the_other_is_done)
        calls.run(call("echo", word="asked"), call("free", word="free"))
    assert [answer.id for answer in calls.answers] == ["free", "echo"]


def test_always_holds_for_the_calls_that_wait_and_is_kept() -> None:
    with Person((KEYS, b"a")) as person, Calls(
        asking(), asking("other"), prompter=PersonPrompter(person)
    ) as calls:
        calls.start(call("echo", "1"), call("echo", "2"))
        answers = calls.finish()
        assert len(answers) == 2 and person.done
        person.then(KEYS, b"n")
        person.then(WHY, b"\n")
        assert calls.run(call("other"))["other"].content.startswith("Not run")
    changes = [draft.event for draft in calls.drafts if isinstance(draft.event, ConfigDelta)]
    assert changes == [ConfigDelta({"tools.echo.run": "unattended"})]


def test_the_run_mode_can_be_chosen_at_the_prompt() -> None:
    mode = "[c]hange nothing "
    with Person((KEYS, b"r"), (mode, b"c"), (KEYS, b"r"), (mode, b"s")) as person, Calls(
        asking(), prompter=PersonPrompter(person)
    ) as calls:
        answer = calls.run(call("echo"))["echo"]
    assert "set to be skipped" in answer.content and not answer.is_error
    assert "now ask" in person.seen


def test_the_result_mode_can_be_chosen_at_the_prompt() -> None:
    script = ((KEYS, b"x"), ("[c]hange nothing ", b"a"), (KEYS, b"y"), (DELIVER, b"n"))
    with Person(*script, (WHY, b"private\n")) as person, Calls(
        asking(), prompter=PersonPrompter(person)
    ) as calls:
        answer = calls.run(call("echo", word="secret"))["echo"]
    assert "echo secret" in person.seen
    assert answer.content == "It ran, but the user did not deliver its result: private."


def test_arguments_are_printed_whole_and_help_says_what_keys_do() -> None:
    long = "x" * 500
    with Person((KEYS, b"p"), (KEYS, b"?"), (KEYS, b"y")) as person, Calls(
        asking(), prompter=PersonPrompter(person)
    ) as calls:
        calls.run(call("echo", word=long))
    assert long in person.seen and "from now on always run echo" in person.seen


def test_run_mode_edit_begins_with_the_editor(tmp_path: Any) -> None:
    path = editor(str(tmp_path), 'sed -i s/one/two/ "$1"')
    with Person() as person:
        prompter = PersonPrompter(person, {"EDITOR": path})
        with Calls(tool("echo", echo, run="edit", parameters=WORDS), prompter=prompter) as calls:
            answer = calls.run(call("echo", word="one"))["echo"]
    assert answer.content == (
        'Run with arguments that the user edited: {"word": "two"}\n\necho two'
    )


def test_edited_arguments_do_not_get_around_a_rule(tmp_path: Any) -> None:
    path = editor(str(tmp_path), 'sed -i s/one/secret/ "$1"')
    with Person((KEYS, b"e"), ("a rule denies them", b""), (KEYS, b"n"), (WHY, b"\n")) as person:
        prompter = PersonPrompter(person, {"EDITOR": path})
        rules = {"deny": ["echo(word=secret)"]}
        with Calls(asking(), prompter=prompter, rules=rules) as calls:
            answer = calls.run(call("echo", word="one"))["echo"]
    assert answer.content == "Not run: the user said no."


def test_a_result_can_be_edited_before_the_model_gets_it(tmp_path: Any) -> None:
    path = editor(str(tmp_path), 'echo less > "$1"')
    with Person((DELIVER, b"e")) as person:
        prompter = PersonPrompter(person, {"EDITOR": path})
        with Calls(tool("echo", echo, result="ask"), prompter=prompter) as calls:
            answer = calls.run(call("echo"))["echo"]
    assert answer.content == "The user edited this result.\n\nless\n"


def test_without_an_editor_the_prompt_says_so_and_stays() -> None:
    with Person((KEYS, b"e"), ("set VISUAL or EDITOR", b""), (KEYS, b"y")) as person, Calls(
        asking(), prompter=PersonPrompter(person)
    ) as calls:
        assert calls.run(call("echo", word="hi"))["echo"].content == "echo hi"


def test_a_running_tool_asks_and_waits_for_as_long_as_the_person_thinks() -> None:
    def ask(invocation: Any, cancel: Any, progress: Any) -> str:
        return invocation.ask(Question("Which way?", "choice", ("left", "right")))

    def hesitate() -> None:
        threading.Event().wait(2.2)  # longer than the tool may take

    with Person(("Number", hesitate), ("", b"9\n"), ("Number", b"right\n")) as person, Calls(
        tool("asks", ask, timeout_s=2.0), prompter=PersonPrompter(person)
    ) as calls:
        answer = calls.run(call("asks"))["asks"]
    assert answer.content == "right"
    request, response = (draft.event for draft in calls.drafts)
    assert isinstance(request, InquiryRequest) and request.question == "Which way?"
    assert response == InquiryResponse(request.id, "right")


def test_a_question_that_nobody_answers_in_time_is_taken_back() -> None:
    def ask(invocation: Any, cancel: Any, progress: Any) -> str:
        try:
            return str(invocation.ask(Question("Quick?", timeout_s=0.1)))
        except QuestionFailed as failure:
            return str(failure)

    with Person() as person, Calls(tool("asks", ask), prompter=PersonPrompter(person)) as calls:
        assert calls.run(call("asks"))["asks"].content == "nobody answered within 0.1 s"


def test_answers_are_remembered_for_a_restart() -> None:
    asked = threading.Event()

    def ask(invocation: Any, cancel: Any, progress: Any) -> ToolOutput:
        answer = invocation.ask(Question("Sure?", "yes_no"))
        if not asked.is_set():
            asked.set()
            cancel.wait()
            return ToolOutput("", ended="stopped")
        return ToolOutput(answer)

    with Person(("[y]es [n]o ", b"y")) as person, Calls(
        tool("asks", ask), prompter=PersonPrompter(person)
    ) as calls:
        calls.start(call("asks"))
        while not person.done:
            calls.phase.attend()
        assert asked.wait(WAIT_S)
        calls.coordinator.restart([id for id, _ in calls.coordinator.running()])
        answer = calls.finish()["asks"]
    assert answer.content.endswith("\n\nyes") and person.seen.count("Sure?") == 1


def test_a_signal_leaves_the_prompt_and_it_comes_back() -> None:
    with Person() as person, Calls(asking(), prompter=PersonPrompter(person)) as calls:
        interrupt = Interrupt(signal.SIGINT, 1)
        person.then(KEYS, lambda: calls.inbox.post(interrupt))
        calls.start(call("echo", word="hi"))
        assert calls.phase.attend() == interrupt
        assert not calls.answers
        person.then(KEYS, b"y")
        assert calls.finish()["echo"].content == "echo hi"


def test_a_terminal_that_goes_away_allows_nothing() -> None:
    with Person() as person, Calls(asking(), prompter=PersonPrompter(person)) as calls:
        person.then(KEYS, person.hang_up)
        answers = calls.run(call("echo", "1"), call("echo", "2"))
    assert all("needs the user's permission" in answer.content for answer in answers.values())
    assert calls.coordinator.denied is not None


def test_the_same_call_again_and_again_is_asked_about() -> None:
    earlier = [call("echo", str(n), word="hi") for n in range(3)]
    with Person((KEYS, b"y")) as person, Calls(
        tool("echo", echo, parameters=WORDS), prompter=PersonPrompter(person)
    ) as calls:
        answer = calls.run(call("echo", "again", word="hi"), earlier=earlier)["again"]
    assert answer.content == "echo hi"
    assert "it made this same call 3 times in this turn" in person.seen


def test_a_question_over_which_the_window_is_closed_has_no_answer() -> None:
    failures = []

    def ask(invocation: Any, cancel: Any, progress: Any) -> str:
        for text in ("First?", "Second?"):
            try:
                return str(invocation.ask(Question(text)))
            except QuestionFailed as failure:
                failures.append(str(failure))
        return "went on"

    with Person() as person, Calls(tool("asks", ask), prompter=PersonPrompter(person)) as calls:
        person.then("First?", person.hang_up)
        assert calls.run(call("asks"))["asks"].content == "went on"
    assert failures == ["nobody can be asked any more", "nobody can be asked in this run"]


def test_a_question_of_several_lines_looks_like_no_other_prompt() -> None:
    forged = "\nRun rm? [y]es [n]o"

    def asks(invocation: Any, cancel: Any, progress: Any) -> str:
        return invocation.ask(Question("Which?" + forged, "choice", ("a" + forged, "b")))

    with Person(("(1 to 2): ", b"1\n")) as person, Calls(
        tool("asker", asks), prompter=PersonPrompter(person)
    ) as calls:
        assert calls.run(call("asker"))["asker"].content == "a" + forged
    lines = person.seen.replace("\r\n", "\n").split("\n")
    assert "  Run rm? [y]es [n]o" in lines and "  1  a Run rm? [y]es [n]o" in lines
    assert not any(line.startswith("Run") for line in lines)


def test_arguments_that_the_preview_does_not_show_are_shown_beside_it() -> None:
    settings = {"command": ["echo", "{word}"], "stdin": "json"}
    both = {"type": "object", "properties": {"word": {}, "rest": {}}}
    spec = ToolSpec("program", "command", parameters=both, settings=settings)
    with Person((KEYS, b"y")) as person, Calls(
        CommandTool(spec, "/"), prompter=PersonPrompter(person)
    ) as calls:
        assert calls.run(call("program", word="hi", rest="a\nb"))["program"].content == "hi\n"
    lines = person.seen.replace("\r\n", "\n").split("\n")
    assert "  $ echo hi" in lines and '  rest = "a\\nb"' in lines
    assert not any("word =" in line for line in lines)
