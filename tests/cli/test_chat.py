"""``jpq chat`` on a real terminal."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any, List

import pytest

from jpq.interrupt.menus import Place as Menu
from tests.support.chatting import LOOK, Desk, fresh_modes, leave, press, say
from tests.support.pressing import MARK, PRESS, events, rest
from tests.support.programs import conversations, entries, question
from tests.support.server import Pause, Server, answer, delta, error


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
    assert [entry["type"] for entry in saved(desk)] == ["chat_request", "chat_response", "turn_end"]


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGHUP], ids=lambda each: each.name)
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
    assert [e["type"] for e in saved(desk)].count("turn_end") == (2 if answering else 1)


def test_a_hung_up_terminal_ends_the_chat(desk: Desk) -> None:
    with Server(answer("Fine.")) as server, desk.chat(server) as child:
        say(child, "go")
        child.hang_up()
        assert child.exit() == -signal.SIGHUP
    assert [e["type"] for e in saved(desk)].count("turn_end") == 1
