"""Entries: every event survives its line, and no line stops the reading."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.conversation.entry import decode_entry, encode_entry, entry_fields
from jpq.conversation.event import (
    AssistantMessage,
    AssistantOpaque,
    AssistantReasoning,
    AssistantStructured,
    ChatRequest,
    Compaction,
    ConfigDelta,
    Entry,
    InquiryRequest,
    InquiryResponse,
    Overlay,
    ToolCall,
    ToolResponse,
    TurnEnd,
    Unknown,
)

WHEN = "2026-05-03T12:00:00.000Z"
TEXT = st.text(st.characters(exclude_categories=()), max_size=20).filter(
    # Two halves that stand side by side are one character in JSON.
    lambda text: text == json.loads(json.dumps(text))
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OBJECT = st.dictionaries(TEXT, JSON, max_size=3)
EVENT = st.one_of(
    st.builds(ChatRequest, TEXT),
    st.builds(AssistantMessage, TEXT),
    st.builds(AssistantReasoning, TEXT),
    st.builds(AssistantStructured, JSON),
    st.builds(AssistantOpaque, OBJECT),
    st.builds(lambda id, name, given: ToolCall(id, name, given), TEXT, TEXT, OBJECT),
    st.builds(lambda id, name, raw: ToolCall(id, name, {"raw": raw}, raw), TEXT, TEXT, TEXT),
    st.builds(ToolResponse, TEXT, TEXT, st.booleans()),
    st.builds(InquiryRequest, TEXT, TEXT),
    st.builds(InquiryResponse, TEXT, TEXT),
    st.builds(ConfigDelta, OBJECT),
    st.builds(
        TurnEnd, TEXT, st.none() | TEXT.filter(bool), st.just({"input_tokens": 3}), st.none()
    ),
)
METADATA = st.fixed_dictionaries(
    {}, optional={"provider": TEXT, "model": TEXT, "opaque": OBJECT, "partial": st.just(True)}
)


@given(event=EVENT, metadata=METADATA)
def test_every_event_survives_its_line(event: object, metadata: dict) -> None:
    entry = Entry("k3m9x2a", WHEN, event, metadata)
    line = encode_entry(entry)
    assert b"\n" not in line
    line.decode("utf-8")
    assert decode_entry(line) == entry._replace(line=line)


def test_line_is_as_documented() -> None:
    entry = Entry("k3m9x2a", WHEN, ChatRequest("Hello"))
    assert encode_entry(entry) == (
        b'{"event_id":"k3m9x2a","timestamp":"2026-05-03T12:00:00.000Z",'
        b'"type":"chat_request","content":"Hello"}'
    )


def test_arguments_that_do_not_parse_are_kept_beside_empty_ones() -> None:
    call = ToolCall("c1", "greet", {"raw": '{"name": "A'}, raw='{"name": "A')
    fields = json.loads(encode_entry(Entry("k3m9x2a", WHEN, call)))
    assert fields["arguments"] == {}
    assert fields["metadata"] == {"raw": '{"name": "A'}


@pytest.mark.parametrize(
    "line",
    [
        b'{"event_id":"aaaaaaa","timestamp":"","type":"compaction","from":"x","to":"y"}',
        b'{"type":"chat_request","content":7}',
        b'{"type":"chat_response"}',
        b'{"type":"tool_call_request","id":"1","name":"n","arguments":[1]}',
        b'{"type":"tool_call_response","id":"1"}',
        b'{"type":"inquiry_request","id":"1"}',
        b'{"type":"inquiry_response","id":"1"}',
        b'{"type":"config_delta","changes":[]}',
        b'{"type":"turn_end"}',
        b'{"type":[]}',
        b"{}",
        b'{ "type" : "chat_request" , "content" : [ {"type":"image"} ] }\r',
    ],
)
def test_what_is_not_understood_is_kept_byte_for_byte(line: bytes) -> None:
    entry = decode_entry(line)
    assert entry is not None
    assert isinstance(entry.event, Unknown)
    assert encode_entry(entry) == line


def test_unknown_fields_are_kept() -> None:
    line = b'{"event_id":"aaaaaaa","type":"chat_request","content":"x","mood":"good"}'
    entry = decode_entry(line)
    assert entry is not None and entry.event == ChatRequest("x")
    assert encode_entry(entry) == line
    assert entry_fields(entry)["mood"] == "good"


@pytest.mark.parametrize(
    "line,text",
    [
        (b'\xef\xbb\xbf{"type":"chat_request","content":"bom"}', "bom"),
        (b'\0\0\0{"type":"chat_request","content":"nul"}\0', "nul"),
        (b'{"type":"chat_request","content":"\xff"}', "\ufffd"),
        (b'{"type":"chat_request","content":"\\ud800"}', "\ud800"),
        (b'{"type":"chat_request","content":"\xe2\x80\xa8"}', "\u2028"),
        (b'{"type":"chat_request","content":"cr"}\r', "cr"),
    ],
)
def test_damaged_lines_that_still_say_something(line: bytes, text: str) -> None:
    entry = decode_entry(line)
    assert entry is not None and entry.event == ChatRequest(text)


@pytest.mark.parametrize(
    "line",
    [b"", b"\0\0\0", b'{"type":"chat_req', b"7", b"[]", b"null", b"[" * 100000, b"9" * 5000],
)
def test_lines_that_are_no_entry(line: bytes) -> None:
    assert decode_entry(line) is None


@given(line=st.binary(max_size=60))
def test_no_bytes_stop_the_reading(line: bytes) -> None:
    entry = decode_entry(line)
    assert entry is None or encode_entry(entry) == line


def test_compactions_and_overlays_as_they_are_stored() -> None:
    for event, body in (
        (
            Compaction("a", "b", "s", True, False),
            '"type":"compaction","first":"a","last":"b","summary":"s",'
            '"drop_reasoning":true,"shorten_results":false}',
        ),
        (Overlay("a", None), '"type":"overlay","target":"a","fields":null}'),
        (Overlay("a", {"content": "x"}), '"type":"overlay","target":"a","fields":{"content":"x"}}'),
    ):
        line = encode_entry(Entry("e", WHEN, event))
        assert line.decode().endswith(body)
        read = decode_entry(line)
        assert read is not None and read.event == event
    for broken in (b'{"type":"overlay","target":"a"}', b'{"type":"compaction","first":"a"}'):
        read = decode_entry(broken)
        assert read is not None and isinstance(read.event, Unknown)
