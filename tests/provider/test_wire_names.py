"""Ids and names that another API's model made, in the form that an API takes."""

from __future__ import annotations

import re
from typing import List

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.provider.wire_names import CallIds, valid_name

LISTS = st.lists(st.text(max_size=12) | st.sampled_from(["call_1", "000000001", "x" * 60, "a/b"]))


@pytest.mark.parametrize(
    "name, valid",
    [
        ("read_file", "read_file"),
        ("n" * 64, "n" * 64),
        ("multi_tool_use.parallel", "multi_tool_use_parallel"),
        ("n" * 65, "n" * 64),
        ("", "_"),
        ("grüße dich", "gr__e_dich"),
    ],
)
def test_names(name: str, valid: str) -> None:
    assert valid_name(name) == valid


def test_ids_that_fit_stay() -> None:
    assert CallIds(longest=6).of("call_1") == "call_1"
    assert CallIds(exact=9).of("aB3dE6gH9") == "aB3dE6gH9"
    assert CallIds(invalid=re.compile("[^a-z]")).of("abc") == "abc"


def test_a_provider_gets_its_own_ids_back_however_long() -> None:
    ids = CallIds(longest=8)
    assert ids.of("functions.look:0", own=True) == "functions.look:0"
    assert ids.of("functions.look:0") == "functions.look:0", "the result of that call"
    assert [ids.of("functions.look:1"), ids.of("functions.look:2")] == ["function", "functi-2"]


@given(LISTS)
def test_each_id_has_one_of_its_own_in_the_form_asked_for(given_ids: List[str]) -> None:
    forms = [
        (CallIds(), "(?s).*"),
        (CallIds(invalid=re.compile("[^a-zA-Z0-9_-]"), longest=9), "[a-zA-Z0-9_-]{0,9}"),
        (CallIds(exact=9), "[a-zA-Z0-9]{9}"),
    ]
    for ids, form in forms:
        made = [ids.of(id) for id in given_ids]
        assert all(re.fullmatch(form, id) for id in made)
        assert len(set(made)) == len(set(given_ids))
        assert made == [ids.of(id) for id in given_ids], "a call and its result have the same"


def test_ids_are_numbered_past_those_of_the_provider() -> None:
    ids = CallIds(exact=9)
    assert [ids.of(id) for id in ("000000001", "a", "b")] == ["000000001", "000000002", "000000003"]
