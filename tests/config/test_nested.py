"""Dotted names and nested tables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.config.nested import join_name, leaves, merged, split_name

NAMES = st.text(st.characters(blacklist_characters="\"'", blacklist_categories=("Cs",)))


@pytest.mark.parametrize(
    "name,path",
    [
        ("model", ("model",)),
        ("request.max_cycles", ("request", "max_cycles")),
        ('aliases."gpt-5.1"', ("aliases", "gpt-5.1")),
        ("'a b'.c", ("a b", "c")),
        (" a . b ", ("a", "b")),
    ],
)
def test_a_dotted_name_is_split(name, path) -> None:
    assert split_name(name) == path


@pytest.mark.parametrize("name", ["", ".", "a.", ".a", "a..b", '"a', '"a"b', "a b", "a=b"])
def test_what_is_no_name_is_refused(name) -> None:
    with pytest.raises(ValueError):
        split_name(name)


@given(st.lists(NAMES, min_size=1))
def test_joining_and_splitting_are_inverse(parts) -> None:
    assert split_name(join_name(tuple(parts))) == tuple(parts)


VALUES = st.recursive(
    st.integers(), lambda inner: st.dictionaries(st.sampled_from("abc"), inner), max_leaves=6
)
TABLES = st.dictionaries(st.sampled_from("abc"), VALUES)


@given(TABLES, TABLES)
def test_everything_in_the_stronger_table_survives_a_merge(low, high) -> None:
    result = merged(low, high)
    kept = dict(leaves(result))
    for path, value in leaves(high):
        if value != {}:
            assert kept[path] == value
    assert merged(result, {}) == result


def test_a_merge_shares_nothing_with_what_it_merged() -> None:
    low = {"a": {"b": {"c": 1}}}
    merged(low, {})["a"]["b"]["c"] = 2
    assert low["a"]["b"]["c"] == 1
