"""jpq.named: what a class made with it does is what typing's does."""

from __future__ import annotations

import copy
import pickle
import sys
import typing
from typing import Any, List, Optional, Tuple

import pytest

from jpq.named import NamedTuple


class Point(NamedTuple):
    """A place."""

    x: int
    y: int = 0
    label: Optional[str] = None

    @property
    def is_far(self) -> bool:
        """Whether it is."""
        return self.x > 100


class TypingPoint(typing.NamedTuple):
    """A place."""

    x: int
    y: int = 0
    label: Optional[str] = None


class Nothing(NamedTuple):
    """A value that says all by its class."""


# From Python 3.14 on the class is typing's own.
made_by_us = pytest.mark.skipif(sys.version_info >= (3, 14), reason="typing's own is used")

CALLS: List[Tuple[Tuple[Any, ...], Any]] = [
    ((1,), {}),
    ((1, 2), {}),
    ((1, 2, "here"), {}),
    ((), {"x": 1}),
    ((), {"label": "here", "x": 1}),
    ((1,), {"label": "here"}),
    ((None, None, None), {}),
]


@pytest.mark.parametrize("values, named", CALLS)
def test_it_holds_what_typings_holds(values: Tuple[Any, ...], named: Any) -> None:
    ours, theirs = Point(*values, **named), TypingPoint(*values, **named)
    assert tuple(ours) == tuple(theirs)
    assert (ours.x, ours.y, ours.label) == (theirs.x, theirs.y, theirs.label)
    assert ours._asdict() == theirs._asdict()
    assert list(ours._asdict()) == ["x", "y", "label"]
    assert repr(ours) == repr(theirs).replace("TypingPoint", "Point")
    assert tuple(ours._replace(y=7)) == tuple(theirs._replace(y=7))
    assert hash(ours) == hash(theirs)


@pytest.mark.parametrize(
    "values, named",
    [((), {}), ((1, 2, 3, 4), {}), ((1,), {"x": 2}), ((1,), {"z": 2}), ((), {"y": 2})],
)
def test_it_refuses_what_typings_refuses(values: Tuple[Any, ...], named: Any) -> None:
    for made in (Point, TypingPoint):
        with pytest.raises(TypeError):
            made(*values, **named)


@pytest.mark.parametrize(
    "values, named, said",
    [
        ((), {}, "missing 1 required positional argument: 'x'"),
        ((1,), {"x": 2}, "got multiple values for argument 'x'"),
        ((1,), {"z": 2}, "got an unexpected keyword argument 'z'"),
        ((1, 2, 3, 4), {}, "takes from 2 to 4 positional arguments but 5 were given"),
    ],
)
def test_what_is_said_of_wrong_arguments(values: Tuple[Any, ...], named: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said) as caught:
        Point(*values, **named)
    assert "__new__" in str(caught.value)


def test_no_field_is_replaced_that_is_none() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Point(1)._replace(z=2)  # type: ignore[call-arg]


def test_too_few_and_too_many_values_make_none() -> None:
    for values in ([], [1, 2, 3, 4]):
        with pytest.raises(TypeError):
            Point._make(values)


@made_by_us
def test_no_other_base_is_taken() -> None:
    class Named:
        """A mixin."""

    with pytest.raises(TypeError, match="no base besides"):
        type(NamedTuple)("Both", (NamedTuple, Named), {"__annotations__": {"x": "int"}})


@made_by_us
def test_no_default_comes_before_a_field_without_one() -> None:
    body = {"__annotations__": {"x": "int", "y": "int"}, "x": 1}
    with pytest.raises(TypeError, match="without a default"):
        type(NamedTuple)("Wrong", (NamedTuple,), body)


def test_a_subclass_is_one_of_its_own() -> None:
    class Far(Point):
        """A place that adds nothing to its fields."""

        __slots__ = ()

    far = Far(1000, label="there")
    assert repr(far) == "Far(x=1000, y=0, label='there')" and far.is_far
    assert type(far._replace(y=1)) is Far and far == Point(1000, 0, "there")


def test_type_hints_are_those_of_the_fields() -> None:
    hints = {"x": int, "y": int, "label": Optional[str]}
    assert typing.get_type_hints(Point) == typing.get_type_hints(TypingPoint) == hints


def test_it_equals_typings_and_plain_tuples() -> None:
    assert Point(1, 2, "here") == TypingPoint(1, 2, "here") == (1, 2, "here")
    assert {Point(1): "found"}[TypingPoint(1)] == "found"


def test_a_class_without_fields_has_none() -> None:
    assert Nothing() == () and repr(Nothing()) == "Nothing()" and Nothing._fields == ()


def test_the_class_tells_of_itself_as_typings_does() -> None:
    for name in ("_fields", "_field_defaults", "__doc__"):
        assert getattr(Point, name) == getattr(TypingPoint, name)
    assert (Point.__name__, Point.__module__, Point.__qualname__) == ("Point", __name__, "Point")
    assert issubclass(Point, tuple) and type(Point) is type


def test_it_can_be_taken_apart_and_made_of_others() -> None:
    x, y, label = Point(1, 2, "here")
    assert (x, y, label) == (1, 2, "here")
    assert Point(*Point(1, 2)) == Point(1, 2) == (1, 2, None)
    assert Point._make([1, 2, "here"]) == Point(1, 2, "here")
    assert Point(1, 2) < Point(1, 3)


def test_it_cannot_be_changed() -> None:
    point = Point(1)
    for name in ("x", "other"):
        with pytest.raises(AttributeError):
            setattr(point, name, 2)


def test_what_is_no_field_stays_what_it_was() -> None:
    assert not Point(1).is_far
    assert Point(101).is_far


def test_copies_are_equal() -> None:
    point = Point(1, 2, "here")
    protocols = range(pickle.HIGHEST_PROTOCOL + 1)
    pickled = [pickle.loads(pickle.dumps(point, protocol)) for protocol in protocols]
    for other in (copy.copy(point), copy.deepcopy(point), *pickled):
        assert other == point and type(other) is Point
