"""Reduces JSON Schema to the subset that Gemini takes for the parameters of a function.

The subset is the type Schema of the Gemini API's reference; Vertex AI's is the same but for
``anyOf``, which may have no other field beside it. What is not in it is dropped: it would be
refused, and a call is checked against the whole schema before it runs.
"""

from __future__ import annotations

import json
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence

_NUMBERS = {"minimum", "maximum"}
_OF_TYPE: Mapping[str, Sequence[str]] = {
    "string": ("minLength", "maxLength", "pattern"),
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
    "boolean": (),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}
_FORMATS: Mapping[str, Sequence[str]] = {
    "string": ("date-time",),
    "integer": ("int32", "int64"),
    "number": ("float", "double"),
}
# What holds without any limit; a schema that says nothing is a string, as Gemini wants a type.
_ANYTHING = "string"
_DEEPEST = 24
_MOST_SCHEMAS = 5_000  # references may multiply each other without end
_MOST_OF_ENUM = 300  # characters of the values that Gemini cannot be given as such


def reduce_schema(schema: Mapping[str, Any]) -> Dict[str, Any]:
    """``schema`` as Gemini takes it. References within it are put in place."""
    return _Reducer(schema).reduce(schema, ())


class _Reducer:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._left = _MOST_SCHEMAS

    def reduce(self, schema: Any, inside: Sequence[str]) -> Dict[str, Any]:
        """``schema``, which is ``inside`` of the references with these names."""
        self._left -= 1
        if not isinstance(schema, dict) or len(inside) >= _DEEPEST or self._left < 0:
            return {"type": _ANYTHING}
        reference = schema.get("$ref")
        if isinstance(reference, str):
            if reference in inside:
                return {**_described(schema), "type": "object"}  # a schema that holds itself
            schema = {**self._find(reference), **_without(schema, "$ref")}
            return self.reduce(schema, (*inside, reference))
        inside = (*inside, "")
        schema = self._with_all_of(schema, inside)
        types = _types(schema)
        nullable = "null" in types or schema.get("nullable") is True or _allows_null(schema)
        choices = [self.reduce(choice, inside) for choice in _choices(schema, types)]
        reduced = (
            _one_of(choices, _described(schema))
            if choices
            else self._of_type(schema, types, inside)
        )
        return _with(reduced, {"nullable": True}) if nullable else reduced

    def _find(self, reference: str) -> Mapping[str, Any]:
        """What a reference into this document points at, or {}."""
        if not reference.startswith("#"):
            return {}
        found: Any = self._root
        for step in reference[1:].split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            found = found.get(step) if isinstance(found, dict) else None
        return found if isinstance(found, dict) else {}

    def _with_all_of(self, schema: Mapping[str, Any], inside: Sequence[str]) -> Mapping[str, Any]:
        """``schema`` with what ``allOf`` demands besides laid under it."""
        merged: Dict[str, Any] = {}
        for part in _list(schema.get("allOf")):
            seen: List[str] = list(inside)
            while isinstance(part, dict) and isinstance(part.get("$ref"), str):
                if part["$ref"] in seen:
                    part = {}
                    break
                seen.append(part["$ref"])
                part = {**self._find(part["$ref"]), **_without(part, "$ref")}
            if isinstance(part, dict):
                merged = _joined(merged, part)
        return _joined(merged, _without(schema, "allOf")) if merged else schema

    def _of_type(
        self, schema: Mapping[str, Any], types: Sequence[str], inside: Sequence[str]
    ) -> Dict[str, Any]:
        type = next((type for type in types if type in _OF_TYPE), _guessed_type(schema))
        reduced = {**_described(schema), "type": type}
        for field in _OF_TYPE[type]:
            if field in schema:
                reduced[field] = schema[field]
        if schema.get("format") in _FORMATS.get(type, ()):
            reduced["format"] = schema["format"]
        if "const" in schema or isinstance(schema.get("enum"), list):
            _add_enum(reduced, schema["enum"] if "enum" in schema else [schema["const"]])
        if type == "array":
            reduced["items"] = self._items(schema, inside)
        if type == "object":
            self._add_properties(reduced, schema, inside)
        return reduced

    def _items(self, schema: Mapping[str, Any], inside: Sequence[str]) -> Dict[str, Any]:
        items = schema.get("items")
        kinds = items if isinstance(items, list) else _list(schema.get("prefixItems"))
        if isinstance(items, dict):
            return self.reduce(items, inside)
        # A list of kinds is a tuple, which Gemini has no word for.
        return _one_of([self.reduce(kind, inside) for kind in kinds], {})

    def _add_properties(
        self, reduced: Dict[str, Any], schema: Mapping[str, Any], inside: Sequence[str]
    ) -> None:
        properties = schema.get("properties")
        if not isinstance(properties, dict) or not properties:
            return
        reduced["properties"] = {
            str(name): self.reduce(inner, inside) for name, inner in properties.items()
        }
        required = [name for name in _list(schema.get("required")) if name in properties]
        if required:
            reduced["required"] = required


def _types(schema: Mapping[str, Any]) -> List[str]:
    given = schema.get("type")
    return [type.lower() for type in _list(given, given) if isinstance(type, str)]


def _choices(schema: Mapping[str, Any], types: Sequence[str]) -> List[Any]:
    """The schemas of which one is to hold, but for null; [] where there is no choice."""
    for field in ("anyOf", "oneOf"):
        outer = _without(schema, "anyOf", "oneOf", "description", "nullable", "title")
        found = [choice for choice in _list(schema.get(field)) if not _is_null(choice)]
        if found:
            return [_joined(outer, c) if isinstance(c, dict) else c for c in found]
    real = [type for type in types if type in _OF_TYPE]
    if len(real) < 2:
        return []
    return [{**_without(schema, "description"), "type": type} for type in real]


def _is_null(schema: Any) -> bool:
    return isinstance(schema, dict) and (
        schema.get("type") == "null" or ("const" in schema and schema["const"] is None)
    )


def _allows_null(schema: Mapping[str, Any]) -> bool:
    choices = _list(schema.get("anyOf")) + _list(schema.get("oneOf"))
    return any(map(_is_null, choices)) or None in _list(schema.get("enum"))


def _one_of(choices: Iterable[Dict[str, Any]], described: Mapping[str, Any]) -> Dict[str, Any]:
    """A schema that is one of ``choices``, which may be choices themselves."""
    unique: List[Dict[str, Any]] = []
    for choice in choices:
        unique += [one for one in choice.get("anyOf", [choice]) if one not in unique]
    if len(unique) > 1:
        return _with({"anyOf": unique}, described)
    return _with(unique[0] if unique else {"type": _ANYTHING}, described)


def _with(reduced: Mapping[str, Any], fields: Mapping[str, Any]) -> Dict[str, Any]:
    """``reduced`` with ``fields``, which cannot stand beside ``anyOf`` but in each choice."""
    if "anyOf" in reduced:
        return {"anyOf": [{**fields, **choice} for choice in reduced["anyOf"]]}
    return {**reduced, **fields}


def _guessed_type(schema: Mapping[str, Any]) -> str:
    if "properties" in schema or "additionalProperties" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    values = [v for v in _list(schema.get("enum"), schema.get("const")) if v is not None]
    if values and all(isinstance(value, bool) for value in values):
        return "boolean"
    if values and all(isinstance(value, (int, float)) for value in values):
        return "number"
    return "number" if _NUMBERS & set(schema) else _ANYTHING


def _add_enum(reduced: Dict[str, Any], values: Iterable[Any]) -> None:
    """Gemini takes an ``enum`` of strings only; other values are told in the description."""
    values = [value for value in values if value is not None]
    texts = [value for value in values if isinstance(value, str) and value]
    if reduced["type"] == "string" and texts and len(texts) == len(values):
        reduced["enum"] = list(dict.fromkeys(texts))
    elif values:
        listed = ", ".join(json.dumps(value, ensure_ascii=False) for value in values)
        told = f"One of: {listed[:_MOST_OF_ENUM]}"
        description = reduced.get("description")
        reduced["description"] = f"{description} ({told})" if description else told


def _described(schema: Mapping[str, Any]) -> Dict[str, Any]:
    description = schema.get("description")
    return {"description": description} if isinstance(description, str) and description else {}


def _joined(under: Mapping[str, Any], over: Mapping[str, Any]) -> Dict[str, Any]:
    """``over`` laid over ``under``; the properties of both and what both require hold."""
    joined = {**under, **over}
    first, second = under.get("properties"), over.get("properties")
    if isinstance(first, dict) and isinstance(second, dict):
        joined["properties"] = {**first, **second}
    if "required" in under and "required" in over:
        both = [*_list(under["required"]), *_list(over["required"])]
        joined["required"] = [name for n, name in enumerate(both) if name not in both[:n]]
    return joined


def _without(schema: Mapping[str, Any], *fields: str) -> Dict[str, Any]:
    return {name: value for name, value in schema.items() if name not in fields}


def _list(value: Any, single: Optional[Any] = None) -> List[Any]:
    """``value`` if it is a list, else a list of ``single`` alone, or an empty one."""
    if isinstance(value, list):
        return value
    return [] if single is None else [single]
