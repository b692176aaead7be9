"""Patterns of schemas, whose search comes to an end."""

from __future__ import annotations

import re
from typing import Any

import pytest

from jpq.tools import pattern_search
from jpq.tools.arguments import ArgumentCheck
from jpq.tools.output_check import OutputCheck
from jpq.tools.pattern_search import PatternSearch, SlowPattern, may_take_long

ENDLESS = "^(a+)+$"
TEXT = "a" * 40 + "!"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern_search, "WAIT_S", 1.0)


@pytest.mark.parametrize("pattern", [ENDLESS, "^(a|a)*$", "^(a|aa)+$"])
def test_a_search_that_never_ends_is_given_up(pattern: str, impatient: Any) -> None:
    with pytest.raises(SlowPattern, match="takes too long"):
        PatternSearch(re.compile(pattern)).search(TEXT)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^[a-z]+(-[a-z]+)*$", "some-words-with-hyphens-between", True),
        ("^[a-z]+(-[a-z]+)*$", "some-words-with-hyphens-between-", False),
        ("(\ud83d|é\\n)+", "x" * 30 + "é\n", True),
        ("a+", "b" * 10_000, False),
    ],
)
def test_what_may_take_long_is_found_all_the_same(pattern: str, text: str, found: bool) -> None:
    assert may_take_long(pattern, text)
    assert bool(PatternSearch(re.compile(pattern)).search(text)) is found


@pytest.mark.parametrize(
    ("pattern", "text"), [(ENDLESS, "aaaa"), ("^[a-z]{2}$", "x" * 1000), ("^a+$", "a" * 1000)]
)
def test_most_need_no_process(pattern: str, text: str) -> None:
    assert not may_take_long(pattern, text)


def test_answers_and_arguments_are_checked_with_it(impatient: Any) -> None:
    schema = {"type": "object", "properties": {"a": {"pattern": ENDLESS}}}
    for check in (OutputCheck(schema), ArgumentCheck("tool", schema)):
        assert check.complaint({"a": "aaa"}) is None
        assert "takes too long" in str(check.complaint({"a": TEXT}))
    keys = OutputCheck({"type": "object", "patternProperties": {ENDLESS: False}})
    assert "takes too long" in str(keys.complaint({TEXT: 1}))
