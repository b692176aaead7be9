"""JSON Schemas as people write them: whole, or in a short form like ``name, age int, tags [str]``.

Loaded for ``--schema`` only.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, Tuple

from jpq.events import json_depth

TYPES: Mapping[str, str] = {
    "str": "string",
    "string": "string",
    "int": "integer",
    "integer": "integer",
    "float": "number",
    "number": "number",
    "bool": "boolean",
    "boolean": "boolean",
}
ITEMS = "items"  # the field of a list's object

_FIELD = re.compile(r"(?P<name>[^\W\d]\w*)(?P<maybe>\?)?(?:\s+(?P<type>\S+))?\Z")
# Commas in brackets part nothing, so that a wrong type is shown whole.
_COMMA = re.compile(r",(?![^\[\]]*\])")


class SchemaTextError(ValueError):
    """The text is no schema; ``line`` is where, counted from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def parse_schema(text: str) -> Dict[str, Any]:
    """The JSON Schema that ``text`` is or means. Raises SchemaTextError."""
    if not text.lstrip().startswith("{"):
        return _short_form(text)
    try:
        schema = json_depth.loads(text)
    except ValueError as error:
        line = getattr(error, "lineno", 1)
        raise SchemaTextError(f"it is not valid JSON: {error}", line) from error
    assert isinstance(schema, dict)
    return schema


def list_of(schema: Mapping[str, Any]) -> Dict[str, Any]:
    """The schema of an object with a list of what matches ``schema``.

    An object, because most APIs take nothing else at the top.
    """
    # Whatever the items refer to is found from the top.
    inner = {key: value for key, value in schema.items() if key not in ("$defs", "definitions")}
    shared = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    return {**_object({ITEMS: {"type": "array", "items": inner}}, [ITEMS]), **shared}


def is_exact(schema: Any) -> bool:
    """Whether each object in ``schema`` has exactly the fields it names, all of them required,
    and nothing else is asked: what providers that hold their models to schemas can promise."""
    if not isinstance(schema, dict):
        return False
    if set(schema) - _EXACT_WORDS:
        return False
    fields, shared = schema.get("properties", {}), schema.get("$defs", {})
    either = schema.get("anyOf", [])
    if not (isinstance(fields, dict) and isinstance(shared, dict) and isinstance(either, list)):
        return False
    if schema.get("type") == "object" and (
        schema.get("additionalProperties") is not False or not _names_all(schema, fields)
    ):
        return False
    inner: List[Any] = [*fields.values(), *shared.values(), *either]
    inner += [schema["items"]] if "items" in schema else []
    return all(map(is_exact, inner))


def _names_all(schema: Mapping[str, Any], fields: Mapping[str, Any]) -> bool:
    required = schema.get("required", [])
    if not isinstance(required, list) or len(required) != len(fields):
        return False
    return all(isinstance(name, str) and name in fields for name in required)


# Keywords that OpenAI and Anthropic both document for structured outputs.
_EXACT_WORDS = {
    "$defs",
    "$ref",
    "additionalProperties",
    "anyOf",
    "const",
    "description",
    "enum",
    "items",
    "properties",
    "required",
    "type",
}


def _short_form(text: str) -> Dict[str, Any]:
    """The schema of an object with the fields that ``text`` lists.

    A field a line, or fields with commas between: ``name``, ``name type`` or
    ``name type: description``. A ``?`` after the name lets the field be null.
    """
    properties: Dict[str, Any] = {}
    for number, field in _fields(text):
        said, _, description = field.partition(":")
        match = _FIELD.match(said.strip())
        if match is None:
            raise SchemaTextError(f"{field.strip()!r} is no field", number)
        name = match["name"]
        if name in properties:
            raise SchemaTextError(f"the field {name!r} is there twice", number)
        schema = _of_type(match["type"] or "str", number)
        if match["maybe"]:
            schema = {"anyOf": [schema, {"type": "null"}]}
        if description.strip():
            schema["description"] = description.strip()
        properties[name] = schema
    if not properties:
        raise SchemaTextError("it is empty", 1)
    return _object(properties, list(properties))


def _fields(text: str) -> List[Tuple[int, str]]:
    """The fields that ``text`` lists, each with the number of its line."""
    lines = text.strip("\n").split("\n")
    if len(lines) == 1:
        return [(1, field) for field in _COMMA.split(text) if field.strip()]
    numbered = enumerate(text.split("\n"), 1)
    return [(n, line.rstrip().rstrip(",")) for n, line in numbered if line.strip()]


def _of_type(word: str, line: int) -> Dict[str, Any]:
    if word.startswith("[") and word.endswith("]"):
        return {"type": "array", "items": _of_type(word[1:-1].strip() or "str", line)}
    if word not in TYPES:
        raise SchemaTextError(
            f"{word!r} is no type; there are str, int, float, bool, and lists such as [str]", line
        )
    return {"type": TYPES[word]}


def _object(properties: Mapping[str, Any], required: List[str]) -> Dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
