"""NamedTuple: typing's, without what it costs there to make each class.

typing checks each annotation, and the namedtuple below it compiles a constructor of its own
for each class. A question makes a hundred classes: it takes 538 million instructions with
these, 570 with those of ``collections.namedtuple``, and 608 with typing's (Python 3.11).
Constructors are as quick as typing's, and complain in the same words. One that all classes
share would need no code to be made, and would take several times as long where fields are
named or left to their defaults, as in each entry of a conversation.

Type checkers see typing's own. tests/test_named.py compares the two. What jpq has no use for
is left out: ``__match_args__``, ``copy.replace``, generic tuples and the form
``NamedTuple("Name", ...)``.
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
    # No annotations, which would be among the type hints of every class.
    _fields = ()  # type: Tuple[str, ...]
    _field_defaults = {}  # type: Dict[str, Any]

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
        if len(bases) > 1:
            raise TypeError(f"{name} can have no base besides NamedTuple")
        fields = tuple(body.get("__annotations__", ()))
        defaults = {field: body[field] for field in fields if field in body}
        if tuple(defaults) != fields[len(fields) - len(defaults) :]:
            raise TypeError(f"{name} has a field without a default behind one with a default")
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
