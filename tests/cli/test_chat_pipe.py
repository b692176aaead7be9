"""``jpq chat`` where lines come from a pipe: one line, one turn."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest

from jpq.cli.chat import messages
from jpq.errors import BadInputError
from tests.support.pressing import events
from tests.support.programs import (
    JPQ,
    WAIT_S,
    conversations,
    entries,
    environment,
    jpq,
    model_at,
    question,
    signalled,
)
from tests.support.server import Pause, Server, answer, delta, error


def test_each_line_is_a_turn_of_one_conversation() -> None:
    with Server(answer("One."), answer("Two.")) as server:
        ran = jpq("chat", *model_at(server), stdin=b"first\n\nsecond\n")
    assert (ran.code, ran.text, ran.err) == (0, "One.\n\nTwo.\n", b"")
    assert [question(seen) for seen in server.seen] == ["first", "second"]
    assert len(server.seen[1].json["messages"]) == 3
    (folder,) = conversations()
    types = [entry["type"] for entry in entries(folder)]
    assert types == ["chat_request", "chat_response", "turn_end"] * 2


def test_a_line_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "_LONGEST_BYTES", 1 << 20)
    with open("/dev/zero", "rb") as zero, pytest.raises(BadInputError, match="longer than 1 MiB"):
        messages.PipedMessages(zero, print).next()


def test_bytes_that_are_no_utf_8_are_told_once() -> None:
    with Server(answer("One."), answer("Two.")) as server:
        ran = jpq("chat", *model_at(server), stdin=b"caf\xe9\nna\xefve \xef\xbf\xbd\n")
    assert (ran.code, ran.text) == (0, "One.\n\nTwo.\n")
    assert [question(seen) for seen in server.seen] == ["caf\ufffd", "na\ufffdve \ufffd"]
    assert ran.err.decode().count("not UTF-8") == 1


def test_the_words_are_the_first_message() -> None:
    with Server(answer("One."), answer("Two.")) as server:
        ran = jpq("chat", *model_at(server), "say", "one", stdin=b"say two")
    assert (ran.code, ran.text) == (0, "One.\n\nTwo.\n")
    assert [question(seen) for seen in server.seen] == ["say one", "say two"]


def test_a_failed_turn_does_not_end_the_chat_but_is_its_code() -> None:
    bad = error("400 Bad Request", b'{"error": {"message": "No."}}')
    with Server(bad, answer("Two.")) as server:
        ran = jpq("chat", *model_at(server), stdin=b"first\nsecond\n")
    assert (ran.code, ran.text) == (1, "Two.\n")
    assert "No." in ran.told[0]


def test_the_time_limit_is_that_of_each_turn() -> None:
    end = threading.Event()
    with Server([*events(delta("Half")), Pause(end)], answer("Two.")) as server:
        options = ["--timeout", "3", *model_at(server)]
        ran = jpq("chat", *options, stdin=b"first\nsecond\n")
        end.set()
    assert (ran.code, ran.text) == (124, "Half\n\nTwo.\n")
    assert b"Raise --timeout, or go on with: /retry" in ran.err


def test_nothing_on_stdin_is_no_turn() -> None:
    ran = jpq("chat", "-m", "scripted/nowhere.toml")
    assert ran.code == 78  # the script cannot be read
    with Server() as server:
        ran = jpq("chat", *model_at(server))
    assert (ran.code, ran.out, ran.err) == (0, b"", b"")
    assert not conversations()


def test_several_lines_are_one_message_where_they_say_so() -> None:
    lines = b'"""\nline one\n\n  line two\n"""\nand \\\nmore\n"""open\nat the end'
    with Server(*[answer("Ok.")] * 3) as server:
        ran = jpq("chat", *model_at(server), stdin=lines)
    assert ran.code == 0
    asked = [question(seen) for seen in server.seen]
    assert asked == ["line one\n\n  line two", "and \nmore", "open\nat the end"]


def test_a_slash_begins_a_command_and_two_begin_a_message(tmp_path: Any) -> None:
    with Server(answer("Ok.")) as server:
        ran = jpq("chat", *model_at(server), stdin=b"/hepl\n//etc is a folder\n/exit\nunsaid\n")
    assert (ran.code, ran.text) == (0, "Ok.\n")
    assert [question(seen) for seen in server.seen] == ["/etc is a folder"]
    assert "There is no command /hepl." in ran.told[0] and "/help" in ran.told[1]


def test_a_reader_that_goes_away_ends_the_chat() -> None:
    with Server(answer("One."), answer("Two.")) as server:
        process = subprocess.Popen(
            [*JPQ, "chat", *model_at(server)],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with process:
            assert process.stdin and process.stdout and process.stderr
            process.stdin.write(b"first\n")
            process.stdin.flush()
            assert process.stdout.readline() == b"One.\n"
            process.stdout.close()
            process.stdin.write(b"second\nthird\n")
            process.stdin.flush()
            assert process.wait(WAIT_S) == 141
            assert process.stderr.read() == b""
    assert len(server.seen) == 2


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM], ids=lambda each: each.name)
def test_a_signal_between_the_last_look_for_one_and_the_next_line_counts(
    signum: signal.Signals, tmp_path: Any
) -> None:
    read, write = os.pipe()  # which stays open
    os.write(write, b"first\n")
    point = ["-m", "tests.support.signalled", "return:_shown", str(int(signum))]
    with Server(answer("One.")) as server:
        ran = subprocess.run(
            [sys.executable, *point, "chat", *model_at(server)],
            env=environment(JPQ_TEST_POINTS=str(tmp_path / "points")),
            stdin=read,
            capture_output=True,
            timeout=WAIT_S,
        )
    os.close(read)
    os.close(write)
    assert (ran.returncode, ran.stdout) == (-signum, b"One.\n")
    (folder,) = conversations()
    assert entries(folder)[-1]["status"] == "complete"


@pytest.mark.parametrize("answering", [False, True], ids=["reading", "answering"])
def test_ctrl_c_ends_a_chat_in_which_nobody_types(answering: bool) -> None:
    read, write = os.pipe()
    os.write(write, b"first\n")
    script = [*events(delta("Half")), Pause(threading.Event())] if answering else answer("Half")
    # The usage is told when the answer has been saved.
    when, on = (b"Half", "stdout") if answering else (b"tokens: ", "stderr")
    with Server(script) as server:
        ran = signalled(["chat", "-u", *model_at(server)], signal.SIGINT, when, on, stdin=read)
    os.close(read)
    os.close(write)
    assert ran.code == 130 and b"Traceback" not in ran.err
    (folder,) = conversations()
    assert entries(folder)[-1]["status"] == ("interrupted" if answering else "complete")
