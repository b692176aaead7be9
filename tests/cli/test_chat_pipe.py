"""``jpq chat`` where lines come from a pipe: one line, one turn."""

from __future__ import annotations

from typing import Any

from tests.support.programs import conversations, entries, jpq, model_at, question
from tests.support.server import Server, answer, error


def test_each_line_is_a_turn_of_one_conversation() -> None:
    with Server(answer("One."), answer("Two.")) as server:
        ran = jpq("chat", *model_at(server), stdin=b"first\n\nsecond\n")
    assert (ran.code, ran.text, ran.err) == (0, "One.\n\nTwo.\n", b"")
    assert [question(seen) for seen in server.seen] == ["first", "second"]
    assert len(server.seen[1].json["messages"]) == 3
    (folder,) = conversations()
    types = [entry["type"] for entry in entries(folder)]
    assert types == ["chat_request", "chat_response", "turn_end"] * 2


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
