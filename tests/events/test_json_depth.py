"""How deep JSON may be nested, and that a hostile depth does no harm."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.conversation.entry import parse_json_line
from jpq.conversation.json_splice import with_field
from jpq.events import json_depth, strict_json
from jpq.events.json_depth import DEEPEST, DEEPEST_KEPT, loads, refuse_deep

# Each parse goes on while a destructor near its deepest level runs into the interpreter's limit.
_DESTRUCTORS = """
import gc, sys
from jpq.events import strict_json

class Gone:
    def __del__(self):
        deeper(3)

def deeper(levels):
    if levels:
        deeper(levels - 1)

sys.unraisablehook = lambda _: None
gc.set_threshold(2000)
for phase in range(980, 1100):
    gc.disable()
    gc.collect()
    gone = Gone()
    gone.itself = gone
    del gone
    kept = [[] for _ in range(phase)]
    gc.enable()
    try:
        strict_json.parse("[" * 100000)
    except ValueError:
        pass
    del kept
"""


def nested(levels: int, opening: str = "[", closing: str = "]") -> str:
    return opening * levels + closing * levels


def test_a_destructor_within_a_deep_text_does_not_end_python_3_8() -> None:
    subprocess.run([sys.executable, "-c", _DESTRUCTORS], check=True, timeout=60)


def test_what_is_as_deep_as_allowed_is_read_and_one_level_more_is_refused() -> None:
    assert loads(nested(DEEPEST)) == json.loads(nested(DEEPEST))
    for text in (nested(DEEPEST + 1), '{"a":' * 201 + "1" + "}" * 201, '[{"":' * 9999):
        with pytest.raises(ValueError, match="it is nested deeper than 200 levels"):
            loads(text)
        with pytest.raises(ValueError, match="deeper"):
            strict_json.parse(text)
        with pytest.raises(ValueError, match="deeper"):
            loads(text.encode("utf-16"))


@pytest.mark.parametrize(
    "text",
    [
        "[" + ",".join(["[{}]"] * 5000) + "]",
        json.dumps(["[" * 5000, '"' + "{" * 5000, '\\"' + "[" * 999 + "\\"]),
        json.dumps([{"a\\": "[{" * 300}] * 3),
    ],
)
def test_brackets_side_by_side_and_in_strings_are_no_depth(text: str) -> None:
    assert loads(text) == json.loads(text)


def test_an_entry_may_be_deeper_than_what_it_keeps() -> None:
    line = b'{"arguments":' + nested(DEEPEST).encode() + b"}"
    assert parse_json_line(line) == json.loads(line)
    assert with_field(line, "id", "x") == b'{"id":"x",' + line[1:]
    assert parse_json_line(nested(DEEPEST_KEPT + 1).encode()) is None
    assert with_field(b'{"a":' + nested(DEEPEST_KEPT).encode() + b"}", "id", "x") is None


VALUES = st.recursive(
    st.none() | st.text('[]{}"\\,: a\ud800\U0001f600', max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('[]{"\\', max_size=3), inner)
    ),
    max_leaves=12,
)


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(_depth, inner), default=0) if isinstance(value, (list, dict)) else 0


@given(VALUES, st.booleans())
def test_the_depth_of_a_text_is_that_of_its_value(value: Any, ascii: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii)
    assert json_depth._depth(text) == _depth(value)
    refuse_deep(text, _depth(value))
