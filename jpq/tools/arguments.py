"""Checks the arguments of calls. Loaded when there is a call, as its library is not small."""

from __future__ import annotations

import importlib
from typing import Any, Callable, Dict, Mapping, NoReturn, Optional

import fastjsonschema

from jpq.tools.schema import json_text, shortened

_SCHEMA_SHOWN = 2000
_VALUE_SHOWN = 80


Mismatch = fastjsonschema.JsonSchemaValueException


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
        try:
            if self._validate is None:
                self._validate = compiled(self._schema)
            self._validate(arguments)
        except Mismatch as error:
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


def compiled(schema: Mapping[str, Any]) -> Callable[[Any], Any]:
    """What raises JsonSchemaValueException for a value that does not match ``schema``.

    Raises all kinds of errors for a schema that cannot be used.
    """
    check: Callable[[Any], Any] = fastjsonschema.compile(
        dict(schema), handlers=_NoDownloads(), use_default=False, use_formats=False
    )
    patterns = check.__globals__.get("REGEX_PATTERNS")  # of the code that it has made
    if patterns:
        # Few schemas have one.
        search = importlib.import_module("jpq.tools.pattern_search").PatternSearch
        patterns.update({key: search(each) for key, each in patterns.items()})
    return check


class _NoDownloads(Dict[str, Callable[[str], Any]]):
    """Handlers of references to other documents: a schema must not make us fetch anything."""

    def __contains__(self, scheme: object) -> bool:
        return True

    def __missing__(self, scheme: str) -> Callable[[str], NoReturn]:
        return _refuse


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"it refers to another document, {uri}")
