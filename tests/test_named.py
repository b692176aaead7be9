"""jpq.named: what a class made with it does is what typing's does."""

from __future__ import annotations

import copy
import pickle
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


def test_what_is_said_of_wrong_arguments_names_the_class() -> None:
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'x'") as caught:
        Point()  # type: ignore[call-arg]
    assert "__new__" in str(caught.value)


def test_no_field_is_replaced_that_is_none() -> None:
    with pytest.raises(TypeError):
        Point(1)._replace(z=2)  # type: ignore[call-arg]


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
    for other in (copy.copy(point), copy.deepcopy(point), pickle.loads(pickle.dumps(point))):
        assert other == point and type(other) is Point
