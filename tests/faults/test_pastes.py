"""Pasted texts and edited lines at menus and prompts, on a real terminal."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Iterator, List, Tuple

import pytest

from jpq.interrupt.menus import Place
from tests.support.pressing import MARK, PRESS, Stage, calls, events, press, rest, wait_until
from tests.support.ptys import Child
from tests.support.server import DONE, Pause, Server, answer, delta, reply

STREAMING = MARK[Place.STREAMING]
ON, OFF = b"\x1b[?2004h", b"\x1b[?2004l"


def pasted(text: str) -> bytes:
    """What a terminal that marks pastes sends, with the line ends of a terminal."""
    return b"\x1b[200~" + text.replace("\n", "\r").encode() + b"\x1b[201~"


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(str(tmp_path))
    yield stage
    stage.end.set()
    stage.let_tools_go()


def half(stage: Stage) -> List[object]:
    return [*events(delta("Half")), Pause(stage.end), *rest(delta(" more."))]


def marks(child: Child) -> Tuple[int, int]:
    """How often pastes were to be marked, and not to be marked any more; which came last is
    checked, too."""
    output = bytes(child.output)
    assert output.rfind(OFF) > output.rfind(ON) >= 0
    return output.count(ON), output.count(OFF)


def replied(stage: Stage, child: Child, server: Server, keys: bytes, shown: bytes) -> str:
    """The person's reply, typed as ``keys``."""
    child.wait_for(b"Half")
    press(child, STREAMING)
    child.type(b"r")
    child.wait_for(b"Your reply (Ctrl+D: back): ")
    child.type(keys)
    child.wait_for(shown)
    child.type(b"\r")
    child.wait_for(b"Fine.")
    assert child.end() == 0
    content = server.seen[-1].json["messages"][-1]["content"]
    return str(content).rpartition("go\n\n")[2]


def test_a_pasted_text_is_one_answer(stage: Stage) -> None:
    with Server(half(stage), answer("Fine.")) as server, stage.start(server) as child:
        keys = b"See: " + pasted("first\n\tsecond\n") + b"!"
        said = replied(stage, child, server, keys, "first↵ second↵!".encode())
        assert said == "See: first\n\tsecond\n!"
        assert marks(child)[0] == marks(child)[1]


def test_a_line_can_be_mended(stage: Stage) -> None:
    with Server(half(stage), answer("Fine.")) as server, stage.start(server) as child:
        keys = b"wrong\x15Not this onn\x7fe \x1b[A\x1b[3~\x17\xe4\xb8\x96\xe7\x95\x8c\x04"
        assert replied(stage, child, server, keys, "世界".encode()) == "Not this 世界"


def test_a_long_line_is_erased_row_by_row(stage: Stage) -> None:
    """80 columns are what a terminal of unknown width is taken for: 26 of the question, 120."""
    with Server(half(stage), answer("Fine.")) as server, stage.start(server) as child:
        keys = b"x" * 120 + b"\x15short"
        shown = b"\r\x1b[1A\x1b[JYour reply (Ctrl+D: back): short"
        assert replied(stage, child, server, keys, shown) == "short"


def test_ctrl_d_goes_back_only_from_an_empty_line(stage: Stage) -> None:
    with Server(half(stage)) as server, stage.start(server) as child:
        child.wait_for(b"Half")
        press(child, STREAMING)
        child.type(b"r")
        child.wait_for(b"back): ")
        del child.output[:]
        child.type(b"x\x04y\x7f\x7f\x04")
        child.wait_for(STREAMING)
        child.type(b"s")
        assert child.end() == 0


def test_a_pasted_text_chooses_nothing_in_a_menu(stage: Stage) -> None:
    with Server(half(stage)) as server, stage.start(server) as child:
        child.wait_for(b"Half")
        press(child, STREAMING)
        child.type(pasted("stop it, and abort\nrs"))
        child.type(b"c")
        child.wait_for(b"\x1b[J")
        stage.end.set()
        assert child.end() == 0
        assert b"more." in child.output
        assert marks(child) == (1, 1)


def test_a_pasted_text_answers_no_further_question(stage: Stage) -> None:
    """Calls that run side by side ask in the order in which they come to it."""
    two = [("ask_user", '{"question": "First?"}'), ("ask_user", '{"question": "Second?"}')]
    script = reply(*calls(*two), DONE)
    with Server(script, answer("Fine.")) as server:
        with stage.start(server, "-t", "ask_user") as child:
            child.wait_for(b"?\r\n> ")
            asked = [b"First?\r\n> ", b"Second?\r\n> "]
            asked.sort(key=lambda question: question not in child.output)
            assert asked[1] not in child.output
            child.type(pasted("one\ntwo\nthree"))
            child.wait_for(b"three")
            child.type(b"\r")
            child.wait_for(asked[1])
            child.type(b"four\r")
            assert child.end() == 0
        results = [m["content"] for m in server.seen[-1].json["messages"] if m["role"] == "tool"]
    said = ["one\ntwo\nthree", "four"]
    assert results == (said if asked[0].startswith(b"First") else said[::-1])


def test_a_pasted_text_permits_nothing(stage: Stage) -> None:
    script = reply(*calls(("asks", '{"n": 0}')), DONE)
    with Server(script, answer("Fine.")) as server, stage.start(server) as child:
        child.wait_for(b"[x] result mode [?] ")
        child.type(pasted("yes\nyes\n"))
        child.type(b"n")
        child.wait_for(b"no reason) ")
        child.type(b"\r")
        child.wait_for(b"Fine.")
        assert child.end() == 0
    assert stage.runs == []


def test_where_pastes_cannot_be_marked_lines_of_one_burst_are_one(stage: Stage) -> None:
    stage.environ["TERM"] = "dumb"
    with Server(half(stage), answer("Fine.")) as server, stage.start(server) as child:
        said = replied(stage, child, server, b"first\nsecond", b"second")
        assert said == "first\nsecond"
        assert b"\x1b" not in child.output


@pytest.mark.parametrize("where", ["menu", "line"])
@pytest.mark.parametrize("how", ["presses", "SIGQUIT", "SIGTERM", "EOF"])
def test_pastes_are_marked_no_more_however_it_ends(how: str, where: str, stage: Stage) -> None:
    with Server(half(stage)) as server, stage.start(server) as child:
        before = child.modes()
        child.wait_for(b"Half")
        press(child, STREAMING)
        if where == "line":
            child.type(b"r")
            child.wait_for(b"back): ")
            child.type(b"unfinished")
            child.wait_for(b"unfinished")
        wait_until(lambda: child.modes() != before)
        if how == "presses":
            child.type(PRESS)
            child.type(PRESS)
            assert child.end() == -signal.SIGINT
        elif how == "SIGQUIT":
            child.type(b"\x1c")
            assert child.end() == -signal.SIGQUIT
        elif how == "SIGTERM":
            child.signal(signal.SIGTERM)
            assert child.end() == -signal.SIGTERM
        else:
            if where == "line":
                del child.output[:]
                child.type(b"\x15\x04")
                child.wait_for(STREAMING)
            child.type(b"\x04")  # in the menu that means to go on
            stage.end.set()
            assert child.end() == 0
        marks(child)
        assert child.modes() == before
    assert stage.saved is not None


def test_a_stopped_process_leaves_pastes_to_the_shell(stage: Stage) -> None:
    environ = {**stage.environ, "PS1": "$ "}
    shell = Child(["/bin/sh", "-i"], environ, stage.folder, terminal=True)
    with Server(half(stage)) as server, shell as child:
        child.type(" ".join(stage.argv(server)).encode() + b"\n")
        child.wait_for(b"Half")
        press(child, STREAMING)
        child.type(b"r")
        child.wait_for(b"back): ")
        child.type(b"beg")
        child.wait_for(b"beg")
        child.type(b"\x1a")
        child.wait_for(b"Stopped")
        marks(child)
        del child.output[:]
        child.type(b"fg; echo co''de=$?\n")
        child.wait_for(ON)
        child.wait_for(b"Your reply (Ctrl+D: back): beg")
        child.type(b"\x15\x04")
        child.wait_for(STREAMING)
        child.type(b"s")
        child.wait_for(b"code=0")
        marks(child)
        child.type(b"exit\n")
        child.exit()
