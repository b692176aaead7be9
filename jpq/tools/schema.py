"""Schemas of arguments: from the configuration's shorthand, and checked before a call runs."""

from __future__ import annotations

import importlib
import json
from typing import Any, Callable, Dict, List, Mapping, NoReturn, Optional, Tuple

from jpq.errors import ConfigError

TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")

_SCHEMA_SHOWN = 2000
_VALUE_SHOWN = 80


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


class ArgumentCheck:
    """Checks arguments against one schema, compiled when the first call needs it. One thread.

    Nothing is coerced and no default is filled in: what runs is what the model wrote.
    """

    def __init__(self, tool: str, schema: Mapping[str, Any]) -> None:
        self._tool = tool
        self._schema = schema
        self._validate: Optional[Callable[[Any], Any]] = None

    def complaint(self, arguments: Any) -> Optional[str]:
        """What is wrong with ``arguments``, in words that let the model mend the call."""
        library = _library()
        try:
            if self._validate is None:
                self._validate = library.compile(
                    self._schema, handlers=_NoDownloads(), use_default=False, use_formats=False
                )
            self._validate(arguments)
        except library.JsonSchemaValueException as error:
            return self._explained(error)
        except Exception as error:
            # The library fails in many ways on a schema that is wrong: in the definition, a
            # pattern, a reference, or the code that it makes of them.
            return f"the schema of {self._tool} cannot be used: {error}"
        return None

    def _explained(self, error: Any) -> str:
        said = str(error.message).replace("data", "arguments", 1)
        if error.rule not in ("required", "additionalProperties"):
            said += f", and it is {shortened(json_text(error.value), _VALUE_SHOWN)}"
        schema = shortened(json_text(self._schema), _SCHEMA_SHOWN)
        return f"{said}. The schema of {self._tool} is {schema}"


def json_text(value: Any) -> str:
    """``value`` as one line of JSON."""
    return json.dumps(value, ensure_ascii=False, default=str)


def shortened(text: str, limit: int) -> str:
    """``text``, cut to ``limit`` characters."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def parse_arguments(text: str) -> Tuple[Optional[Dict[str, Any]], str]:
    """The JSON object in ``text`` and "", or None and what is wrong with it."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return None, f"it is not JSON: {error}"
    if not isinstance(value, dict):
        return None, "it is not a JSON object"
    return value, ""


class _NoDownloads(Dict[str, Callable[[str], Any]]):
    """Handlers of references to other documents: a schema must not make us fetch anything."""

    def __contains__(self, scheme: object) -> bool:
        return True

    def __missing__(self, scheme: str) -> Callable[[str], NoReturn]:
        return _refuse


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"it refers to another document, {uri}")


def _library() -> Any:
    # Only a run in which something is called pays for it.
    return importlib.import_module("fastjsonschema")
