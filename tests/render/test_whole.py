"""An answer that is shown when it is whole, and JSON as a block on a terminal."""

from __future__ import annotations

import io
import json
from typing import Any, List, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.events.turn import Complete, Notice, Result, StreamStart, TextChunk
from jpq.events.usage import Usage
from jpq.render.aside import ViewOptions
from jpq.render.chat import Verbatim
from jpq.render.json_block import JsonBlock, JsonLayout
from jpq.render.views import make_view
from jpq.render.whole import Shown
from jpq.terminal.caps import Caps, ChannelCaps

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def result(text: str) -> Result:
    return Result("complete", text, "stop", Usage(), None, 0)


def written(events: Sequence[Any], caps: Caps, **shown: Any) -> str:
    out, err = io.BytesIO(), io.BytesIO()
    options = Shown(lambda result: result.text.upper(), **shown)
    view = make_view("auto", out, err, caps, ViewOptions(), options)
    for event in events:
        view.show(event)
    view.close()
    view.flush()
    return out.getvalue().decode()


TERMINAL = Caps(ChannelCaps(terminal=True), ChannelCaps(terminal=True), pretty=True)
ANSWER: List[Any] = [
    StreamStart("m", None),
    TextChunk("fir"),
    TextChunk("st"),
    Complete("stop"),
    Notice("Asking again, once."),
    StreamStart("m", None),
    TextChunk('{"a": 1}'),
    Complete("stop"),
    result('{"a": 1}'),
]


def test_only_what_is_chosen_of_the_result_is_written() -> None:
    assert written(ANSWER, Caps()) == '{"A": 1}\n'
    assert written(ANSWER, TERMINAL) == '{"A": 1}\n'  # a block that was extracted


def test_nothing_chosen_is_nothing_written() -> None:
    assert written([TextChunk("Hi"), result("")], Caps()) == ""


def test_a_terminal_shows_json_as_a_block_while_it_comes() -> None:
    shown = written(ANSWER, TERMINAL, json=True)
    assert "first" in shown
    assert '{\n  "a": 1\n}' in "\n".join(line.strip("\r") for line in shown.split("\n"))


@given(JSON, st.integers(1, 9), st.sampled_from([None, 1, 4]))
def test_layout_is_json_with_an_indent_however_it_came(value: Any, cut: int, indent: Any) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    layout = JsonLayout()
    pieces = [text[start : start + cut] for start in range(0, len(text), cut)]
    assert "".join(map(layout.feed, pieces)) == json.dumps(value, indent=2, ensure_ascii=False)


@given(st.text(), st.integers(1, 5))
def test_layout_loses_nothing_but_blanks_of_what_is_no_json(text: str, cut: int) -> None:
    text = text.replace("\n", "")  # what becomes of it depends on where it is: see below
    layout = JsonLayout()
    pieces = [text[start : start + cut] for start in range(0, len(text), cut)]
    shown = "".join(map(layout.feed, pieces))
    assert "".join(shown.split()) == "".join(text.split())


def test_a_line_end_is_shown_within_a_string_only() -> None:
    assert JsonLayout().feed('\n"a\nb"\n\\n') == '"a\\nb"\\n'


def test_a_block_is_fenced_and_ends_with_its_item() -> None:
    block = JsonBlock(Verbatim())
    assert block.feed("\n ") == ""
    assert block.feed('{"a":') + block.feed("[]}") + block.close() == (
        '```json\n{\n  "a": []\n}\n```\n'
    )
    assert block.feed("Sorry") + block.close() == "Sorry"


def test_a_line_end_in_a_string_does_not_end_the_block() -> None:
    block = JsonBlock(Verbatim())
    shown = block.feed('{"a": "x\n```\ny"}') + block.close()
    assert shown.count("\n```") == 1


@pytest.mark.parametrize("fence", ["```", "~~~"])
def test_a_fence_of_the_model_is_left_alone(fence: str) -> None:
    block = JsonBlock(Verbatim())
    text = f"{fence}json\n{{}}\n{fence}\n"
    assert block.feed(text) + block.close() == text
