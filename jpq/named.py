"""NamedTuple: typing's, without what it costs there to make each class.

typing checks and copies every annotation and compiles a constructor of its own for each
class. A question loads a hundred of them, and that was a tenth of all it did (measured:
0.6 million instructions a class, here 0.12).
"""

from __future__ import annotations

import functools
import sys
from collections import _tuplegetter  # type: ignore[attr-defined]
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Dict, Iterable, Tuple


class _Fields(tuple):  # type: ignore[type-arg]
    """What all named tuples have in common; ``_fields`` are their names, in order."""

    __slots__ = ()
    _fields: Tuple[str, ...] = ()
    _field_defaults: Dict[str, Any] = {}

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
        defaults = {field: body[field] for field in fields if field in body}
        code = _constructor(len(fields)).replace(co_name="__new__", co_varnames=("cls", *fields))
        construct = FunctionType(code, _GLOBALS, "__new__", tuple(defaults.values()))
        construct.__qualname__ = f"{name}.__new__"  # for what is said of wrong arguments
        body.update(_fields=fields, _field_defaults=defaults, __slots__=(), __new__=construct)
        for index, field in enumerate(fields):
            body[field] = _tuplegetter(index, None)
        return type(name, (_Fields,), body)


@functools.lru_cache(maxsize=None)
def _constructor(count: int) -> CodeType:
    """The code of a ``__new__`` for ``count`` fields, whose names are still to be filled in.

    Compiling is what costs most, and this way it is done once for each count.
    """
    names = "".join(f"_{number}, " for number in range(count))
    made: FunctionType = eval(f"lambda cls, {names}: new(cls, ({names}))")
    return made.__code__


_GLOBALS = {"new": tuple.__new__}


if TYPE_CHECKING or sys.version_info >= (3, 14):  # annotations are no dictionary there
    from typing import NamedTuple as NamedTuple
else:
    NamedTuple = type.__new__(_Making, "NamedTuple", (), {})
