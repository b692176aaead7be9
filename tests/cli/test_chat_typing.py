"""How messages are typed in ``jpq chat``: history, completion, pastes, several lines."""

from __future__ import annotations

import os
import re
import stat
import sys
from typing import Any

import pytest

from jpq.cli.chat.history import History
from tests.support.chatting import (
    LOOK,
    WITHOUT_READLINE,
    Desk,
    answered,
    leave,
    press,
    prompt_behind,
    say,
)
from tests.support.programs import question
from tests.support.server import Server, answer

UP, TAB = b"\x1b[A", b"\t"
PASTED = b"\x1b[200~def f():\r    return 1\r\rf()\x1b[201~"
TEXT = "def f():\n    return 1\n\nf()"


@pytest.fixture
def desk(tmp_path: Any) -> Desk:
    return Desk(str(tmp_path))


def asked(server: Server) -> Any:
    return [question(seen) for seen in server.seen]


def test_arrow_keys_find_what_was_typed_also_in_the_next_chat(desk: Desk) -> None:
    with Server(answer("Fine.")) as server:
        with desk.chat(server) as child:
            say(child, '"""one', b"...")
            say(child, 'two"""')
            say(child, "/tokens")
            assert leave(child) == 0
        with desk.chat(server) as child:
            press(child, UP, b"/tokens")
            press(child, UP, b"two")
            answered(child, b"\r", b"Fine.")
            assert leave(child) == 0
    assert asked(server) == ["one\ntwo"] * 2
    (folder,) = [each[0] for each in os.walk(desk.folder) if each[0].endswith("chat-history")]
    (name,) = os.listdir(folder)
    assert stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode) == 0o600


def test_entries_that_no_line_can_hold_are_passed_over(desk: Desk) -> None:
    history = History(os.path.join(desk.folder, "home", "state"), os.path.realpath(desk.work))
    for text in ("good", "a NUL \0", "half a pair \ud800"):
        history.add(text)
    with Server(answer("Fine.")) as server, desk.chat(server) as child:
        press(child, UP, b"good")
        answered(child, b"\r", b"Fine.")
        assert leave(child) == 0
    assert asked(server) == ["good"]


def test_an_ephemeral_chat_leaves_no_history(desk: Desk) -> None:
    with Server(answer("Fine.")) as server, desk.chat(server, "--ephemeral") as child:
        say(child, "a secret")
        assert leave(child) == 0
    assert not [each for each in os.walk(desk.folder) if b"a secret" in _contents(*each)]


def _contents(folder: str, _: Any, names: Any) -> bytes:
    found = b""
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            found += file.read()
    return found


@pytest.mark.parametrize("program", [(), WITHOUT_READLINE], ids=["readline", "no readline"])
def test_a_pasted_text_is_one_message(program: Any, desk: Desk) -> None:
    with Server(answer("Fine.")) as server, desk.chat(server, program=program) as child:
        assert b"\x1b[?2004h" in child.output
        answered(child, PASTED + b"\r", b"Fine.")
        assert leave(child) == 0
    assert asked(server) == [TEXT]


def test_lines_in_a_burst_are_one_message_where_no_paste_is_marked(desk: Desk) -> None:
    changes = {"TERM": "dumb"}
    with Server(answer("Fine.")) as server, desk.chat(server, changes=changes) as child:
        answered(child, b"one\ntwo\nthree\n", b"Fine.")
        say(child, "four")
        assert leave(child) == 0
        assert b"\x1b" not in child.output
    assert asked(server) == ["one\ntwo\nthree", "four"]


@pytest.mark.parametrize("program", [(), WITHOUT_READLINE], ids=["readline", "no readline"])
def test_several_lines_are_one_message_where_they_say_so(program: Any, desk: Desk) -> None:
    with Server(answer("Fine.")) as server, desk.chat(server, program=program) as child:
        say(child, '"""', b"...")
        say(child, "one", b"...")
        say(child, "/help", b"...")
        say(child, '"""')
        say(child, "a\\", b"...")
        say(child, "b")
        say(child, '"""open', b"...")
        press(child, b"\x04")  # Ctrl+D ends the message
        assert leave(child) == 0
    assert asked(server) == ["one\n/help", "a\nb", "open"]


def test_ctrl_c_drops_a_message_of_several_lines_and_up_has_it_again(desk: Desk) -> None:
    with Server(answer("Fine.")) as server, desk.chat(server) as child:
        say(child, '"""one', b"...")
        say(child, "two", b"...")
        child.type(b"thr")
        child.wait_for(b"thr")
        press(child, b"\x03")
        press(child, UP, b"thr")
        answered(child, b"ee\r", b"Fine.")
        assert leave(child) == 0
    assert asked(server) == ["one\ntwo\nthree"]


def test_the_tab_key_completes_commands_models_tools_and_files(desk: Desk) -> None:
    for name in ("notes.txt", "note two.txt"):
        with open(os.path.join(desk.work, name), "w", encoding="utf-8") as file:
            file.write("Notes.\n")
    home = os.path.join(desk.folder, "home")
    with open(os.path.join(home, "config.toml"), "w", encoding="utf-8") as file:
        file.write('[aliases]\nspeedy = "custom/quick"\n[tools.count]\ndescription = "Counts"\n')
        file.write('command = ["true"]\n')
    with Server(answer("Fine.")) as server, desk.chat(server) as child:
        press(child, b"/mod" + TAB, b"/model ")
        answered(child, b"spee" + TAB + b"\r", b"custom/quick answers from now on.")
        press(child, b"/too" + TAB, b"/tools ")
        assert b"[x] count" in press(child, b"cou" + TAB + b"\r")
        press(child, b"/att" + TAB, b"/attach ")
        assert b"notes.txt (text/plain" in press(child, b"notes" + TAB + b"\r")
        press(child, b"look at ./notes" + TAB, b"./notes.txt")
        answered(child, b"\r", b"Fine.")
        assert leave(child) == 0
    assert server.seen[0].json["model"] == "quick"
    assert asked(server)[0].endswith("look at ./notes.txt ") or "Notes." in asked(server)[0]


def test_without_colours_all_is_in_words(desk: Desk) -> None:
    with Server(answer("Fine.")) as server, desk.chat(server, changes={"NO_COLOR": "1"}) as child:
        shown = child.output + say(child, "hi") + say(child, "/help") + say(child, "/nope")
        assert leave(child) == 0
    assert re.sub(rb"\x1b\[0?m", b"", shown) == LOOK.sub(b"", shown)
    for word in (b"You: ", b"custom/test:\r\n", b"Fine.", b"jpq: There is no command /nope."):
        assert word in shown


def test_a_dumb_terminal_gets_no_control_sequence(desk: Desk) -> None:
    changes = {"TERM": "dumb", "INSIDE_EMACS": "29.1,comint"}
    with Server(answer("Fine.")) as server, desk.chat(server, changes=changes) as child:
        shown = bytes(child.output) + say(child, "hi") + say(child, "/help")
        shown += press(child, b"\x03") + press(child, b"/show\r", b"Assistant:")
        shown += prompt_behind(child, b"Fine.") + say(child, "/clear")
        assert leave(child) == 0
        shown += bytes(child.output)
    assert b"\x1b" not in shown and b"\r\nGoodbye." in shown
    assert b"custom/test:\r\nFine.\r\n" in shown and b"Ctrl+D leaves the chat." in shown


def test_clear_empties_the_screen_and_not_what_has_scrolled_off_it(desk: Desk) -> None:
    with Server(answer("Fine.")) as server, desk.chat(server) as child:
        say(child, "hi")
        shown = say(child, "/clear")
        assert leave(child) == 0
    assert b"\x1b[2J" in shown and b"\x1b[3J" not in shown


def test_only_answers_go_to_a_file(desk: Desk) -> None:
    """``jpq chat | tee log``: readline and all that is said are on the terminal."""
    log = os.path.join(desk.folder, "log")
    program = ("sh", "-c", f'exec "$0" -m jpq "$@" >{log}')
    with Server(answer("Fine."), answer("Still fine.")) as server:
        with desk.chat(server, program=(*program, sys.executable)) as child:
            answered(child, b"hix" + b"\x7f" + b"\r", b"\r\n")
            answered(child, b"/tokens\r", b"tokens long")
            say(child, "again")
            assert leave(child) == 0
        assert asked(server) == ["hi", "again"]
    with open(log, "rb") as file:
        assert file.read() == b"Fine.\n\nStill fine.\n"
    assert b"Fine." not in child.output
