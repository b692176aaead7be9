"""Ctrl+C beside the menus' choices: broken streams, lost terminals, programs, settings, time."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Iterator, List

import pytest

from jpq.conversation.event import ToolResponse, TurnEnd
from jpq.interrupt.menus import Place
from jpq.interrupt.menus import line as menu_line
from tests.support.pressing import (
    MARK,
    PRESS,
    SCENES,
    Stage,
    calls,
    check_next_turn,
    events,
    press,
    rest,
    slow,
    wait_until,
)
from tests.support.ptys import Child, jpq
from tests.support.server import (
    DONE,
    DROP,
    Pause,
    Server,
    Step,
    answer,
    chunk,
    delta,
    reply,
    sse,
    unanswering,
)
from tests.support.signalled import HELD

STREAMING, TOOLS = MARK[Place.STREAMING], MARK[Place.TOOLS]
MENU = menu_line(Place.STREAMING).encode() + b" "
SAVED = b"Stopped; what arrived is saved."


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(str(tmp_path))
    yield stage
    stage.end.set()
    stage.let_tools_go()


def status(stage: Stage) -> str:
    assert stage.saved is not None
    last = stage.saved.stream.entries[-1].event
    assert isinstance(last, TurnEnd)
    return last.status


def words(count: int, of: str = "word") -> List[str]:
    return [f"{of}{number} " for number in range(count)]


def test_while_the_connection_is_made(stage: Stage) -> None:
    with unanswering() as port:
        url = f"providers.custom.base_url=http://127.0.0.1:{port}/v1"
        command = jpq("-m", "custom/test", "--set", url, "-v", "go")
        with Child(command, stage.environ, stage.folder, terminal=True) as child:
            child.wait_for(b"conversation ")
            press(child, STREAMING)
            child.type(b"r")
            child.wait_for(b"Your reply")
            child.type(b"Then this\n")
            wait_until(lambda: stage.saved is not None and len(stage.saved.stream.entries) == 3)
            press(child, STREAMING)
            child.type(b"s")
            assert child.end() == 0
    assert stage.saved is not None
    check_next_turn(stage.saved)


def test_abort_leaves_an_older_conversation_byte_for_byte(stage: Stage) -> None:
    with Server(answer("One."), [*events(delta("Two")), Pause(stage.end)]) as server:
        with stage.start(server) as child:
            assert child.end() == 0
        before = stage.files()
        assert before
        with stage.start(server, "-c", "--set", "no.such=1") as child:
            child.wait_for(b"Two")
            press(child, STREAMING)
            child.type(b"a")
            assert child.end() == 130
        assert stage.files() == before


def test_abort_takes_back_what_tools_left_with_the_conversation(stage: Stage) -> None:
    long = '\n[tools.long]\ndescription = "x"\ncommand = ["seq", "20000"]\nrun = "unattended"\n'
    with open(os.path.join(stage.folder, "home", "config.toml"), "a") as file:
        file.write(long)
    script = reply(*calls(("long", "{}")), DONE)
    with Server(answer("One."), script, [*events(delta("Two")), Pause(stage.end)]) as server:
        with stage.start(server) as child:
            assert child.end() == 0
        before = stage.files()
        with stage.start(server, "-c") as child:
            child.wait_for(b"Two")
            assert any("tool-output" in name for name in stage.files())
            press(child, STREAMING)
            child.type(b"a")
            assert child.end() == 130
        assert stage.files() == before


@pytest.mark.parametrize("behind", ["sends", "is idle", "is gone", "has finished"])
def test_continue_after_a_menu_behind_which_the_server(behind: str, stage: Stage) -> None:
    """The menu stays open for longer than silence may last; JPQ_TEST_MENU_S says how long."""
    menu_s = float(os.environ.get("JPQ_TEST_MENU_S", "2.5"))
    patience_s = menu_s + 10
    ready = threading.Event()
    first: List[Step] = [*events(delta("Half ")), Pause(ready)]
    if behind == "sends":
        first += [chunk(event) for event in sse(*(delta(word) for word in words(400)))]
        first += [Pause(stage.end, patience_s), *rest(delta("whole."))]
    elif behind == "is idle":
        first += [Pause(stage.end, patience_s), *rest(delta("whole."))]
    elif behind == "is gone":
        first += [chunk(sse(delta("of it "))[0]), DROP]
    else:
        first += rest(delta("whole."))
    again = answer("whole.")
    with Server(first, again) as server:
        quick = ("--set", "request.idle_timeout_s=2", "--retries", "0")
        with stage.start(server, *quick) as child:
            child.wait_for(b"Half")
            press(child, STREAMING)
            ready.set()
            time.sleep(menu_s)  # what is tested is time that passes
            child.type(b"c")
            threading.Timer(0.1, stage.end.set).start()
            assert child.end() == 0, child.output
        assert len(server.seen) == (2 if behind == "is gone" else 1)
    assert stage.saved is not None
    said = [getattr(each.event, "text", "") for each in stage.saved.stream.entries]
    middle = {"sends": "".join(words(400)), "is gone": "of it "}.get(behind, "")
    assert "".join(said[1:]) == f"Half {middle}whole."
    check_next_turn(stage.saved)


def test_what_arrives_behind_a_menu_follows_in_order_and_complete(stage: Stage) -> None:
    lines = [f"line {number}\n\n" for number in range(3000)]
    script = [*events(delta("Begin\n\n")), Pause(stage.end), *rest(*map(delta, lines))]
    with Server(script) as server, stage.start(server) as child:
        child.wait_for(b"Begin")
        press(child, STREAMING)
        stage.end.set()
        wait_until(lambda: b"line 2999" in b"".join(stage.files().values()))
        assert b"line" not in child.output
        child.type(b"c")
        assert child.end() == 0
        shown = [int(each[5:]) for each in child.output.split(b"\r\n") if each[:5] == b"line "]
    assert shown == list(range(3000))


def test_the_key_throws_nothing_away_that_the_terminal_has_not_shown(stage: Stage) -> None:
    lines = [f"line {number}\n\n" for number in range(3000)]
    script = [*events(*map(delta, lines)), Pause(stage.end), *rest(delta("over"))]
    with Server(script) as server, stage.start(server) as child:
        before = child.modes()
        wait_until(lambda: b"line 2999" in b"".join(stage.files().values()))
        press(child, STREAMING)
        child.type(b"c")
        stage.end.set()
        assert child.end() == 0
        assert child.modes() == before
        output = bytes(child.output).replace(b"^C", b"")
    shown = [int(each[5:]) for each in output.split(b"\r\n") if each[:5] == b"line "]
    assert shown == list(range(3000))


def test_ctrl_z_in_a_menu_leaves_the_shell_its_terminal(stage: Stage) -> None:
    """Stopped, the modes are those of the shell; after fg the menu is there again, and works."""
    script = [*events(delta("Half")), Pause(stage.end), *rest(delta(" more."))]
    environ = {**stage.environ, "PS1": "$ "}
    with Server(script) as server, Child(
        ["/bin/sh", "-i"], environ, stage.folder, terminal=True
    ) as child:
        before = child.modes()
        url = f"providers.custom.base_url={server.url}"
        child.type(" ".join(jpq("-m", "custom/test", "--set", url, "go")).encode() + b"\n")
        child.wait_for(b"Half")
        press(child, STREAMING)
        wait_until(lambda: child.modes() != before)
        child.type(b"\x1a")
        child.wait_for(b"Stopped")
        wait_until(lambda: child.modes() == before)
        del child.output[:]
        child.type(b"fg; echo co''de=$?\n")
        child.wait_for(STREAMING)
        stage.end.set()
        child.type(b"c")
        child.wait_for(b"code=0")
        assert b"more." in child.output
        assert child.modes() == before
        child.type(b"exit\n")
        child.exit()
    assert status(stage) == "complete"


def test_quitting_ends_the_tools_too(stage: Stage) -> None:
    """Ctrl+\\ reaches every process that the terminal knows of; what it leaves is removed later."""
    stage.environ["TMPDIR"] = os.path.join(stage.folder, "tmp")
    os.mkdir(stage.environ["TMPDIR"])
    with Server(slow(2), slow(1), answer("Fine.")) as server:
        with stage.start(server) as child:
            wait_until(lambda: len(stage.runs) == 2)
            child.type(b"\x1c")
            assert child.end() == -signal.SIGQUIT  # once no tool holds the terminal, either
            with pytest.raises(ProcessLookupError):
                os.killpg(child.process.pid, 0)
        for name in os.listdir(stage.environ["TMPDIR"]):
            os.utime(os.path.join(stage.environ["TMPDIR"], name), (1.0, 1.0))
        stage.let_tools_go()
        with stage.start(server) as child:
            assert child.end() == 0
    assert os.listdir(stage.environ["TMPDIR"]) == []


@pytest.mark.parametrize("how", ["third press", "SIGQUIT", "SIGTERM", "hang-up"])
def test_what_ends_a_menu_restores_the_terminal(how: str, stage: Stage) -> None:
    with Server([*events(delta("Half")), Pause(stage.end)]) as server:
        with stage.start(server) as child:
            before = child.modes()
            child.wait_for(b"Half")
            press(child, STREAMING)
            wait_until(lambda: child.modes() != before)
            if how == "third press":
                child.type(PRESS)
                child.type(PRESS)
                assert child.exit() == -signal.SIGINT
            elif how == "SIGQUIT":
                child.type(b"\x1c")
                assert child.exit() == -signal.SIGQUIT
            elif how == "SIGTERM":
                child.signal(signal.SIGTERM)
                assert child.exit() == -signal.SIGTERM
            else:
                child.hang_up()
                assert child.exit() == -signal.SIGHUP
            if how != "hang-up":
                assert child.modes() == before
        stage.end.set()
    assert stage.saved is not None
    assert "Half" in "".join(getattr(e.event, "text", "") for e in stage.saved.stream.entries)


@pytest.mark.parametrize("how", ["pipes", "CI", "--non-interactive", "--no-menu"])
def test_where_nobody_is_asked_the_first_press_stops_and_saves(how: str, stage: Stage) -> None:
    options = (how,) if how.startswith("-") else ()
    if how == "CI":
        stage.environ["CI"] = "true"
    with Server([*events(delta("Half")), Pause(stage.end)]) as server:
        with stage.start(server, *options, terminal=how != "pipes") as child:
            child.wait_for(b"Half")
            child.signal(signal.SIGINT)
            assert child.end() == -signal.SIGINT
            assert SAVED in child.output + child.errors
            assert b"[c]ontinue" not in child.output
        stage.end.set()
    assert status(stage) == "interrupted"


def test_a_job_in_the_background_does_not_touch_the_terminal(stage: Stage) -> None:
    environ = {**stage.environ, "PS1": "$ "}
    with Server([*events(delta("Half")), Pause(stage.end)]) as server, Child(
        ["/bin/sh", "-i"], environ, stage.folder, terminal=True
    ) as child:
        url = f"providers.custom.base_url={server.url}"
        command = " ".join(jpq("-m", "custom/test", "--set", url, "go"))
        child.type(f"{command} & wait $!; echo co''de=$?\n".encode())
        child.wait_for(b"Half")
        child.type(b"\x03")  # ends the wait of the shell
        child.type(b"kill -INT %1; wait %1; echo en''ded=$?\n")
        child.wait_for(b"ended=")
        wait_until(lambda: stage.saved is not None)
        assert b"[c]ontinue" not in child.output
        child.type(b"exit\n")
        child.exit()
        stage.end.set()
    assert status(stage) == "interrupted"


@pytest.mark.parametrize(
    ("setting", "code", "ended"),
    [
        ("streaming=stop", 0, "interrupted"),
        ("streaming=abort", 130, None),
        ("streaming=continue", 0, "complete"),
    ],
)
def test_fixed_actions_while_streaming(setting: str, code: int, ended: str, stage: Stage) -> None:
    more = threading.Event()
    middle = [Pause(more), *map(chunk, sse(delta(" more"))), Pause(stage.end)]
    with Server([*events(delta("Half")), *middle, *rest(delta("."))]) as server:
        with stage.start(server, "--set", f"interrupt.{setting}") as child:
            child.wait_for(b"Half")
            child.type(PRESS)
            if ended == "complete":
                child.wait_for(b"^C")
                more.set()
                child.wait_for(b"more")  # whoever showed that has taken note of the key before
                stage.end.set()
            assert child.end() == code
            assert b"[c]ontinue" not in child.output
        more.set()
        stage.end.set()
    if ended is None:
        assert stage.files() == {}
    else:
        assert status(stage) == ended


def test_a_fixed_continue_can_still_be_left_with_two_presses(stage: Stage) -> None:
    """The second one comes when the first has just been dealt with: at once they are one signal."""
    stage.environ["JPQ_TEST_POINTS"] = os.path.join(stage.folder, "points")
    program = [sys.executable, "-m", "tests.support.signalled", "return:_fixed", "0"]
    with Server([*events(delta("Half")), Pause(stage.end)]) as server:
        fixed = stage.argv(server, "--set", "interrupt.streaming=continue")[3:]
        with Child([*program, *fixed], stage.environ, stage.folder, terminal=True) as child:
            child.wait_for(b"Half")
            child.type(PRESS)
            child.wait_for(HELD)
            child.type(PRESS)
            assert child.end() == -signal.SIGINT
        stage.end.set()
    assert status(stage) == "interrupted"


def test_a_fixed_reply_asks_for_the_line_at_once(stage: Stage) -> None:
    with Server([*events(delta("Half")), Pause(stage.end)], answer("Fine.")) as server:
        with stage.start(server, "--set", "interrupt.streaming=reply") as child:
            child.wait_for(b"Half")
            press(child, b"Your reply (Ctrl+D: back): ")
            child.type(b"Shorter\r")
            child.wait_for(b"Fine.")
            assert child.end() == 0
            assert b"[c]ontinue" not in child.output
        assert server.seen[-1].json["messages"][-1]["content"].endswith("Shorter")
        stage.end.set()
    assert status(stage) == "complete"


def test_fixed_actions_while_tools_run(stage: Stage) -> None:
    # The second for a press that a busy machine takes note of when the tool has just ended.
    fixed = ("--set", "interrupt.tools=continue", "--set", "interrupt.streaming=continue")
    with Server(slow(1), answer("Fine.")) as server, stage.start(server, *fixed) as child:
        wait_until(lambda: len(stage.runs) == 1)
        child.type(PRESS)
        child.wait_for(b"^C")
        stage.let_tools_go()
        assert child.end() == 0
        assert b"[c]ontinue" not in child.output
    assert status(stage) == "complete"


def test_a_fixed_response_asks_what_to_tell_the_model(stage: Stage) -> None:
    with Server(slow(2), answer("Fine.")) as server:
        with stage.start(server, "--set", "interrupt.tools=respond") as child:
            wait_until(lambda: len(stage.runs) == 2)
            press(child, b"Tell the model (Enter: nothing, Ctrl+D: back): ")
            child.type(b"Enough\r")
            child.wait_for(b"Fine.")
            assert child.end() == 0
        assert server.seen[-1].json["messages"][-1]["content"] == "Enough"
    assert status(stage) == "complete"


def test_fixed_restart_of_tools(stage: Stage) -> None:
    fixed = ("--set", "interrupt.tools=restart")
    with Server(slow(2), answer("Fine.")) as server, stage.start(server, *fixed) as child:
        wait_until(lambda: len(stage.runs) == 2)
        child.type(PRESS)
        wait_until(lambda: len(stage.runs) == 4)
        stage.let_tools_go()
        assert child.end() == 0


def test_a_graceful_end_that_takes_too_long_is_forced(stage: Stage) -> None:
    deaf = """
[tools.deaf]
description = "Does not listen"
command = ["sh", "-c", "trap '' TERM; echo x >> runs; while [ ! -e go ]; do sleep 0.02; done"]
run = "unattended"
"""
    with open(os.path.join(stage.folder, "home", "config.toml"), "a") as file:
        file.write(deaf)
    with Server(reply(*calls(("deaf", "{}")), DONE)) as server:
        with stage.start(server, "--set", "interrupt.shutdown_s=1.4") as child:
            wait_until(lambda: len(stage.runs) == 1)
            press(child, TOOLS)
            pressed = time.monotonic()
            child.type(PRESS)
            child.wait_for(b"forced in")
            assert child.exit() == 130
            assert time.monotonic() - pressed < 10
        with contextlib.suppress(ProcessLookupError):
            wait_until(lambda: os.killpg(child.process.pid, 0) is not None)


@pytest.mark.parametrize("how", ["press", "SIGTERM"])
def test_an_open_editor_keeps_ctrl_c_and_ends_with_jpq(how: str, stage: Stage) -> None:
    editor = os.path.join(stage.folder, "editor")
    with open(editor, "w") as file:
        file.write('#!/bin/sh\ntrap "echo heard" INT\necho opened >> runs\n')
        file.write("while [ ! -e go ]; do sleep 0.02; done; exit 0\n")
    os.chmod(editor, 0o700)
    stage.environ["EDITOR"] = editor
    scene = SCENES["permission"]
    with Server(*scene.scripts(stage.end)) as server, stage.start(server) as child:
        before = child.modes()
        child.wait_for(scene.seen)
        child.type(b"e")
        wait_until(lambda: len(stage.runs) == 1)
        if how == "press":
            child.type(PRESS)
            child.wait_for(b"heard")
            stage.let_tools_go()
            assert child.end() == 0, child.output
            assert b"[c]ontinue" not in child.output and b"Fine." in child.output
        else:
            child.signal(signal.SIGTERM)
            assert child.end() == -signal.SIGTERM
        assert child.modes() == before
    assert status(stage) == ("complete" if how == "press" else "interrupted")


def test_a_terminal_that_cannot_erase_keeps_plain_lines(stage: Stage) -> None:
    stage.environ["TERM"] = "dumb"
    script = [*events(delta("Half")), Pause(stage.end), *rest(delta(" more."))]
    with Server(script) as server, stage.start(server) as child:
        child.wait_for(b"Half")
        press(child, STREAMING)
        child.type(b"c\n")
        stage.end.set()
        assert child.end() == 0
        assert b"\x1b" not in child.output


def test_help_explains_each_key(stage: Stage) -> None:
    with Server([*events(delta("Half")), Pause(stage.end)]) as server:
        with stage.start(server) as child:
            child.wait_for(b"Half")
            press(child, STREAMING)
            child.type(b"?")
            child.wait_for(b"ends with 130.\r\n")
            del child.output[: child.output.index(b"ends with 130.\r\n")]
            child.wait_for(MENU)  # on a line of its own, below
            child.type(b"s")
            assert child.end() == 0
        stage.end.set()


def test_nobody_reads_the_terminal(stage: Stage) -> None:
    """Nobody sees the menu; the second press ends the run all the same."""
    text = "".join(f"word {number} of many\n" for number in range(20_000))
    with Server([*events(delta(text)), Pause(stage.end)]) as server:
        with stage.start(server) as child:
            wait_until(lambda: sum(map(len, stage.files().values())) > len(text))
            child.signal(signal.SIGINT)
            time.sleep(0.3)  # two presses at once would be one signal
            if child.process.poll() is None:
                child.signal(signal.SIGINT)
            assert child.exit() == -signal.SIGINT
        stage.end.set()
    assert status(stage) == "interrupted"


def test_scenes_have_all_places() -> None:
    assert {scene.place for scene in SCENES.values()} == set(Place) - {Place.BETWEEN}


def test_an_interrupted_call_says_how_far_it_got(stage: Stage) -> None:
    with Server(slow(1)) as server, stage.start(server) as child:
        wait_until(lambda: len(stage.runs) == 1)
        press(child, TOOLS)
        child.type(b"s")
        assert child.end() == 0
    assert stage.saved is not None
    results = [e.event for e in stage.saved.stream.entries if isinstance(e.event, ToolResponse)]
    assert len(results) == 1
    assert "Cancelled after" in results[0].content and "begun" in results[0].content
