"""Holds every line of JSON Lines that a test reads to the schema that jpq ships."""

from __future__ import annotations

import copy
import json
import os
from typing import Any, Callable, Dict

import fastjsonschema

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

PATH = os.path.join(ROOT, "jpq", "events", "schema.json")
# What every line of a chat may have beside its own fields.
SHARED = ("session", "request")


def load_schema() -> Dict[str, Any]:
    with open(PATH, encoding="utf-8") as file:
        schema: Dict[str, Any] = json.load(file)
    return schema


def _strict(definition: Dict[str, Any], schema: Dict[str, Any]) -> Dict[str, Any]:
    """``definition`` without room for fields that it does not name."""
    strict = copy.deepcopy(definition)
    strict["properties"].update({name: schema["properties"][name] for name in SHARED})
    strict["additionalProperties"] = False
    return {**strict, "definitions": schema["definitions"]}


def _validators() -> Dict[str, Callable[[Any], Any]]:
    schema = load_schema()
    names = [each["$ref"].rpartition("/")[2] for each in schema["oneOf"]]
    return {
        name: fastjsonschema.compile(_strict(schema["definitions"][name], schema)) for name in names
    }


_CHECKS = _validators()


def checked(line: Any) -> Dict[str, Any]:
    """The object on ``line`` (its text or itself), which must be as the schema has it."""
    fields = json.loads(line) if isinstance(line, (str, bytes)) else line
    assert fields.get("type") in _CHECKS, fields
    _CHECKS[fields["type"]](fields)
    found: Dict[str, Any] = fields
    return found
