"""Blocks and JSON in answers."""

from __future__ import annotations

import json
from typing import Any, List

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.conversation.fenced import fenced_blocks, first_block
from jpq.conversation.json_answer import parse_answer, unfenced

ANSWER = """\
Two ways:

```sh
ls -l
```

~~~~ Python title="x"
print("```")
~~~
~~~~

1. In a list:

   ```js
   if (a) {
     b()
   }
   ```
"""


def test_the_first_block_and_the_first_of_a_language() -> None:
    assert first_block(ANSWER) == "ls -l\n"
    assert first_block(ANSWER, "python") == first_block(ANSWER, "PYTHON") == 'print("```")\n~~~\n'
    assert first_block(ANSWER, "js") == "if (a) {\n  b()\n}\n"
    assert first_block(ANSWER, "rust") is None
    assert [block.language for block in fenced_blocks(ANSWER)] == ["sh", "python", "js"]


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("no block", None),
        ("```` code ```` in a line", None),
        ("```\nnot ended", "not ended\n"),
        ("```\n```", ""),
        ("```\r\na\r\nb\r\n```\r\n", "a\r\nb\r\n"),
        ("```{.python .x}\n1\n```", "1\n"),
        ("````\n```\nx\n```\n````", "```\nx\n```\n"),
        ("\t```\n\tx\n\t```", "\tx\n"),
    ],
)
def test_edges(text: str, block: Any) -> None:
    assert first_block(text) == block


@given(st.lists(st.text(alphabet="ab `\n~x", max_size=12), max_size=6))
def test_a_block_of_any_lines_comes_back_as_it_is(lines: List[str]) -> None:
    inner = "".join(line.replace("\n", "") + "\n" for line in lines)
    fence = "`" * (max(map(len, inner.split()), default=0) + 3)
    assert first_block(f"Here:\n\n{fence}sh\n{inner}{fence}\n\nDone.") == inner


@given(st.text(alphabet="`~ \nab", max_size=60))
def test_any_text_can_be_searched(text: str) -> None:
    for block in fenced_blocks(text):
        assert block.text == "" or block.text.endswith("\n")


@pytest.mark.parametrize(
    "text", ["{}", " {}\n", "```json\n{}\n```", "```\n{}\n```\n", "~~~JSON\n{}\n~~~"]
)
def test_json_without_its_fence(text: str) -> None:
    assert unfenced(text) == "{}" and parse_answer(text) == (({},), "")


@pytest.mark.parametrize(
    "text", ["", "Sure: {}", "{} {}", "```json\n{}\n```\nDone.", "NaN", "[" * 100_000, "{'a': 1}"]
)
def test_what_is_no_json(text: str) -> None:
    found, why = parse_answer(text)
    assert found is None and why.startswith("it is not JSON")


@given(st.dictionaries(st.text(), st.text()))
def test_any_object_comes_through_a_fence(value: Any) -> None:
    for indent in (None, 2):
        text = json.dumps(value, indent=indent)
        assert parse_answer(f"```json\n{text}\n```") == ((value,), "")
