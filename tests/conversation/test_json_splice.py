"""One field of a JSON object changes, and not one other byte."""

from __future__ import annotations

import json
from typing import Any, Dict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.conversation.json_splice import object_lines, with_field

VALUE = st.one_of(st.none(), st.integers(), st.text(max_size=5), st.lists(st.integers()))
OBJECT = st.dictionaries(st.text(max_size=3), VALUE, max_size=4)


@given(OBJECT, st.sampled_from(["id", "", '"']), VALUE, st.sampled_from([None, 2]))
def test_any_object(before: Dict[str, Any], name: str, value: Any, indent: Any) -> None:
    after = with_field(json.dumps(before, indent=indent).encode(), name, value)
    assert after is not None and json.loads(after) == {**before, name: value}


def test_everything_else_stays_as_it_is_written() -> None:
    line = b'{ "n" : 1.50e+1,"id":"a" , "x":"\xff\\u00e9",  "id" :"b"}'
    assert with_field(line, "id", "c") == line.replace(b'"a"', b'"c"').replace(b'"b"', b'"c"')
    assert with_field(b"{ }", "id", 1) == b'{"id":1 }'
    assert with_field(b'{"a":1}', "id", None) == b'{"id":null,"a":1}'


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"a"', b'{"a":1,', b'{"a" 1}', b"nul\x00"])
def test_what_is_no_object(data: bytes) -> None:
    assert with_field(data, "id", 1) is None


def test_the_elements_of_an_array_as_they_are_written() -> None:
    text = '{"commit":[{"a":1.0}, {"b" :"]"},3]}'
    assert object_lines(text, text.index("[")) == ['{"a":1.0}', '{"b" :"]"}', "3"]
    with pytest.raises((ValueError, IndexError)):
        object_lines("[1", 0)
