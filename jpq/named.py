"""NamedTuple: typing's, without what it costs there to make each class.

typing checks and copies every annotation and compiles a constructor of its own for each
class. A question loads a hundred of them, and that was a tenth of all it did (measured:
0.61 million instructions a class, here 0.11).
"""

from __future__ import annotations

import sys
from collections import _tuplegetter  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any, Dict, Iterable, Tuple

_new = tuple.__new__


class _Fields(tuple):  # type: ignore[type-arg]
    """What all named tuples have in common; ``_fields`` are their names, in order."""

    __slots__ = ()
    _fields: Tuple[str, ...] = ()
    _field_defaults: Dict[str, Any] = {}

    def __new__(cls, *values: Any, **named: Any) -> Any:
        if named or len(values) != len(cls._fields):
            values = cls._complete(values, named)
        return _new(cls, values)

    @classmethod
    def _complete(cls, values: Tuple[Any, ...], named: Dict[str, Any]) -> Tuple[Any, ...]:
        """All values in order, defaults too. Raises TypeError."""
        given = dict(zip(cls._fields, values))
        everything = {**cls._field_defaults, **given, **named}
        unknown = named.keys() - set(cls._fields[len(values) :])
        missing = [name for name in cls._fields if name not in everything]
        if unknown or missing or len(values) > len(cls._fields):
            raise TypeError(f"{cls.__name__} takes {cls._fields}, not {values} and {named}")
        return tuple([everything[name] for name in cls._fields])

    @classmethod
    def _make(cls, values: Iterable[Any]) -> Any:
        """One of the values that ``values`` yields."""
        return cls(*values)

    def _replace(self, **named: Any) -> Any:
        """Another one, with other values for the fields ``named``."""
        return type(self)(**{**self._asdict(), **named})

    def _asdict(self) -> Dict[str, Any]:
        """The values by name."""
        return dict(zip(self._fields, self))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
        return f"{type(self).__name__}({fields})"

    def __getnewargs__(self) -> Tuple[Any, ...]:
        return tuple(self)


class _Making(type):
    """Makes the class that a class statement with NamedTuple as its base describes."""

    def __new__(cls, name: str, bases: Tuple[type, ...], body: Dict[str, Any]) -> Any:
        fields = tuple(body.get("__annotations__", ()))
        body["_fields"] = fields
        body["_field_defaults"] = {field: body[field] for field in fields if field in body}
        body["__slots__"] = ()
        for index, field in enumerate(fields):
            body[field] = _tuplegetter(index, None)
        return type(name, (_Fields,), body)


if TYPE_CHECKING or sys.version_info >= (3, 14):  # annotations are no dictionary there
    from typing import NamedTuple as NamedTuple
else:
    NamedTuple = type.__new__(_Making, "NamedTuple", (), {})
