"""``--schema`` and ``--batch`` with the embedded model, whose server forces the grammar."""

from __future__ import annotations

import json
from typing import Any

from tests.support import programs
from tests.support.weights import needs_engine

pytestmark = needs_engine

# The model is small: what it says is its own, the shape is not.
WORDS = ("A river", "A lake")
OPTIONS = ["-m", "local/smollm2", "-o", "temperature=0", "-o", "max_tokens=200"]


def test_an_answer_has_the_shape(home: str) -> None:
    ran = programs.jpq(
        *OPTIONS, "--schema", "capital: a city, in_europe bool", "The capital of France?",
        environ=programs.environment(JPQ_HOME=home),
    )  # fmt: skip
    assert ran.code == 0, ran
    value = json.loads(ran.out)
    assert set(value) == {"capital", "in_europe"} and type(value["in_europe"]) is bool


def test_lines_of_a_batch_share_the_server(home: str, tmp_path: Any) -> None:
    batch = tmp_path / "in.jsonl"
    # What comes before a question in the server's cache can change what it says to it.
    said = [{"prompt": f"{word}?", "options": {"grammar": f'root ::= "{word}."'}} for word in WORDS]
    cities = {"name": {"type": "string", "enum": ["Rome", "Oslo"]}}
    schema = {"type": "object", "properties": cities, "required": ["name"]}
    asked = [*said, {"prompt": "A city?", "schema": {**schema, "additionalProperties": False}}]
    batch.write_text("".join(f"{json.dumps(line)}\n" for line in asked))
    ran = programs.jpq(
        *OPTIONS, "--batch", str(batch), "-j", "3",
        environ=programs.environment(JPQ_HOME=home),
    )  # fmt: skip
    answers = [json.loads(line) for line in ran.out.splitlines()]
    assert [answer["line"] for answer in answers] == [1, 2, 3]
    assert [answer["text"] for answer in answers[:2]] == [f"{word}." for word in WORDS], ran
    assert ran.code == 0 and answers[2]["structured"] in ({"name": "Rome"}, {"name": "Oslo"})
