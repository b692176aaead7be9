"""What a model is told of a tool whose parameters leave something to choose at the top."""

from __future__ import annotations

import json
from typing import Any, Dict

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jpq.conversation.thread import Message, Thread, ThreadText
from jpq.provider import anthropic, google, ollama, openai_chat, openai_responses
from jpq.provider.base import ProviderRequest, ProviderRow, ToolDefinition
from jpq.provider.wire_schema import folded
from jpq.provider.wire_thread import FOLDED, object_schema

A, B = {"type": "string"}, {"type": "integer"}


def an_object(*required: str, **properties: Any) -> Dict[str, Any]:
    schema: Dict[str, Any] = {"type": "object", "properties": properties}
    return {**schema, "required": list(required)} if required else schema


def test_what_has_no_choice_at_the_top_stays_as_it_is() -> None:
    schema = an_object("a", a={"anyOf": [A, B]})
    assert object_schema(schema) == schema
    assert object_schema({}) == {"type": "object"}


@pytest.mark.parametrize("field", ["anyOf", "oneOf"])
def test_choices_become_one_object_that_allows_each(field: str) -> None:
    first = an_object("k", "a", k={"const": "x"}, a=A)
    second = an_object("k", "b", k={"const": "y"}, b=B)
    assert object_schema({field: [first, second], "description": "d"}) == {
        **an_object("k", k={"anyOf": [{"const": "x"}, {"const": "y"}]}, a=A, b=B),
        "description": "d",
    }


def test_a_choice_of_what_must_be_there_keeps_what_always_must() -> None:
    schema = an_object("q", q=A, a=A, b=B)
    choice = {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert object_schema({**schema, **choice}) == schema
    both = {"oneOf": [{"required": ["a", "b"]}, {"required": ["b"]}]}
    assert object_schema({**schema, **both})["required"] == ["q", "b"]


def test_all_that_must_hold_is_joined() -> None:
    schema = {"allOf": [an_object("a", a=A), {"$ref": "#/$defs/more"}], "$defs": {}}
    schema["$defs"] = {"more": an_object("b", b=B)}
    assert object_schema(schema) == {**an_object("a", "b", a=A, b=B), "$defs": schema["$defs"]}


def test_references_that_lead_nowhere_or_in_a_circle() -> None:
    assert object_schema({"$ref": "https://elsewhere.test/x"}) == {"type": "object"}
    assert object_schema({"$ref": "#/$defs/none"}) == {"type": "object"}
    assert object_schema({"$ref": "#", "properties": {"a": A}}) == an_object(a=A)


def test_an_object_or_nothing_is_an_object() -> None:
    assert object_schema({"type": ["object", "null"], "properties": {"a": A}}) == an_object(a=A)


JSON: Any = st.recursive(
    st.none() | st.booleans() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*sorted(FOLDED), "properties", "required", "type", "a"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@example({"allOf": [{"required": [{}]}], "anyOf": [{"required": [[]]}, 7]})
@given(st.dictionaries(st.sampled_from([*sorted(FOLDED), "properties", "required"]), JSON))
def test_whatever_a_server_writes(schema: Dict[str, Any]) -> None:
    result = folded(schema)
    assert result["type"] == "object" and FOLDED.isdisjoint(result)
    json.dumps(result)


@pytest.mark.parametrize("api", [openai_chat, openai_responses, anthropic, google, ollama])
def test_each_api_is_told_so(api: Any) -> None:
    choice = {"anyOf": [an_object("a", a=A), an_object("b", b=B)]}
    tools = (ToolDefinition("attach", "", choice), ToolDefinition("list", "", {"type": "object"}))
    request = ProviderRequest("m1", Thread("", (Message("user", (ThreadText("Hi"),)),)), tools)
    row = ProviderRow("acme", "x", "https://api.acme.test/v1")
    sent = api.encode(request, row, None).body["tools"]
    described = sent[0].get("functionDeclarations", sent)
    functions = [tool.get("function", tool) for tool in described]
    told = [f.get("parameters") or f.get("input_schema") for f in functions]
    assert told[0] == an_object(a=A, b=B)
    if api in (openai_chat, openai_responses):
        assert told[1] == an_object()  # OpenAI: "object schema missing properties"
