"""``jpq chat`` on a real terminal."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import threading
from typing import Any, List

import pytest

from jpq.interrupt.menus import Place as Menu
from tests.support.chatting import (
    LOOK,
    PROMPT,
    Desk,
    answered,
    fresh_modes,
    leave,
    press,
    prompt_behind,
    say,
)
from tests.support.pressing import MARK, PRESS, events, rest, wait_until
from tests.support.programs import conversations, entries, question
from tests.support.ptys import WAIT_S, Child, run
from tests.support.server import DONE, FINISH, Pause, Server, answer, delta, error, reply


@pytest.fixture
def desk(tmp_path: Any) -> Desk:
    return Desk(str(tmp_path))


def saved(desk: Desk) -> List[Any]:
    """The entries of the only conversation."""
    (folder,) = conversations(os.path.join(desk.folder, "home"))
    return entries(folder)


def test_messages_and_answers_follow_each_other(desk: Desk) -> None:
    script = [answer("Fine."), answer("Still fine.")]
    with Server(*script) as server, desk.chat(server, "-u") as child:
        assert b"custom/test answers. /help lists the commands" in child.output
        shown = LOOK.sub(b"", say(child, "How are you?"))
        assert b"custom/test:\r\nFine.\r\n" in shown
        assert b"jpq: tokens: 7 in, 3 out" in shown
        assert b"\xe2\x94\x80" * 20 in shown  # the line between two turns
        assert b"Still fine." in say(child, "And now?")
        assert leave(child) == 0
        assert child.modes() == fresh_modes()
    (folder,) = conversations(os.path.join(desk.folder, "home"))
    assert (
        f"Goodbye. Come back with: jpq chat -r {os.path.basename(folder)}".encode() in child.output
    )
    assert [question(seen) for seen in server.seen] == ["How are you?", "And now?"]
    assert [entry["type"] for entry in entries(folder)] == [
        "chat_request",
        "chat_response",
        "turn_end",
    ] * 2


def test_quiet_leaves_the_prompt_and_the_answer(desk: Desk) -> None:
    with Server(answer("Fine.")) as server, desk.chat(server, "-q") as child:
        shown = LOOK.sub(b"", say(child, "hi"))
        assert b"custom/test" not in child.output and "\u2500".encode() not in shown
        assert b"Fine.\r\n" in shown
        assert leave(child) == 0
    assert b"Goodbye" not in child.output


def test_the_line_is_cleared_and_an_empty_one_says_how_to_leave(desk: Desk) -> None:
    with Server(answer("Fine.")) as server, desk.chat(server) as child:
        child.type(b"unfinished")
        child.wait_for(b"unfinished")
        assert b"Ctrl+D" not in press(child, PRESS)
        for _ in range(5):
            assert b"Ctrl+D leaves the chat." in press(child, PRESS)
        say(child, "hello")
        assert leave(child) == 0
    assert [question(seen) for seen in server.seen] == ["hello"]


def test_a_failed_turn_is_told_and_can_be_asked_again(desk: Desk) -> None:
    bad = error("400 Bad Request", b'{"error": {"message": "No."}}')
    with Server(bad, answer("Now it works.")) as server, desk.chat(server) as child:
        assert b"No." in say(child, "a question")
        assert b"Now it works." in say(child, "/retry")
        assert leave(child) == 0
    assert [question(seen) for seen in server.seen] == ["a question", "a question"]


def test_stop_returns_to_the_prompt_and_retry_goes_on(desk: Desk) -> None:
    end = threading.Event()
    script = [*events(delta("Half an ")), Pause(end), *rest(delta("answer."))]
    with Server(script, answer("and the rest.")) as server, desk.chat(server) as child:
        say(child, "go", b"Half an")
        press(child, PRESS, MARK[Menu.STREAMING])
        shown = press(child, b"s")
        end.set()
        assert b"Stopped; what arrived is saved. Go on with: /retry" in shown
        assert b"and the rest." in say(child, "/retry")
        assert leave(child) == 0
    statuses = [entry["status"] for entry in saved(desk) if entry["type"] == "turn_end"]
    assert statuses == ["interrupted", "complete"]


def test_what_is_discarded_can_be_asked_again(desk: Desk) -> None:
    end = threading.Event()
    script = [*events(delta("Half an ")), Pause(end), *rest(delta("answer."))]
    with Server(script, answer("Whole.")) as server, desk.chat(server) as child:
        say(child, "go on", b"Half an")
        press(child, PRESS, MARK[Menu.STREAMING])
        press(child, b"a")
        end.set()
        assert b"Whole." in say(child, "/retry")
        assert leave(child) == 0
    asked = [entry["content"] for entry in saved(desk) if entry["type"] == "chat_request"]
    assert asked == ["go on"]


def test_a_second_press_ends_the_chat(desk: Desk) -> None:
    end = threading.Event()
    with Server([*events(delta("Half")), Pause(end)]) as server, desk.chat(server) as child:
        say(child, "go", b"Half")
        press(child, PRESS, MARK[Menu.STREAMING])
        child.type(PRESS)
        assert child.end() == -signal.SIGINT
        end.set()
        assert b"Come back with: jpq chat -r" in child.output
    assert [entry["type"] for entry in saved(desk)] == ["chat_request", "chat_response", "turn_end"]


@pytest.mark.parametrize(
    "signum", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT], ids=lambda each: each.name
)
@pytest.mark.parametrize("answering", [False, True], ids=["at the prompt", "in a turn"])
def test_a_signal_ends_the_chat(signum: signal.Signals, answering: bool, desk: Desk) -> None:
    end = threading.Event()
    script = [*events(delta("Half")), Pause(end)]
    with Server(answer("First."), script) as server, desk.chat(server) as child:
        say(child, "go")
        if answering:
            say(child, "go on", b"Half")
        else:
            child.type(b"unfinished")
            child.wait_for(b"unfinished")
        child.signal(signum)
        assert child.exit() == -signum
        assert child.modes() == fresh_modes()
        end.set()
    said = saved(desk)
    assert [entry["type"] for entry in said].count("chat_request") == (2 if answering else 1)
    if signum != signal.SIGQUIT:  # which leaves at once
        assert said[-1]["type"] == "turn_end"


def test_a_signal_at_the_prompt_counts_while_garbage_is_collected(desk: Desk) -> None:
    """Then Python may drop what a handler raised and say KeyboardInterrupt instead."""
    code = "import gc; gc.set_threshold(1); from jpq.cli.main import main; main()"
    program = (sys.executable, "-c", code)
    with Server(answer("Fine.")) as server, desk.chat(server, program=program) as child:
        press(child, b"unfinished", b"unfinished")
        for _ in range(3):
            press(child, PRESS)
        assert b"Fine." in say(child, "go")
        child.signal(signal.SIGTERM)
        assert child.exit() == -signal.SIGTERM


def test_a_terminal_that_is_held_does_not_hold_up_the_end(desk: Desk) -> None:
    end = threading.Event()
    with Server([*events(delta("Half")), Pause(end)]) as server, desk.chat(server) as child:
        say(child, "go", b"Half")
        child.type(b"\x13")  # Ctrl+S
        child.signal(signal.SIGTERM)
        assert child.exit() == -signal.SIGTERM  # 143 if it had to be forced
        end.set()


def test_a_hung_up_terminal_ends_the_chat(desk: Desk) -> None:
    with Server(answer("Fine.")) as server, desk.chat(server) as child:
        say(child, "go")
        child.hang_up()
        assert child.exit() == -signal.SIGHUP
    assert [e["type"] for e in saved(desk)].count("turn_end") == 1


def test_the_words_of_the_command_are_the_first_message(desk: Desk) -> None:
    with Server(answer("Fine.")) as server, desk.chat(server, "how", "are you?") as child:
        child.wait_for(b"Fine.")
        assert b"You: how are you?\r\n" in LOOK.sub(b"", child.output)
        prompt_behind(child, b"Fine.")
        answered(child, b"\x1b[A\r", b"Fine.")
        assert leave(child) == 0
    assert [question(seen) for seen in server.seen] == ["how are you?"] * 2


def test_ctrl_z_gives_the_shell_its_terminal_and_fg_shows_the_line_again(desk: Desk) -> None:
    with Server(answer("Fine.")) as server:
        command = shlex.join(desk.argv(server)).encode()
        shell = ["bash", "--norc", "--noprofile", "-i"]
        with Child(shell, {**desk.environ, "PS1": "$ "}, desk.work, terminal=True) as child:
            child.wait_for(b"$ ")
            say(child, "bind 'set enable-bracketed-paste off'", b"$ ")
            press(child, command + b"\r", b"custom/test answers")
            child.wait_for(PROMPT)
            press(child, b"some", b"some")
            press(child, b"\x1a", b"Stopped")
            press(child, b"fg\r", b"some")
            assert b"Fine." in answered(child, b" words\r", b"\r\n") + child.output
            press(child, b"\x04", b"Goodbye")
            child.wait_for(b"$ ")
            press(child, b"exit\r", b"exit")
            assert child.end() == 0
    assert [question(seen) for seen in server.seen] == ["some words"]


def test_an_old_conversation_says_what_it_is_and_whether_its_answer_is_whole(desk: Desk) -> None:
    end = threading.Event()
    script = [*events(delta("Half an ")), Pause(end), *rest(delta("answer."))]
    with Server(script, answer("rest.")) as server:
        with desk.chat(server) as child:
            say(child, "A long question", b"Half an")
            press(child, PRESS, MARK[Menu.STREAMING])
            shown = press(child, b"?", MARK[Menu.STREAMING])
            assert b"back to the prompt; what arrived is saved" in shown
            press(child, b"s")
            end.set()
            assert leave(child) == 0
        with desk.chat(server, "-c") as child:
            assert b"This goes on: A long question (1 turn)" in child.output
            assert b"/retry goes on with it." in child.output
            assert b"rest." in say(child, "/retry")
            shown = LOOK.sub(b"", press(child, b"/show\r", b"Half an rest."))
            assert b"You:\r\nA long question\r\n" in shown and b"Assistant:\r\nHalf" in shown
            prompt_behind(child, b"Half an rest.")
            assert leave(child) == 0


def test_a_conversation_in_use_is_not_talked_in_twice(desk: Desk) -> None:
    with Server(answer("Fine.")) as server, desk.chat(server) as child:
        say(child, "hello")
        wait = ("--set", "conversation.lock_wait_s=0")
        ran = run(desk.argv(server, "-c", *wait), desk.environ, desk.work)
        assert ran.process.returncode == 75
        assert leave(child) == 0


def test_a_terminal_that_is_not_the_controlling_one_will_do(desk: Desk) -> None:
    """As in some containers: nothing but stdin, stdout and stderr leads to it."""
    with Server(answer("Fine.")) as server:
        master, side = os.openpty()
        channels = {"stdin": side, "stdout": side, "stderr": side}
        process = subprocess.Popen(
            desk.argv(server), env=desk.environ, cwd=desk.work, start_new_session=True, **channels
        )
        os.close(side)
        seen = b""
        for keys, until in ((b"hello\r", b"You:"), (b"\x04", b"Fine.")):
            while until not in seen:
                seen += os.read(master, 65536)
            if until == b"Fine.":
                while b"You:" not in seen.rpartition(b"Fine.")[2]:
                    seen += os.read(master, 65536)
            os.write(master, keys)
        with contextlib.suppress(OSError):  # EIO: all have closed it
            while True:
                seen += os.read(master, 65536)
        os.close(master)
        assert process.wait(WAIT_S) == 0
    assert b"Goodbye." in seen


def test_ctrl_c_gives_up_a_command_that_works(desk: Desk) -> None:
    end = threading.Event()
    stalled = [*events(delta("Half")), Pause(end)]
    script = [answer("One."), answer("Two."), stalled, stalled, answer("Three.")]
    with Server(*script) as server, desk.chat(server) as child:
        say(child, "first")
        say(child, "second")
        child.type(b"/compact summary\r")
        wait_until(lambda: len(server.seen) == 3)
        assert b"Interrupted; nothing has changed." in press(child, PRESS)
        child.type(f"/attach {server.url}/page\r".encode())
        wait_until(lambda: len(server.seen) == 4)
        assert b"Interrupted; nothing has changed." in press(child, PRESS)
        assert b"Three." in say(child, "third")
        end.set()
        assert leave(child) == 0
    assert len(server.seen[-1].json["messages"]) == 5


def test_a_fault_in_a_command_does_not_end_the_chat(desk: Desk) -> None:
    os.makedirs(os.path.join(desk.work, "folder.md"))
    with Server(answer("One.")) as server, desk.chat(server) as child:
        say(child, "first")
        assert b"jpq: " in say(child, "/save folder.md")
        assert b"One." in say(child, "/show", b"One.")
        prompt_behind(child, b"One.")
        assert leave(child) == 0


def test_ctrl_c_while_nobody_reads_the_answer_leads_back_to_the_prompt(desk: Desk) -> None:
    fifo = os.path.join(desk.folder, "fifo")
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    program = ("sh", "-c", f'exec "$0" -m jpq "$@" >{fifo}', sys.executable)
    script = reply(*[delta("word " * 1000)] * 40, FINISH, DONE)  # more than a pipe takes
    with Server(script) as server, desk.chat(server, program=program) as child:
        child.type(b"hello\r")
        wait_until(lambda: _types(desk)[-1:] == ["turn_end"])
        press(child, PRESS)
        while child.process.poll() is None:
            with contextlib.suppress(BlockingIOError):
                os.read(reader, 65536)
            child.type(b"\x04")
            child.read(0.05)
        assert child.end() == 0
    os.close(reader)


def _types(desk: Desk) -> List[str]:
    """The types of all entries so far; nothing while one is being written."""
    folders = conversations(os.path.join(desk.folder, "home"))
    try:
        return [entry["type"] for folder in folders for entry in entries(folder)]
    except (FileNotFoundError, ValueError):
        return []
