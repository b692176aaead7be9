"""The shorthand for parameters, and what a model is told of arguments that do not match."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.errors import ConfigError
from jpq.tools.arguments import ArgumentCheck
from jpq.tools.schema import json_schema, parse_arguments

SCHEMA = json_schema(
    {
        "name": {"type": "string", "description": "who", "required": True},
        "times": {"type": "integer", "default": 1},
        "mood": {"enum": ("glad", "sad")},
    },
    "tools.greet",
)


def test_the_shorthand_is_a_closed_object() -> None:
    assert SCHEMA == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "who"},
            "times": {"type": "integer", "default": 1},
            "mood": {"enum": ["glad", "sad"]},
        },
        "required": ["name"],
        "additionalProperties": False,
    }


def test_a_schema_stays_as_it_is_and_a_parameter_may_be_called_type() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ("a",)}
    assert json_schema(schema, "x") == {**schema, "required": ["a"]}
    assert json_schema({"type": {"type": "string"}}, "x")["properties"] == {
        "type": {"type": "string"}
    }


@pytest.mark.parametrize("wrong", [{"name": "string"}, {"name": {"type": "text"}}])
def test_a_wrong_parameter_is_a_mistake_in_the_configuration(wrong: Any) -> None:
    with pytest.raises(ConfigError) as error:
        json_schema(wrong, "tools.greet")
    assert error.value.where == "tools.greet" and "'name'" in error.value.message


@pytest.mark.parametrize(
    "arguments, said",
    [
        ({}, "arguments must contain ['name'] properties"),
        ({"name": 5}, "arguments.name must be string, and it is 5"),
        ({"name": "a", "times": "3"}, 'arguments.times must be integer, and it is "3"'),
        ({"name": "a", "times": True}, "arguments.times must be integer, and it is true"),
        ({"name": "a", "nome": 1}, "arguments must not contain {'nome'} properties"),
        ({"name": "a", "mood": "cross"}, "arguments.mood must be one of ['glad', 'sad']"),
        ([], "arguments must be object, and it is []"),
    ],
)
def test_nothing_is_coerced_and_the_model_learns_what_is_wrong(arguments: Any, said: str) -> None:
    complaint = ArgumentCheck("greet", SCHEMA).complaint(arguments)
    assert complaint is not None and complaint.startswith(said)
    assert "The schema of greet is {" in complaint


def test_no_default_is_filled_in() -> None:
    arguments = {"name": "Ada"}
    assert ArgumentCheck("greet", SCHEMA).complaint(arguments) is None
    assert arguments == {"name": "Ada"}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nonsense"},
        {"properties": {"a": {"pattern": "("}}},
        {"properties": {"a": {"$ref": "file:///etc/passwd"}}},
        {"properties": {"a": {"$ref": "http://127.0.0.1:9/x"}}},
        {"properties": {"a": {"$ref": "other.json"}}},
        {"properties": {"a": {"$ref": "#/nowhere"}}},
    ],
)
def test_a_schema_that_cannot_be_used_fetches_nothing_and_is_told(schema: Any) -> None:
    complaint = ArgumentCheck("x", schema).complaint({"a": "b"})
    assert complaint is not None and complaint.startswith("the schema of x cannot be used")


def test_arguments_of_people_are_one_json_object() -> None:
    assert parse_arguments('{"a": 1}') == ({"a": 1}, "")
    assert parse_arguments("[1]")[0] is None
    assert "not JSON" in parse_arguments("{")[1]
    assert parse_arguments("[" * 100000)[0] is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(["name", "times", "mood", "x"]), VALUES))
def test_any_arguments_are_accepted_or_explained(arguments: Any) -> None:
    complaint = ArgumentCheck("greet", SCHEMA).complaint(arguments)
    fits = (
        set(arguments) <= {"name", "times", "mood"}
        and isinstance(arguments.get("name"), str)
        and arguments.get("mood", "sad") in ("glad", "sad")
        and _whole(arguments.get("times", 1))
    )
    assert (complaint is None) == fits


def _whole(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
