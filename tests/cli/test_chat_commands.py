"""The commands of ``jpq chat``, typed into a pipe and where it matters on a terminal."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Dict, List, Sequence

import pytest

from jpq.cli.chat.commands import COMMANDS
from tests.mcp.test_mcp_cmd import configure
from tests.support.chatting import Desk, leave, press, say
from tests.support.person import editor
from tests.support.pressing import SLOW, calls
from tests.support.programs import Ran, conversations, entries, jpq, model_at, question, script
from tests.support.server import DONE, Server, answer, error, reply


def talk(server: Server, *lines: str, options: Sequence[str] = (), **where: Any) -> Ran:
    """A whole chat, fed from a pipe."""
    text = "".join(f"{line}\n" for line in lines)
    return jpq("chat", *model_at(server), *options, stdin=text.encode(), **where)


def asked(server: Server) -> List[str]:
    return [question(seen) for seen in server.seen]


def said(request: Dict[str, Any]) -> List[str]:
    """All that a request holds, as texts."""
    return [str(message["content"]) for message in request["messages"]]


def test_help_lists_every_command_and_tells_of_one() -> None:
    with Server() as server:
        ran = talk(server, "/help", "/help model", "/help /retry", "/help nothing")
    told = ran.err.decode()
    assert ran.code == 0 and not ran.out
    assert all(f"  /{name}" in told for name in COMMANDS)
    assert told.count("/model [MODEL]") == 2 and told.count("/retry") == 2
    assert "There is no command /nothing." in told


@pytest.mark.parametrize(
    ("typed", "meant"), [("/modle x", "model"), ("/quti", "quit"), ("/zzz x", "")]
)
def test_an_unknown_command_is_not_sent_and_the_nearest_is_named(typed: str, meant: str) -> None:
    with Server() as server:
        ran = talk(server, typed)
    told = ran.err.decode()
    assert f"There is no command {typed.split()[0]}." in told
    assert (f"Did you mean /{meant}?" in told) == bool(meant)
    assert not server.seen


def test_model_shows_and_changes_who_answers() -> None:
    with Server(answer("One."), answer("Two.")) as server:
        ran = talk(server, "/model", "first", "/model custom/other", "second", "/model nothing")
    told = ran.err.decode()
    assert "custom/test answers." in told and "custom/other answers from now on." in told
    assert '"nothing" is neither PROVIDER/MODEL nor an alias.' in told
    assert [seen.json["model"] for seen in server.seen] == ["test", "other"]
    (folder,) = conversations()
    assert {"model": "custom/other"} in [entry.get("changes") for entry in entries(folder)]
    again = jpq("chat", "-c", *model_at(server)[3:], stdin=b"/model\n")
    assert "custom/other answers." in again.err.decode()


def test_model_wins_over_set_and_a_model_that_cannot_be_had_changes_nothing() -> None:
    with Server(answer("One."), answer("Two.")) as server:
        options = ["--set", "model=custom/set"]
        ran = talk(
            server, "first", "/model nobody/x", "/model custom/new", "second", options=options
        )
    assert "nobody" in ran.err.decode()
    assert [seen.json["model"] for seen in server.seen] == ["set", "new"]


def test_system_shows_sets_and_takes_back(tmp_path: Any) -> None:
    (tmp_path / "rules.txt").write_text("Rhyme.")
    lines = ["/system", "one", "/system Be brief.", "two", "/system @rules.txt", "three"]
    with Server(answer("Fine.")) as server:
        ran = talk(server, *lines, "/system off", "four", "/system @none.txt", cwd=str(tmp_path))
    told = ran.err.decode()
    assert "There is no system prompt." in told and "Be brief." in told
    assert "The system prompt cannot be read" in told
    firsts = [seen.json["messages"][0] for seen in server.seen]
    assert [m["content"] if m["role"] == "system" else None for m in firsts] == [
        None,
        "Be brief.",
        "Rhyme.",
        None,
    ]


def test_tools_are_listed_and_chosen() -> None:
    with Server(answer("Fine.")) as server:
        lines = ["/tools", "one", "/tools read_file, list_*", "/tools read_file shell", "two"]
        ran = talk(server, *lines, "/tools off", "three", "/tools nothing")
    told = ran.err.decode()
    assert "  [ ] read_file" in told and "  [x] read_file" in told
    assert "There is no tool 'list_*'." in told and "There is no tool 'nothing'." in told
    offered = [
        [tool["function"]["name"] for tool in seen.json.get("tools", [])] for seen in server.seen
    ]
    assert offered == [[], ["shell", "read_file"], []] or offered == [
        [],
        ["read_file", "shell"],
        [],
    ]


def test_attachments_go_with_the_next_message_only(tmp_path: Any) -> None:
    (tmp_path / "my notes.txt").write_text("Buy milk.")
    (tmp_path / "b.txt").write_text("Buy bread.")
    lines = ["/attach", "/attach my notes.txt", "/attach b.txt", "look", "and?"]
    with Server(answer("Fine.")) as server:
        ran = talk(server, *lines, "/attach b.txt", "/attach off", "no", cwd=str(tmp_path))
        missing = talk(server, "/attach none.txt", "x", cwd=str(tmp_path))
        stdin = talk(server, "x", options=["-a", "-"], cwd=str(tmp_path))
        given = talk(server, "y", options=["-a", "b.txt"], cwd=str(tmp_path))
    told = ran.err.decode()
    assert "Nothing is attached." in told and "b.txt (text/plain)" in told
    held = [json.dumps(seen.json["messages"][-1]) for seen in server.seen]
    assert ["Buy milk." in each for each in held] == [True, False, False, False, False]
    assert ["Buy bread." in each for each in held] == [True, False, False, False, True]
    assert missing.code == 0 and "none.txt" in missing.err.decode()
    assert stdin.code == 2 and given.code == 0


def test_retry_of_a_whole_turn_puts_another_answer_in_its_place() -> None:
    with Server(answer("One."), answer("Two."), answer("Three.")) as server:
        ran = talk(server, "/retry", "first", "/retry", "second")
    assert "There is no question before this one." in ran.err.decode()
    assert asked(server) == ["first", "first", "second"]
    assert said(server.seen[1].json) == ["first"]
    assert said(server.seen[2].json) == ["first", "Two.", "second"]


def test_retry_of_a_failed_turn_asks_it_again_with_the_model_of_now() -> None:
    bad = error("401 Unauthorized", b'{"error": {"message": "No."}}')
    with Server(bad, answer("Two.")) as server:
        ran = talk(server, "first", "/model custom/better", "/retry")
    assert (ran.code, ran.text) == (77, "Two.\n")
    assert [(seen.json["model"], said(seen.json)) for seen in server.seen] == [
        ("test", ["first"]),
        ("better", ["first"]),
    ]


def test_undo_takes_turn_after_turn_back() -> None:
    with Server(answer("One."), answer("Two."), answer("Three.")) as server:
        ran = talk(server, "first", "second", "/undo", "/undo", "/undo", "third", "/show")
    told = ran.err.decode()
    assert "Taken back, and not sent any more: second" in told
    assert told.count("Taken back") == 2 and "There is no question before this one." in told
    assert said(server.seen[-1].json) == ["third"]


def test_fork_goes_on_with_a_copy() -> None:
    with Server(answer("One."), answer("Two.")) as server:
        ran = talk(server, "/fork", "first", "/fork", "second")
    old, new = conversations()
    assert "Nothing was said yet." in ran.err.decode()
    assert [entry.get("content") for entry in entries(old)][0] == "first"
    assert len(entries(old)) == 3 and len(entries(new)) == 6
    assert os.path.basename(new) in ran.err.decode()


def test_title_is_shown_and_set_before_and_behind_the_first_message() -> None:
    with Server(answer("One.")) as server:
        ran = talk(server, "/title", "/title  My   talk", "first", "/title", "/title Another")
        told = ran.err.decode()
    (folder,) = conversations()
    with open(os.path.join(folder, "metadata.json"), encoding="utf-8") as file:
        assert json.load(file)["title"] == "Another"
    assert told.splitlines() == [
        "The conversation has no title yet.",
        "My talk",
        "My talk",
        "Another",
    ]


def test_tokens_and_cost_are_told() -> None:
    with Server(answer("One.")) as server:
        ran = talk(server, "/cost", "first", "/tokens", "/cost")
    told = ran.err.decode()
    assert "Nothing was said yet." in told
    assert "The conversation is about" in told and "tokens: 7 in, 3 out" in told
    assert "1 turn, price unknown" in told


def test_cost_says_so_where_no_tokens_were_reported(tmp_path: Any) -> None:
    model = "scripted/" + script(tmp_path, 'text = "One."')
    ran = jpq("chat", "-m", model, stdin=b"first\n/cost\n")
    assert "1 turn, price unknown" in ran.err.decode()


def test_save_writes_every_format_and_says_where_all_is(tmp_path: Any) -> None:
    names = ["a.md", "a.txt", "a.json", "a.jsonl", "a.html"]
    with Server(answer("One.")) as server:
        lines = ["/save", "first", "/save", *[f"/save {name}" for name in names], "/save a.docx"]
        ran = talk(server, *lines, cwd=str(tmp_path))
        hidden = talk(
            server, "x", "/save", "/save b.md", options=["--ephemeral"], cwd=str(tmp_path)
        )
    told = ran.err.decode()
    assert "Nothing is saved yet." in told and "Everything is saved in" in told
    assert "cannot be written to a file of that kind" in told
    for name in names:
        assert "One." in (tmp_path / name).read_text()
    assert json.loads((tmp_path / "a.json").read_text())["entries"][0]["content"] == "first"
    assert "Nothing is saved yet." in hidden.err.decode()
    assert "One." in (tmp_path / "b.md").read_text()


def test_save_where_nothing_can_be_written_says_what_to_do_in_a_chat(tmp_path: Any) -> None:
    with Server(answer("One.")) as server:
        ran = talk(server, "first", f"/save {tmp_path}/none/a.md")
    told = ran.err.decode()
    assert ran.code == 0 and "No such file or directory" in told
    assert "Name another file" in told and "--ephemeral" not in told


def test_show_shows_all_or_the_last_turns_and_not_on_stdout() -> None:
    with Server(answer("One."), answer("Two.")) as server:
        ran = talk(server, "first", "second", "/show 1", "/show x", "/show " + "9" * 5000)
    told = ran.err.decode()
    assert ran.text == "One.\n\nTwo.\n"
    assert told.startswith("You:\nsecond\n\nAssistant:\nTwo.\n\n")
    assert told.count("/show takes a number of turns.") == 2


def test_clear_begins_a_new_conversation() -> None:
    with Server(answer("One."), answer("Two.")) as server:
        ran = talk(server, "first", "/clear", "second")
    old, new = conversations()
    assert f"The one before is {os.path.basename(old)}." in ran.err.decode()
    assert said(server.seen[1].json) == ["second"]


@pytest.mark.parametrize("command", ["retry", "undo", "fork", "tokens", "cost", "clear", "exit"])
def test_a_command_without_words_takes_none(command: str) -> None:
    with Server(answer("One.")) as server:
        ran = talk(server, "first", f"/{command} something")
    assert f"/{command} takes nothing after it." in ran.err.decode()
    assert len(server.seen) == 1 and len(conversations()) == 1


def test_edit_writes_a_message_and_changes_the_last_one(tmp_path: Any) -> None:
    desk = Desk(str(tmp_path))
    # Writes a new text, and adds to an old one.
    program = editor(
        str(tmp_path), 'if [ -s "$1" ]; then echo "again" >>"$1"; else echo new >"$1"; fi'
    )
    with Server(answer("Fine.")) as server:
        with desk.chat(server, changes={"EDITOR": program}) as child:
            say(child, "/edit")
            say(child, "/edit last")
            say(child, "/edit a start:")
            press(child, b"\x1b[A", b"again")
            press(child, b"\x03")
            assert leave(child) == 0
        with desk.chat(server) as child:
            assert b"VISUAL and EDITOR are not set" in say(child, "/edit")
            assert leave(child) == 0
        piped = talk(server, "/edit")
    assert asked(server) == ["new", "new\nagain", "a start:\nagain"]
    assert said(server.seen[1].json) == ["new\nagain"]
    assert "There is no terminal for an editor here." in piped.err.decode()


def test_a_mode_that_was_chosen_for_a_tool_holds_for_later_turns(tmp_path: Any) -> None:
    desk = Desk(str(tmp_path))
    with open(os.path.join(tmp_path, "home", "config.toml"), "w", encoding="utf-8") as file:
        file.write(SLOW)
    asking = reply(*calls(("asks", '{"n": 1}')), DONE)
    with Server(asking, answer("One."), asking, answer("Two.")) as server, desk.chat(
        server
    ) as child:
        say(child, "first", b"[x] result mode [?] ")
        press(child, b"a")
        say(child, "second")
        assert leave(child) == 0
    with open(os.path.join(desk.work, "runs"), encoding="utf-8") as file:
        assert file.read() == "1\n1\n"


def test_a_conversation_that_is_too_long_can_be_summed_up_and_asked_again() -> None:
    body = b'{"error": {"message": "Too long.", "code": "context_length_exceeded"}}'
    replies = [answer("word " * 300), error("400 Bad Request", body)]
    with Server(*replies, answer("A summary."), answer("Two.")) as server:
        ran = talk(
            server, "/compact", "first", "second", "/compact summary", "/retry", "/compact x"
        )
    told = ran.err.decode()
    assert "There is nothing before the last turn that could be shorter." in told
    assert "Make the conversation shorter with /compact summary, then /retry." in told
    assert "tokens are sent instead of" in told and "/compact takes the word summary" in told
    assert ran.text.endswith("\nTwo.\n")
    (last,) = said(server.seen[-1].json)
    assert "A summary." in last and last.endswith("second") and "word" not in last


def test_a_summary_is_asked_where_the_chat_asks() -> None:
    lines = "first\nsecond\n/compact summary\n"
    with Server(answer("word " * 300), answer("Two."), answer("A summary.")) as server:
        there = ["-m", "custom/test", "--base-url", server.url]
        ran = jpq("chat", *there, stdin=lines.encode())
    assert "tokens are sent instead of" in ran.err.decode() and len(server.seen) == 3


def test_a_summary_is_logged_once_where_the_chat_is(tmp_path: Path) -> None:
    mine = tmp_path / "mine.log"
    lines = ("first", "second", "/compact summary", "third")
    for options in ([], ["--log-file", str(mine)]):
        with Server(answer("word " * 300), answer("Two."), answer("A summary.")) as server:
            talk(server, *lines, options=options)
    usual = Path(os.environ["JPQ_HOME"], "state", "log", "jpq.log")
    for log in (usual, mine):
        assert log.read_text().count("asks custom/test for a summary") == 1
    assert mine.read_text().count("the reply ended") == 4, "the detail goes on behind it"


def test_a_long_conversation_is_offered_to_be_made_shorter() -> None:
    options = ["--set", "conversation.compact_at=10"]
    with Server(answer("word " * 50)) as server:
        ran = talk(server, "first", "second", "/compact", options=options)
    told = ran.err.decode()
    assert "make it shorter with: /compact\n" in told
    assert "That would save nothing" in told


def test_mcp_servers_start_once_and_a_dead_one_is_told_once() -> None:
    dead = '[mcp.dead]\ncommand = ["/bin/false"]'
    configure(f'{dead}\n[tools."x/echo"]\nrun = "unattended"')
    calling = reply(*calls(("x_echo", '{"text": "hello"}')), DONE)
    with Server(calling, answer("One."), calling, answer("Two.")) as server:
        lines = ["first", "/tools", "/model custom/other", "/tools x/echo", "second"]
        ran = talk(server, *lines)
        wrong = talk(server, "first", options=["-t", "nothing"])
    told = ran.err.decode()
    assert ran.text == "One.\n\nTwo.\n"
    assert told.count("The MCP server dead is not used") == 1
    assert "  [x] x/echo" in told
    results = [seen.json["messages"][-1] for seen in (server.seen[1], server.seen[3])]
    assert all("hello" in str(result["content"]) for result in results)
    assert "'nothing'" in wrong.err.decode() and wrong.code == 2 and len(server.seen) == 4


def test_an_mcp_server_that_was_not_needed_at_first_starts_for_its_tools() -> None:
    configure()
    with Server(answer("One.")) as server:
        lines = ["/tools x/echo", "first", "/tools y/echo"]
        ran = talk(server, *lines, options=["-t", "read_file"])
    assert "  [x] x/echo" in ran.err.decode() and "There is no tool 'y/echo'." in ran.err.decode()
    (tool,) = server.seen[0].json["tools"]
    assert tool["function"]["name"] == "x_echo"
