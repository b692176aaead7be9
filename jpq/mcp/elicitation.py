"""Elicitation: a server's form as questions, and answers as the values that it wants.

Forms are flat: texts, numbers, yes or no, and choices (specification, page on elicitation).
"""

from __future__ import annotations

import re
from typing import Any, List, Sequence, Tuple

from jpq.mcp.protocol import Json, table, text_of
from jpq.named import NamedTuple

TEXT, NUMBER, INTEGER, BOOLEAN, CHOICE, CHOICES = (
    *("text", "number", "integer", "boolean"),
    *("choice", "choices"),
)

_FORMATS = {
    "email": re.compile(r"[^@\s]+@[^@\s]+"),
    "uri": re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+"),
    "date": re.compile(r"\d{4}-\d\d-\d\d"),
    "date-time": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d.*"),
}


class Field(NamedTuple):
    """One thing that a server wants to know. ``options`` are values and their titles."""

    name: str
    kind: str
    schema: Json
    required: bool
    options: Tuple[Tuple[str, str], ...] = ()

    @property
    def label(self) -> str:
        """What to ask for, in the server's words."""
        title = text_of(self.schema.get("title")) or self.name
        about = text_of(self.schema.get("description"))
        return f"{title}: {about}" if about and about != title else title

    @property
    def default(self) -> Any:
        """What is sent where nothing is answered; None for nothing."""
        return self.schema.get("default")


def fields_of(schema: Json) -> List[Field]:
    """The fields of a form. Raises ValueError for one that is not flat."""
    required = schema.get("required")
    wanted = required if isinstance(required, list) else []
    return [
        _field(name, table(inner), name in wanted)
        for name, inner in table(schema.get("properties")).items()
    ]


def _field(name: str, schema: Json, required: bool) -> Field:
    kind = schema.get("type")
    options = _options(schema)
    if options:
        return Field(name, CHOICE, schema, required, options)
    if kind == "array":
        options = _options(table(schema.get("items")))
        if options:
            return Field(name, CHOICES, schema, required, options)
    kinds = {"string": TEXT, "number": NUMBER, "integer": INTEGER, "boolean": BOOLEAN}
    if kind not in kinds:
        raise ValueError(f"the field {name!r} has the type {kind!r}")
    return Field(name, kinds[kind], schema, required)


def _options(schema: Json) -> Tuple[Tuple[str, str], ...]:
    for key in ("oneOf", "anyOf"):
        titled = schema.get(key)
        if isinstance(titled, list):
            pairs = [(each.get("const"), each.get("title")) for each in map(table, titled)]
            return tuple((str(value), str(title or value)) for value, title in pairs)
    values, names = schema.get("enum"), schema.get("enumNames")
    if not isinstance(values, list):
        return ()
    titles = names if isinstance(names, list) and len(names) == len(values) else values
    return tuple((str(value), str(title)) for value, title in zip(values, titles))


def parsed(field: Field, answer: str) -> Any:
    """The value that ``answer`` is. Raises ValueError, whose text says what is wrong."""
    word = answer.strip()
    if field.kind == BOOLEAN:
        return _yes_or_no(word)
    if field.kind == CHOICE:
        return _option(field, word)
    if field.kind == CHOICES:
        chosen = [_option(field, each.strip()) for each in word.split(",") if each.strip()]
        _check_bounds(len(chosen), field.schema, "minItems", "maxItems", "choices")
        return chosen
    if field.kind == TEXT:
        _check_bounds(len(answer), field.schema, "minLength", "maxLength", "characters")
        format = _FORMATS.get(text_of(field.schema.get("format")))
        if format is not None and not format.fullmatch(word):
            raise ValueError(f"that is no {field.schema['format']}")
        return answer
    try:
        number: Any = int(word) if field.kind == INTEGER else float(word)
    except ValueError:
        raise ValueError(f"that is no {field.kind}") from None
    _check_bounds(number, field.schema, "minimum", "maximum", "")
    return number


def _yes_or_no(word: str) -> bool:
    if word.lower() in ("y", "yes", "true"):
        return True
    if word.lower() in ("n", "no", "false"):
        return False
    raise ValueError("answer yes or no")


def _option(field: Field, word: str) -> str:
    for value, title in field.options:
        if word in (value, title):
            return value
    raise ValueError(f"{word!r} is none of {', '.join(titles(field))}")


def titles(field: Field) -> Sequence[str]:
    """The options as the person reads them."""
    return [title for _, title in field.options]


def _check_bounds(value: float, schema: Json, least: str, most: str, unit: str) -> None:
    low, high = schema.get(least), schema.get(most)
    if isinstance(low, (int, float)) and value < low:
        raise ValueError(f"at least {low:g} {unit}".rstrip())
    if isinstance(high, (int, float)) and value > high:
        raise ValueError(f"at most {high:g} {unit}".rstrip())
