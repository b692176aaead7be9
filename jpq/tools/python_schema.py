"""What a Python function says about itself: its schema from annotations, its words from the
docstring (Google's ``Args:``, Sphinx's ``:param name:`` or NumPy's ``Parameters``)."""

from __future__ import annotations

import inspect
import re
import typing
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from jpq.errors import ConfigError
from jpq.named import NamedTuple
from jpq.tools.definition import Description

_SIMPLE: Mapping[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
_LISTS = (list, tuple, set, frozenset)
_PLAIN = (str, int, float, bool, type(None))
# Functions whose call gives back something that has not run yet.
_PROMISES = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)

_SECTION = re.compile(r"(Args|Arguments|Parameters)\s*:?\s*")
_OTHER_SECTION = re.compile(r"(Returns?|Yields?|Raises|Examples?|Notes?|See Also)\s*:?\s*")
_GOOGLE = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
_NUMPY = re.compile(r"\*{0,2}(\w+)(?:\s*:\s*.*)?")
_SPHINX = re.compile(r":param\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)")
_SPHINX_OTHER = re.compile(r":(returns?|raises?|rtype|type|yields?)\b")


class Words(NamedTuple):
    """A docstring taken apart: what it says first, and about each parameter."""

    text: str
    parameters: Mapping[str, str]


def describe_function(
    function: Callable[..., Any], where: str, injected: Tuple[type, ...] = ()
) -> Description:
    """The description and the JSON Schema of ``function``.

    Parameters annotated with one of ``injected`` are not the model's to fill. Raises
    ConfigError, which names ``where``, for a signature that JSON cannot express.
    """
    words = read_docstring(inspect.getdoc(function) or "")
    properties: Dict[str, Any] = {}
    required: List[str] = []
    for name, parameter, annotation in arguments_of(function, where):
        if annotation in injected:
            continue
        schema = _schema_of(annotation, f"the parameter {name!r}", where)
        if name in words.parameters:
            schema.setdefault("description", words.parameters[name])
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
        elif isinstance(parameter.default, _PLAIN) and parameter.default is not None:
            schema["default"] = parameter.default
        properties[name] = schema
    return Description(
        words.text,
        {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        },
    )


def arguments_of(
    function: Callable[..., Any], where: str
) -> List[Tuple[str, inspect.Parameter, Any]]:
    """Each parameter of ``function``: its name, itself, and its annotation resolved."""
    try:
        signature = inspect.signature(function)
        hints = _hints(function)
    except (TypeError, ValueError, NameError, AttributeError) as error:
        raise _unusable(f"its signature cannot be read: {error}", where) from error
    if any(kind(function) for kind in _PROMISES):
        raise _unusable("it is async or yields, and a tool returns its result", where)
    found = []
    for name, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise _unusable(f"it takes any number of arguments ({parameter})", where)
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise _unusable(f"its argument {name!r} cannot be given by name", where)
        found.append((name, parameter, hints.get(name, Any)))
    return found


def _hints(function: Callable[..., Any]) -> Dict[str, Any]:
    target = function if inspect.isroutine(function) else function.__call__  # type: ignore[operator]
    # Python 3.8 has no Annotated and does not know the option.
    extras: Any = {"include_extras": True} if hasattr(typing, "Annotated") else {}
    return typing.get_type_hints(target, **extras)


def _schema_of(annotation: Any, what: str, where: str) -> Dict[str, Any]:
    if annotation is Any:
        return {}
    if annotation in _SIMPLE:
        return {"type": _SIMPLE[annotation]}
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if hasattr(annotation, "__metadata__"):  # Annotated[T, "words"]
        schema = _schema_of(inner[0], what, where)
        words = [note for note in annotation.__metadata__ if isinstance(note, str)]
        return {**schema, "description": words[0]} if words else schema
    if origin is typing.Literal:
        return {"enum": list(inner)}
    if _is_union(origin):
        return _union_schema(inner, what, where)
    if annotation in _LISTS or origin in _LISTS:
        return _list_schema(origin or annotation, inner, what, where)
    if annotation is dict or origin is dict:
        values = _schema_of(inner[1], what, where) if len(inner) == 2 else {}
        return {"type": "object", "additionalProperties": values or True}
    if isinstance(annotation, type) and hasattr(annotation, "__total__"):  # a TypedDict
        return _table_schema(annotation, where)
    raise _unusable(f"{what} is annotated with {annotation!r}, which JSON has no type for", where)


def _is_union(origin: Any) -> bool:
    # int | str has an origin of its own, from Python 3.10 on.
    return origin is typing.Union or getattr(origin, "__name__", "") == "UnionType"


def _union_schema(inner: Tuple[Any, ...], what: str, where: str) -> Dict[str, Any]:
    schemas = [_schema_of(each, what, where) for each in inner]
    if all(list(schema) == ["type"] for schema in schemas):
        types = [schema["type"] for schema in schemas]
        return {"type": types}
    return {"anyOf": schemas}


def _list_schema(kind: Any, inner: Tuple[Any, ...], what: str, where: str) -> Dict[str, Any]:
    if kind is not list and not (kind is tuple and inner[1:] == (Ellipsis,)):
        raise _unusable(
            f"{what} is a {kind.__name__}, which JSON does not have; take a list", where
        )
    items = inner[0] if inner and not isinstance(inner[0], typing.TypeVar) else Any
    schema = _schema_of(items, what, where)
    return {"type": "array", "items": schema} if schema else {"type": "array"}


def _table_schema(annotation: Any, where: str) -> Dict[str, Any]:
    fields = typing.get_type_hints(annotation)
    required = getattr(annotation, "__required_keys__", None)
    if required is None:  # Python 3.8
        required = fields if annotation.__total__ else ()
    return {
        "type": "object",
        "properties": {name: _schema_of(t, f"{name!r}", where) for name, t in fields.items()},
        "required": [name for name in fields if name in required],
        "additionalProperties": False,
    }


def _unusable(why: str, where: str) -> ConfigError:
    return ConfigError(
        f"The function cannot be a tool: {why}.",
        where=where,
        hint="Arguments are str, int, float, bool, list, dict, Optional, Union, Literal, "
        "TypedDict.",
    )


def read_docstring(doc: str) -> Words:
    """Take a docstring apart. What it says about results and errors is left out."""
    text: List[str] = []
    parameters: Dict[str, List[str]] = {}
    name: Optional[str] = None  # whose words follow
    section = ""  # "", "args" or "other"
    indent = 0  # of the entries of a section
    for line in doc.split("\n"):
        stripped, depth = line.strip(), len(line) - len(line.lstrip())
        sphinx = _SPHINX.fullmatch(stripped)
        if sphinx is not None:
            section, name, indent = "args", sphinx.group(1), depth
            parameters[name] = [sphinx.group(2)]
        elif _SPHINX_OTHER.match(stripped):
            section, name = "other", None
        elif depth == 0 and _SECTION.fullmatch(stripped):
            section, name, indent = "args", None, -1
        elif depth == 0 and _OTHER_SECTION.fullmatch(stripped):
            section, name = "other", None
        elif section == "args" and stripped and not set(stripped) <= {"-"}:
            indent = depth if indent < 0 else indent
            entry = (_GOOGLE if indent else _NUMPY).fullmatch(stripped)
            if depth <= indent and entry is not None:
                name = entry.group(1)
                parameters[name] = [entry.group(2)] if indent else []
            elif name is not None:
                parameters[name].append(stripped)
        elif not section:
            text.append(line)
    told = {name: " ".join(filter(None, words)) for name, words in parameters.items()}
    return Words("\n".join(text).strip(), {name: words for name, words in told.items() if words})
