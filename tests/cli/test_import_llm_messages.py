"""llm's database as llm 0.36 wrote it, after llm 0.27: its threads of messages come over whole."""

from __future__ import annotations

import base64
import os
import sqlite3
from typing import Any, Dict, List

from jpq.conversation.attachment import from_metadata
from jpq.conversation.event import (
    AssistantMessage,
    AssistantReasoning,
    ChatRequest,
    ConfigDelta,
    ToolCall,
    ToolResponse,
    TurnEnd,
)
from jpq.store.reading import SavedConversation
from tests.cli.conversation_shell import Shell

END = TurnEnd("complete", "stop", {"input_tokens": 11, "output_tokens": 5}, "lo")
OLDER = TurnEnd("complete", "stop", {}, None)


def imported(shell: Shell, *changes: str) -> Dict[str, SavedConversation]:
    """The conversations of the database by their titles, after ``changes`` to it."""
    path = os.path.join(shell.cwd, "logs.db")
    database = sqlite3.connect(path)
    with open(os.path.join(os.path.dirname(__file__), "llm_logs.sql"), encoding="utf-8") as file:
        database.executescript(file.read() + "".join(changes))
    database.close()
    found = [shell.library.read(id) for id in shell("import", path).out.split()]
    assert shell("import", path).out == ""
    return {str(saved.metadata["title"]): saved for saved in found}


def events(saved: SavedConversation) -> List[Any]:
    return [entry.event for entry in saved.stream.entries]


def test_each_thread_is_a_conversation(shell: Shell) -> None:
    found = imported(shell)
    assert sorted(found) == [
        "First question",
        "Go boom",
        "Old question",
        "What is 2+3?",
        "What is in the picture?",
        "a fragment text With a fragment",
    ]
    first = found["First question"]
    assert events(first) == [
        ChatRequest("First question"),
        AssistantMessage("Answer to: First question"),
        END,
        ChatRequest("Second, after it"),
        AssistantMessage("Answer to: Second, after it"),
        END,
    ]
    assert first.stream.base_config == {"system": "Be brief."}
    assert first.metadata["imported_from"] == "llm:01m8my534n1ptcvch9ycjm708w"
    assert first.metadata["model"] == "lo"
    assert [entry.timestamp for entry in first.stream.entries[2:4]] == [
        "2026-11-30T00:37:22.711Z",
        "2026-11-30T00:37:26.533Z",
    ]


def test_a_conversation_of_both_stores_comes_over_once_and_whole(shell: Shell) -> None:
    found = imported(shell)
    assert events(found["Old question"]) == [
        ChatRequest("Old question"),
        AssistantMessage("Answer to: Old question"),
        OLDER,
        ChatRequest("Old second2"),
        AssistantMessage("Answer to: Old second2"),
        OLDER,
        ChatRequest("continue the first old"),
        AssistantMessage("Answer to: continue the first old"),
        END,
    ]
    assert events(found["What is 2+3?"])[:6] == [
        ChatRequest("What is 2+3?"),
        AssistantMessage("Let me look. "),
        ToolCall("call_1", "add", {"a": 2, "b": 3}),
        ToolResponse("call_1", "5"),
        AssistantMessage("The result is 5."),
        OLDER,
    ]


def test_fragments_attachments_and_tools_that_fail(shell: Shell) -> None:
    found = imported(shell)
    (asked, *_) = events(found["a fragment text With a fragment"])
    assert asked == ChatRequest("a fragment text\n\nWith a fragment")
    entry = found["What is in the picture?"].stream.entries[0]
    assert entry.event == ChatRequest("What is in the picture?")
    (picture,) = from_metadata(entry.metadata)
    assert picture.media_type == "image/png"
    assert base64.b64decode(picture.content).startswith(b"\x89PNG")
    boom = events(found["Go boom"])
    assert ToolResponse("call_1", "Error: no", is_error=True) in boom
    assert boom[-1].usage == {"input_tokens": 22, "output_tokens": 10}, "of both its requests"
    assert [type(event) for event in boom].count(TurnEnd) == 1


def test_reasoning_a_new_system_prompt_and_what_is_damaged(shell: Shell) -> None:
    """Rows like those that other models make llm write, and some that nobody wrote."""
    changes = """
    UPDATE messages SET parent_hash = 's' WHERE hash = 'b2:17c27d96d027ac613280ec140d48738c';
    INSERT INTO messages VALUES ('s', 'b2:f4f58b308d6a42b3e9345b36e76a2826', 'system', NULL);
    INSERT INTO parts VALUES (90, 's', 0, 'text', NULL, 'Be long.', NULL);
    INSERT INTO parts VALUES (91, 'b2:0a33d9bce6abc53626eb2c3c474d65c3', -1, 'reasoning', NULL,
                              'Hm.', '{"redacted": false}');
    INSERT INTO parts VALUES (92, 'b2:0a33d9bce6abc53626eb2c3c474d65c3', 5, 'new', NULL, NULL, '{');
    INSERT INTO parts VALUES (93, 'b2:0a33d9bce6abc53626eb2c3c474d65c3', 6, 'tool_call', NULL, NULL,
                              '{"arguments": [1], "attachments": [7, {"id": 8}]}');
    INSERT INTO messages VALUES ('loop', 'loop', 'user', NULL);
    INSERT INTO parts VALUES (94, 'loop', 0, 'text', NULL, 'Round and round', NULL);
    INSERT INTO threads VALUES ('t1', 'loop', 'loop', NULL, 'no date');
    INSERT INTO threads VALUES ('t2', 'nothing', 'no such message', NULL, NULL);
    INSERT INTO turns VALUES ('alone', NULL, NULL, 'loop', 'lo', NULL, NULL, NULL, NULL, 1, NULL);
    """
    found = imported(shell, changes)
    assert events(found["First question"])[3:] == [
        ConfigDelta({"system": "Be long."}),
        ChatRequest("Second, after it"),
        AssistantReasoning("Hm."),
        AssistantMessage("Answer to: Second, after it"),
        ToolCall("", "", {}),
    ]
    assert events(found["loop"]) == [ChatRequest("Round and round")]
    assert events(found["None"]) == [ChatRequest("Round and round")], "a turn without a thread"
    assert "nothing" not in found


def test_a_database_of_the_new_store_alone(shell: Shell) -> None:
    drop = "".join(
        f"DROP TABLE {name};"
        for name in ("conversations", "responses", "tool_calls", "tool_results", "attachments")
    )
    assert len(imported(shell, drop)) == 6
