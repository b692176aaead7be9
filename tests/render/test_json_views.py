"""The lines that programs read."""

import io
import json
import os

from hypothesis import given
from hypothesis import strategies as st

from jpq.events.turn import (
    Complete,
    ConversationOpened,
    Error,
    Notice,
    ReasoningChunk,
    Result,
    StreamStart,
    TextChunk,
    TokenUpdate,
    ToolResult,
    ToolUse,
    ToolUseStart,
    Waiting,
)
from jpq.events.usage import Usage
from jpq.render.aside import ViewOptions
from jpq.render.jsonl import to_json_line
from jpq.render.views import make_view
from jpq.terminal.caps import Caps
from tests.support.events import checked

PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "events.md")

RESULT = Result("complete", "Hi", "stop", Usage(3, 4), None, 0)

TURN = [
    ConversationOpened("k1", "p/m"),
    Waiting("p/m"),
    StreamStart("m-1", "msg", "q1"),
    ReasoningChunk("hm"),
    TextChunk("Hi"),
    Notice("a notice"),
    ToolUseStart("c", "greet"),
    ToolUse("c", "greet", {"name": "Ann"}, "Greeter", "Greet Ann"),
    ToolResult("c", "greet", "hello", False),
    Complete("tool_calls"),
    TokenUpdate(Usage(3, None, 1), 8192),
    Error("cut", "It was cut.", "p", ""),
    RESULT,
]


def shown(format, events):
    out, err = io.BytesIO(), io.BytesIO()
    view = make_view(format, out, err, Caps(), ViewOptions())
    for event in events:
        view.show(event)
        view.tick()
        view.flush()
    view.close()
    view.flush()
    lines = [checked(line) for line in out.getvalue().decode("ascii").splitlines()]
    return lines, err.getvalue().decode()


def test_every_event_and_field():
    lines, err = shown("jsonl", TURN)
    assert lines == [
        {"type": "conversation", "schema": 1, "id": "k1", "model": "p/m"},
        {"type": "stream_start", "model": "m-1", "message_id": "msg", "turn": "q1"},
        {"type": "reasoning_chunk", "text": "hm", "index": 0},
        {"type": "text_chunk", "text": "Hi", "index": 0},
        {"type": "tool_use_start", "id": "c", "name": "greet"},
        {
            "type": "tool_use",
            "id": "c",
            "name": "greet",
            "arguments": {"name": "Ann"},
            "display_name": "Greeter",
            "title": "Greet Ann",
        },
        {"type": "tool_result", "id": "c", "name": "greet", "content": "hello", "is_error": False},
        {"type": "complete", "finish_reason": "tool_calls"},
        {
            "type": "token_update",
            "usage": {"input_tokens": 3, "reasoning_tokens": 1},
            "context_limit": 8192,
        },
        {"type": "error", "kind": "cut", "message": "It was cut.", "where": "p", "hint": ""},
        {
            "type": "result",
            "schema": 1,
            "status": "complete",
            "text": "Hi",
            "finish_reason": "stop",
            "usage": {"input_tokens": 3, "output_tokens": 4},
            "cost": None,
            "exit_code": 0,
            "error": None,
        },
    ]
    assert err == "jpq: a notice\njpq: It was cut.\n  p\n"


def test_json_is_the_result_alone_and_people_still_read_stderr():
    lines, err = shown("json", TURN)
    assert [line["type"] for line in lines] == ["result"]
    assert err.startswith("hm\njpq: a notice\n→ greet(")
    assert err.endswith("jpq: It was cut.\n  p\n")


def test_the_first_line_is_conversation_also_when_nothing_was_opened():
    lines, _ = shown("jsonl", [Notice("n"), Error("config", "bad"), RESULT])
    assert [line["type"] for line in lines] == ["conversation", "error", "result"]
    assert lines[0]["id"] is None and lines[0]["model"] is None


def test_every_event_is_documented():
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    lines, _ = shown("jsonl", TURN)
    for line in lines:
        assert f"### `{line['type']}`" in page
        section = page.split(f"### `{line['type']}`", 1)[1].split("###", 1)[0]
        for field in set(line) - {"type"}:
            assert f"`{field}`" in section, (line["type"], field)


def test_what_json_cannot_say_becomes_null():
    assert json.loads(to_json_line({"a": [float("nan"), {"b": float("inf")}], "c": 1.5})) == {
        "a": [None, {"b": None}],
        "c": 1.5,
    }


@given(
    text=st.text(alphabet=st.one_of(st.sampled_from("\ud83d\ude00\n\u2028\x1b"), st.characters()))
)
def test_any_text_is_one_line_of_valid_json(text):
    line = to_json_line({"text": text})
    assert line.isascii() and line.endswith("\n") and line.count("\n") == 1
    halves = text.encode("utf-16-le", "surrogatepass")
    assert json.loads(line)["text"].encode("utf-16-le", "surrogatepass") == halves
