"""Schemas as people write them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.conversation.schema_text import SchemaTextError, is_exact, list_of, parse_schema
from jpq.tools.output_check import OutputCheck, UnusableSchema

STRING = {"type": "string"}


def test_the_short_form_in_a_line() -> None:
    schema = parse_schema("name, age int, tags [str], score float, ok bool, ids [int]")
    assert schema == {
        "type": "object",
        "properties": {
            "name": STRING,
            "age": {"type": "integer"},
            "tags": {"type": "array", "items": STRING},
            "score": {"type": "number"},
            "ok": {"type": "boolean"},
            "ids": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["name", "age", "tags", "score", "ok", "ids"],
        "additionalProperties": False,
    }


def test_descriptions_and_fields_that_may_be_null() -> None:
    schema = parse_schema("name: the full name, bio?: what she did, born? int")
    assert schema["properties"] == {
        "name": {**STRING, "description": "the full name"},
        "bio": {"anyOf": [STRING, {"type": "null"}], "description": "what she did"},
        "born": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    }


def test_a_field_a_line_whose_description_has_commas() -> None:
    schema = parse_schema("\n  name: first, then last\n\n  age int,\n  lists [[int]]\n")
    assert list(schema["properties"]) == ["name", "age", "lists"]
    assert schema["properties"]["name"]["description"] == "first, then last"
    assert schema["properties"]["lists"]["items"] == {"type": "array", "items": {"type": "integer"}}


def test_json_schema_is_taken_as_it_is() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 3}}}
    assert parse_schema("\n " + json.dumps(schema, indent=2)) == schema


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "empty"),
        (" , ", 1, "empty"),
        ("name, name", 1, "twice"),
        ("age integr", 1, "'integr' is no type"),
        ("tags [thing]", 1, "'thing' is no type"),
        ("name\nfirst name\nage", 2, "'name' is no type"),
        ("one two three", 1, "no field"),
        ("1st", 1, "no field"),
        ("a: x, b, a", 1, "twice"),
        ('{"type": "object"\n}}', 2, "not valid JSON"),
        ('{"a": ' * 20_000, 1, ""),
    ],
)
def test_what_is_no_schema_says_so_with_its_line(text: str, line: int, words: str) -> None:
    with pytest.raises(SchemaTextError) as caught:
        parse_schema(text)
    assert caught.value.line == line and words in str(caught.value)


@given(st.text(max_size=40))
def test_any_text_is_a_schema_that_can_be_used_or_an_error(text: str) -> None:
    try:
        schema = parse_schema(text)
    except SchemaTextError as error:
        assert error.line >= 1
        return
    if not text.lstrip().startswith("{"):
        OutputCheck(schema)
        assert is_exact(schema) and is_exact(list_of(schema))


def test_a_list_shares_the_definitions_of_its_items() -> None:
    schema = {"$defs": {"a": STRING}, "type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}}
    multi = list_of(schema)
    check = OutputCheck(multi)
    assert check.complaint({"items": [{"x": "y"}]}) is None
    assert check.complaint({"items": [{"x": 1}]}) is not None
    assert check.complaint([]) is not None


@pytest.mark.parametrize(
    ("schema", "exact"),
    [
        (parse_schema("a, b? int"), True),
        ({"type": "object"}, False),
        ({**parse_schema("a"), "required": []}, False),
        ({**parse_schema("a"), "minProperties": 1}, False),
        ({"type": "string", "pattern": "x"}, False),
        ({"type": "array", "items": {"type": "object"}}, False),
        (True, False),
        ({**parse_schema("a"), "$defs": "x"}, False),
        ({**parse_schema("a"), "anyOf": 1}, False),
        ({**parse_schema("a"), "required": [1]}, False),
        ({"type": "object", "additionalProperties": False, "required": 3}, False),
    ],
)
def test_what_a_provider_can_promise(schema: Any, exact: bool) -> None:
    assert is_exact(schema) is exact


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "strin"},
        {"$ref": "https://example.com/x.json"},
        {"type": "object", "properties": 3},
        {"pattern": "("},
    ],
)
def test_a_schema_that_cannot_be_used(schema: Any) -> None:
    with pytest.raises(UnusableSchema):
        OutputCheck(schema)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"name": "Ada", "age": 36, "tags": []}, None),
        ({"name": "Ada", "age": 36}, "must contain"),
        ({"name": "Ada", "age": 36, "tags": ["x", 2]}, "the answer.tags[1] must be string"),
        ({"name": "Ada", "age": 36, "tags": [], "x": 1}, "must not contain {'x'}"),
        ([], "the answer must be object, and it is []"),
    ],
)
def test_complaints_name_the_place(value: Any, words: Any) -> None:
    said = OutputCheck(parse_schema("name, age int, tags [str]")).complaint(value)
    assert said is None if words is None else words in str(said)


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_what_cannot_be_checked_does_not_match(value: float) -> None:
    assert OutputCheck({"multipleOf": 2}).complaint(value) is not None
