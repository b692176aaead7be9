"""export and import: nothing changes on the way, and nothing comes twice."""

from __future__ import annotations

import base64
import json
import os
import sqlite3
from typing import Any, List

import pytest

from jpq.conversation.event import (
    AssistantMessage,
    AssistantReasoning,
    ChatRequest,
    ConfigDelta,
    InquiryRequest,
    InquiryResponse,
    ToolCall,
    ToolResponse,
    TurnEnd,
)
from jpq.errors import BadInputError, UsageError, WriteError
from tests.cli.conversation_shell import Shell

END = TurnEnd("complete", "stop", {}, "gpt")
ODD = b'{"event_id":"zzzzzzz","type":"hologram", "n":1.50e+1}\n'


@pytest.fixture
def shell(tmp_path: Any) -> Shell:
    return made(tmp_path, "here")


def made(tmp_path: Any, name: str) -> Shell:
    folder = tmp_path / name
    folder.mkdir()
    return Shell(str(folder / "home"), str(folder))


def stored(shell: Shell, id: str) -> bytes:
    with open(os.path.join(shell.library.path(id), "events.jsonl"), "rb") as file:
        return file.read()


def write(folder: str, name: str, value: Any) -> None:
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        json.dump(value, file)


def test_what_is_exported_comes_back_byte_for_byte(shell: Shell, tmp_path: Any) -> None:
    ids = [shell.talk(ChatRequest("a\n\u2028"), AssistantMessage("b"), END, title=t) for t in "xy"]
    with open(os.path.join(shell.library.path(ids[0]), "events.jsonl"), "ab") as file:
        file.write(ODD)
    exported = shell("export", "--all", "-o", "all.jpq")
    assert "2 exported" in exported.err and exported.out == ""
    path = os.path.join(shell.cwd, "all.jpq")
    assert os.stat(path).st_mode & 0o777 == 0o600
    other = made(tmp_path, "there")
    assert other("import", path).out.split() == ids
    for id in ids:
        assert stored(other, id) == stored(shell, id)
        before, after = shell.library.read(id).metadata, other.library.read(id).metadata
        assert {**before, "imported_from": f"jpq:{id}"} == after
    assert other.library.last("/nowhere") is None
    again = other("import", path, "--format", "json")
    assert json.loads(again.out) == [] and "2 left out" in again.err


def test_an_export_replaces_no_device_no_pipe_and_no_link(shell: Shell) -> None:
    id = shell.talk(ChatRequest("a"), AssistantMessage("b"), END)
    whole = shell("export", id, "-o", "-").out
    assert whole == shell("export", id).out != ""
    before = os.listdir(shell.cwd)
    assert "-" not in before
    link, pipe = os.path.join(shell.cwd, "link"), os.path.join(shell.cwd, "pipe")
    os.symlink("there", link)
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        for name in ("link", "pipe"):
            shell("export", id, "-o", name)
        assert os.read(reader, 1 << 16).decode() == whole
    finally:
        os.close(reader)
    assert os.readlink(link) == "there"
    with open(link, encoding="utf-8") as file:
        assert file.read() == whole
    with pytest.raises(WriteError, match="Is a directory"):
        shell("export", id, "-o", ".")
    assert sorted(os.listdir(shell.cwd)) == sorted([*before, "link", "pipe", "there"])


def test_an_export_that_was_cut_says_so(shell: Shell, tmp_path: Any) -> None:
    id = shell.talk(ChatRequest("a"), AssistantMessage("b"), END)
    path = os.path.join(shell.cwd, "cut.jpq")
    with open(path, "wb") as file:
        file.write(shell("export", id).out.encode()[:-20])
    taken = made(tmp_path, "there")("import", path)
    assert taken.out == f"{id}\n"
    assert f"1 line of {id} cannot be read" in taken.err
    folder = shell.library.path(id)
    with open(os.path.join(folder, "events.jsonl"), "ab") as file:
        file.write(b"{torn\n[1]\n\n")
    taken = made(tmp_path, "elsewhere")("import", folder)
    assert taken.out == f"{id}\n" and f"2 lines of {id} cannot be read" in taken.err


def test_a_folder_of_ours_is_taken_in(shell: Shell, tmp_path: Any) -> None:
    id = shell.talk(ChatRequest("a"), END)
    there, elsewhere = made(tmp_path, "there"), made(tmp_path, "elsewhere")
    assert there("import", shell.library.path(id)).out.split() == [id]
    assert elsewhere("import", os.path.dirname(shell.library.path(id))).out.split() == [id]
    assert stored(elsewhere, id) == stored(there, id) == stored(shell, id)


def test_the_other_formats(shell: Shell) -> None:
    shell.talk(ChatRequest("a"), AssistantMessage("b"), END, title="T")
    assert (
        shell("export", "--format", "markdown").out == "# T\n\n## You\n\na\n\n## Assistant\n\nb\n"
    )
    assert json.loads(shell("export", "--format", "json").out)["title"] == "T"
    assert shell("export", "--format", "html").out.startswith("<!DOCTYPE html>")
    shell.talk(ChatRequest("a"), END)
    with pytest.raises(UsageError, match="Only one"):
        shell("export", "--all", "--format", "html")
    with pytest.raises(UsageError, match="takes no ID"):
        shell("export", "--all", "x")


@pytest.mark.parametrize(
    "content", [b"", b"hello", b"{}", b'{"jpq":1}', b"SQLite format 3\x00rest"]
)
def test_what_is_nothing_of_the_kind(shell: Shell, content: bytes) -> None:
    path = os.path.join(shell.cwd, "file")
    with open(path, "wb") as file:
        file.write(content)
    with pytest.raises(BadInputError):
        shell("import", path)
    with pytest.raises(BadInputError):
        shell("import", os.path.join(shell.cwd, "none"))
    with pytest.raises(BadInputError, match="no conversation in this folder"):
        shell("import", shell.cwd)
    assert shell.library.ids() == []


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def jp_events() -> List[Any]:
    when = {"timestamp": "2026-05-29 19:42:36.46732"}
    tool = {"source": "tool", "name": "x"}
    return [
        {**when, "type": "config_delta", "delta": {}},
        {**when, "type": "turn_start"},
        {**when, "type": "chat_request", "content": "Why?", "author": "me"},
        {**when, "type": "chat_response", "reasoning": "hm", "metadata": {"signature": b64("s")}},
        {
            **when,
            "type": "tool_call_request",
            "id": "t1",
            "name": "read",
            "arguments": {"path": b64("/etc"), "deep": [b64("x"), 3]},
        },
        {
            **when,
            "type": "inquiry_request",
            "id": "i1",
            "source": tool,
            "question": {"text": "Sure?", "answer_type": {"type": "boolean"}},
        },
        {**when, "type": "inquiry_response", "id": "i1", "answer": True},
        {
            **when,
            "type": "tool_call_response",
            "id": "t1",
            "content": b64("caf\u00e9"),
            "is_error": False,
        },
        {**when, "type": "chat_response", "message": "Because."},
        "nonsense",
    ]


def test_jp_conversations(shell: Shell) -> None:
    root = os.path.join(shell.cwd, ".jp", "conversations")
    for place in ("17800836875-why", ".archive/17659773217-old"):
        write(os.path.join(root, place), "events.json", jp_events())
        write(os.path.join(root, place), "metadata.json", {"title": f"T {place[-3:]}"})
    ids = shell("import", root).out.split()
    assert len(ids) == 2
    saved = {shell.library.read(id).metadata["title"]: shell.library.read(id) for id in ids}
    why = saved["T why"]
    assert [entry.event for entry in why.stream.entries] == [
        ChatRequest("Why?"),
        AssistantReasoning("hm"),
        ToolCall("t1", "read", {"path": "/etc", "deep": ["x", 3]}),
        InquiryRequest("i1", "Sure?"),
        InquiryResponse("i1", "true"),
        ToolResponse("t1", "caf\u00e9"),
        AssistantMessage("Because."),
    ]
    assert {entry.timestamp for entry in why.stream.entries} == {"2026-05-29T19:42:36.467Z"}
    assert why.metadata["imported_from"] == "jp:17800836875"
    assert shell("import", os.path.join(root, "17800836875-why")).out == ""


LLM_SCHEMA = """
CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT,
  prompt_json TEXT, options_json TEXT, response TEXT, response_json TEXT,
  conversation_id TEXT, duration_ms INTEGER, datetime_utc TEXT{more});
"""
LLM_MORE = """
CREATE TABLE tool_calls (id INTEGER PRIMARY KEY, response_id TEXT, tool_id INTEGER, name TEXT,
  arguments TEXT, tool_call_id TEXT);
CREATE TABLE tool_results (id INTEGER PRIMARY KEY, response_id TEXT, tool_id INTEGER, name TEXT,
  output TEXT, tool_call_id TEXT, instance_id INTEGER, exception TEXT);
CREATE TABLE fragments (id INTEGER PRIMARY KEY, hash TEXT, content TEXT);
CREATE TABLE prompt_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);
"""


def log(folder: str, new: bool) -> str:
    path = os.path.join(folder, "logs # 1.db")
    db = sqlite3.connect(path)
    more = ", input_tokens INTEGER, output_tokens INTEGER" if new else ""
    db.executescript(LLM_SCHEMA.format(more=more) + (LLM_MORE if new else ""))
    db.execute("INSERT INTO conversations VALUES ('c1', 'Pelicans', 'gpt')")
    row = "INSERT INTO responses ({}) VALUES ({})"
    names = "id, model, prompt, system, response, conversation_id, datetime_utc"
    when = "2025-05-14T16:25:0{}.123456"
    for values in (
        ("r2", "gpt", "", None, "It is warm.", "c1", when.format(2)),
        ("r1", "gpt", "Weather?", "Be brief.", "", "c1", when.format(1)),
        ("r3", "gpt", "And now?", "Be long.", "Cold.", "c1", when.format(3) + "+00:00"),
        ("r4", "gpt", "alone", None, "yes", None, when.format(4)),
    ):
        db.execute(row.format(names, ",".join("?" * 7)), values)
    if new:
        db.execute("UPDATE responses SET input_tokens = 7 WHERE id = 'r3'")
        db.execute("INSERT INTO tool_calls VALUES (1, 'r1', 1, 'weather', '{\"in\":\"x\"}', 'k1')")
        db.execute("INSERT INTO tool_results VALUES (1, 'r2', 1, 'weather', '30', 'k1', 0, NULL)")
        db.execute("INSERT INTO fragments VALUES (5, 'h', 'A file.')")
        db.execute("INSERT INTO prompt_fragments VALUES ('r3', 5, 0)")
    db.commit()
    db.close()
    return path


def test_what_is_no_array_of_jps_is_told(shell: Shell) -> None:
    folder = os.path.join(shell.cwd, "17659773217-cut")
    os.makedirs(folder)
    with open(os.path.join(folder, "events.json"), "w") as file:
        file.write('[{"type": "chat_request"')
    taken = shell("import", folder)
    assert taken.out == "" and "1 line of jp:17659773217 cannot be read" in taken.err


def test_llms_database(shell: Shell) -> None:
    ids = shell("import", log(shell.cwd, new=True)).out.split()
    first, alone = (shell.library.read(id) for id in ids)
    assert [entry.event for entry in first.stream.entries] == [
        ChatRequest("Weather?"),
        ToolCall("k1", "weather", {"in": "x"}),
        ToolResponse("k1", "30"),
        AssistantMessage("It is warm."),
        TurnEnd("complete", "stop", {}, "gpt"),
        ConfigDelta({"system": "Be long."}),
        ChatRequest("A file.\n\nAnd now?"),
        AssistantMessage("Cold."),
        TurnEnd("complete", "stop", {"input_tokens": 7}, "gpt"),
    ]
    assert first.stream.base_config == {"system": "Be brief."}
    assert first.stream.entries[-1].timestamp == "2025-05-14T16:25:03.123Z"
    assert (first.metadata["title"], first.metadata["imported_from"]) == ("Pelicans", "llm:c1")
    assert alone.metadata["imported_from"] == "llm:r4" and len(alone.stream.turns()) == 1
    assert json.loads(shell("ls", "--format", "json", "pelicans").out)[0]["turns"] == 2
    assert shell("import", os.path.join(shell.cwd, "logs # 1.db")).out == ""


def test_a_database_of_llms_with_anything_in_its_columns(shell: Shell) -> None:
    path = log(shell.cwd, new=False)
    db = sqlite3.connect(path)
    db.execute("UPDATE responses SET prompt = x'ff41', response = 5, system = 7, model = x'6d'")
    db.commit()
    db.close()
    first = shell("import", path).out.split()[0]
    events = [entry.event for entry in shell.library.read(first).stream.entries]
    assert events[:2] == [ChatRequest("\ufffdA"), AssistantMessage("5")]


def test_a_database_without_columns_of_llms(shell: Shell) -> None:
    path = os.path.join(shell.cwd, "other.db")
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE conversations (id TEXT)")
    db.execute("CREATE TABLE responses (id TEXT, datetime_utc TEXT)")
    for table in ("conversations", "responses"):
        db.execute(f"INSERT INTO {table} (id) VALUES ('a')")
    db.commit()
    db.close()
    with pytest.raises(BadInputError, match="has no column 'name'"):
        shell("import", path)


def test_llms_database_before_it_had_tools(shell: Shell) -> None:
    (first, _) = shell("import", log(shell.cwd, new=False)).out.split()
    events = [entry.event for entry in shell.library.read(first).stream.entries]
    assert events[:2] == [ChatRequest("Weather?"), TurnEnd("complete", "stop", {}, "gpt")]


def test_what_comes_from_elsewhere_does_not_decide_what_runs_here(
    shell: Shell, tmp_path: Any
) -> None:
    changes = {"active_tools": ["shell"], "tools.shell.run": "unattended", "model": "a/b"}
    shell.talk(ChatRequest("a"), ConfigDelta(changes), AssistantMessage("b"), END)
    shell("export", "--all", "-o", "all.jpq")
    there = made(tmp_path, "there")
    id = there("import", os.path.join(shell.cwd, "all.jpq")).out.strip()
    assert there.library.read(id).stream.config() == {"model": "a/b"}
