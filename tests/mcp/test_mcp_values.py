"""Messages, headers, contents, forms and other clients' files: what is made of any value."""

from __future__ import annotations

import json
from typing import Any, Dict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jpq.errors import BadInputError
from jpq.mcp import protocol
from jpq.mcp.content import message_texts, part_text, progress_text, result_text
from jpq.mcp.elicitation import fields_of, parsed
from jpq.mcp.foreign import read_foreign
from jpq.mcp.headers import header_parameters, header_value, request_headers
from jpq.mcp.host import Host

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.binary())
def test_any_bytes_are_messages_or_a_value_error(data: bytes) -> None:
    try:
        messages = protocol.decode(data)
    except ValueError:
        return
    assert all(isinstance(message, dict) for message in messages)


@settings(max_examples=50)
@given(st.dictionaries(st.text(), JSON))
def test_a_message_is_one_line_that_reads_back(params: Dict[str, Any]) -> None:
    message = protocol.request(1, "m", params)
    line = protocol.encode(message)
    assert b"\n" not in line
    assert protocol.decode(line) == [message]


def test_several_messages_in_one() -> None:
    batch = [protocol.notification("a"), protocol.result(1, {})]
    assert protocol.decode(json.dumps(batch)) == batch


def test_nesting_without_end_is_a_value_error() -> None:
    with pytest.raises(ValueError):
        protocol.decode(b"[" * 200_000)


def test_half_a_character_is_replaced() -> None:
    assert protocol.encode({"x": "\ud800"}) == b'{"x":"?"}'


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("us-west1", "us-west1"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        (42, "42"),
        (True, "true"),
    ],
)
def test_header_values_are_those_of_the_specification(value: Any, header: str) -> None:
    assert header_value(value) == header


def test_marked_arguments_go_into_headers_where_they_are() -> None:
    schema = {
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
            "none": {"type": "string", "x-mcp-header": "None"},
        }
    }
    marks = {"t": header_parameters(schema)}
    arguments = {"region": "eu", "deep": {"n": 3}, "none": None}
    message = protocol.request(1, "tools/call", {"name": "t", "arguments": arguments})
    headers = request_headers(message, marks)
    assert headers["Mcp-Param-Region"] == "eu" and headers["Mcp-Param-N"] == "3"
    assert "Mcp-Param-None" not in headers


@pytest.mark.parametrize(
    "node",
    [
        {"type": "number", "x-mcp-header": "A"},
        {"type": "string", "x-mcp-header": ""},
        {"type": "string", "x-mcp-header": "a b"},
        {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}},
        {"anyOf": [{"type": "string", "x-mcp-header": "A"}]},
    ],
)
def test_a_wrong_mark_is_refused(node: Any) -> None:
    with pytest.raises(ValueError):
        header_parameters({"properties": {"x": node}})


def test_a_mark_twice_is_refused() -> None:
    node = {"type": "string", "x-mcp-header": "A"}
    with pytest.raises(ValueError, match="two arguments"):
        header_parameters({"properties": {"x": node, "y": {**node, "x-mcp-header": "a"}}})


@settings(max_examples=50)
@given(JSON)
def test_any_part_becomes_text(part: Any) -> None:
    assert isinstance(part_text(part), str)


@settings(max_examples=50)
@given(st.dictionaries(st.sampled_from(["content", "structuredContent", "isError"]), JSON))
def test_any_result_becomes_text(result: Dict[str, Any]) -> None:
    text, is_error = result_text(result)
    assert isinstance(text, str) and isinstance(is_error, bool)


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ({"type": "text", "text": "plain"}, "plain"),
        (
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            "[image: image/png, 3 bytes, not shown here]",
        ),
        ({"type": "audio", "data": "?", "mimeType": "audio/wav"}, "[audio: audio/wav, 0 bytes"),
        ({"type": "resource", "resource": {"uri": "a:b", "text": "t"}}, "[resource a:b]\nt"),
        (
            {"type": "resource", "resource": {"uri": "a:b", "mimeType": "text/x", "blob": "YWI="}},
            "[resource a:b]\nab",
        ),
        (
            {"type": "resource_link", "uri": "a:b", "name": "n", "mimeType": "text/plain"},
            "[link to the resource a:b: n, text/plain]",
        ),
        ({"type": "hologram", "x": 1}, "[a part of the unknown kind 'hologram': "),
    ],
)
def test_parts_that_are_no_text_are_named(part: Any, text: str) -> None:
    assert part_text(part).startswith(text)


def test_structured_content_is_told_once() -> None:
    part = {"type": "text", "text": '{"a": 1}'}
    assert result_text({"content": [part], "structuredContent": {"a": 1}}) == ('{"a": 1}', False)
    assert result_text({"structuredContent": [1]}) == ("[1]", False)


def test_progress_and_messages_as_text() -> None:
    assert progress_text({"progress": 2, "total": 4, "message": "half"}) == "2/4 half"
    assert progress_text({"progress": 0.5}) == "0.5"
    messages = [
        {"role": "user", "content": {"type": "text", "text": "Q"}},
        {"role": "assistant", "content": {"type": "text", "text": "A"}},
    ]
    odd = [*messages, {"role": "user", "content": {"type": "text", "text": " "}}, 7]
    told = list(message_texts(odd))
    assert told[:2] == [("user", "Q"), ("assistant", "A")]
    assert told[2][1].startswith("[a part of the unknown kind") and len(told) == 3


FORM = {
    "properties": {
        "name": {"type": "string", "minLength": 2},
        "mail": {"type": "string", "format": "email"},
        "age": {"type": "integer", "minimum": 18},
        "sure": {"type": "boolean"},
        "color": {"oneOf": [{"const": "#f00", "title": "Red"}], "type": "string"},
        "pets": {"type": "array", "maxItems": 1, "items": {"enum": ["cat", "dog"]}},
    },
    "required": ["name"],
}


@pytest.mark.parametrize(
    ("name", "answer", "value"),
    [
        ("name", "Ada", "Ada"),
        ("name", "A", None),
        ("mail", "a@b", "a@b"),
        ("mail", "ab", None),
        ("age", "18", 18),
        ("age", "17", None),
        ("age", "old", None),
        ("sure", "yes", True),
        ("sure", "maybe", None),
        ("color", "Red", "#f00"),
        ("color", "blue", None),
        ("pets", "cat", ["cat"]),
        ("pets", "cat, dog", None),
    ],
)
def test_answers_to_a_form(name: str, answer: str, value: Any) -> None:
    field = next(field for field in fields_of(FORM) if field.name == name)
    if value is None:
        with pytest.raises(ValueError):
            parsed(field, answer)
    else:
        assert parsed(field, answer) == value


def test_a_form_that_is_not_flat_is_refused() -> None:
    with pytest.raises(ValueError, match="'object'"):
        fields_of({"properties": {"x": {"type": "object"}}})


def test_defaults_are_filled_in_for_the_server() -> None:
    class Yes(Host):
        elicits = True

        def elicit(self, params: Dict[str, Any]) -> Dict[str, Any]:
            return {"action": "accept", "content": {"a": 1}}

    schema = {"properties": {"a": {"default": 5}, "b": {"default": 6}}}
    answer = Yes().answer("elicitation/create", {"requestedSchema": schema})
    assert answer["content"] == {"a": 1, "b": 6}


def test_servers_of_other_clients() -> None:
    text = """
    {
      // of an editor
      "mcpServers": {
        "files": {"command": "npx", "args": ["-y", "server", "."], "env": {"A": "http://x//y"}},
        "hub": {"command": "hub", "env": {"TOKEN": "${TOKEN}", "OTHER": "x-${env:TOKEN}"}},
        "web": {"serverUrl": "https://x/mcp", "headers": {"X-A": "b"}, "disabled": true},
        "old": {"type": "sse", "url": "https://x/sse"},
        "odd": {"kind": "none"},
      },
    }
    """
    foreign = read_foreign(text, "file")
    assert foreign.servers == {
        "files": {"command": ["npx", "-y", "server", "."], "env": {"A": "http://x//y"}},
        "hub": {"command": ["hub"], "pass_env": ["TOKEN"]},
        "web": {"url": "https://x/mcp", "headers": {"X-A": "b"}, "enabled": False},
        "old": {"url": "https://x/sse"},
    }
    assert len(foreign.notes) == 3


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 1}', '{"mcpServers": []}'])
def test_a_file_without_servers_is_refused(text: str) -> None:
    with pytest.raises(BadInputError):
        read_foreign(text, "file")
