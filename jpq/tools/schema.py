"""Schemas of arguments as the configuration writes them, and JSON as texts show it."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, Optional, Tuple

from jpq.errors import ConfigError
from jpq.events import strict_json

TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")


def json_schema(parameters: Mapping[str, Any], where: str) -> Dict[str, Any]:
    """The JSON Schema that ``parameters`` of a tool mean: it as it is, or its shorthand.

    The shorthand is a table for each argument, itself a JSON Schema but for
    ``required = true``. Raises ConfigError, which names ``where``.
    """
    if isinstance(parameters.get("type"), str):
        return {key: _plain(value) for key, value in parameters.items()}
    properties: Dict[str, Any] = {}
    required: List[str] = []
    for name, described in parameters.items():
        if not isinstance(described, Mapping):
            raise ConfigError(
                f"The parameter {name!r} must be a table.",
                where=where,
                hint=f'Write it as: parameters.{name} = {{ type = "string", required = true }}',
            )
        schema = {key: _plain(value) for key, value in described.items()}
        if isinstance(schema.get("required"), bool) and schema.pop("required"):
            required.append(name)
        _check_type(name, schema.get("type"), where)
        properties[name] = schema
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _check_type(name: str, type: Any, where: str) -> None:
    names = type if isinstance(type, list) else [type]
    for each in names:
        if each is not None and each not in TYPES:
            raise ConfigError(
                f"The parameter {name!r} has the type {each!r}, which does not exist.",
                where=where,
                hint=f"Types are {', '.join(TYPES)}.",
            )


def _plain(value: Any) -> Any:
    """``value`` as JSON has it: lists for tuples, text for dates."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if value is None or isinstance(value, (str, int, float)):
        return value
    return str(value)


def json_text(value: Any) -> str:
    """``value`` as one line of JSON."""
    return json.dumps(value, ensure_ascii=False, default=str)


def shortened(text: str, limit: int) -> str:
    """``text``, cut to ``limit`` characters."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def parse_arguments(text: str) -> Tuple[Optional[Dict[str, Any]], str]:
    """The JSON object in ``text`` and "", or None and what is wrong with it."""
    try:
        value = strict_json.parse(text)
    except ValueError as error:
        return None, f"it is not JSON: {error}"
    if not isinstance(value, dict):
        return None, "it is not a JSON object"
    return value, ""
