"""``schema=``: answers that have to be JSON of a certain shape."""

from __future__ import annotations

import json
from typing import Any, Dict

import pytest

import jpq
from tests.support.programs import script
from tests.support.server import Server, answer

GOOD = '{"name": "Ada", "age": 36}'
SCHEMA: Dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


def talk(folder: Any, *texts: str) -> jpq.Session:
    replies = [f"text = {json.dumps(text)}" for text in texts]
    return jpq.Session("scripted/" + script(folder, *replies), store=str(folder / "store"))


@pytest.mark.parametrize("schema", ["name, age int", SCHEMA, json.dumps(SCHEMA)])
def test_the_answer_is_a_value(schema: Any, tmp_path: Any) -> None:
    with talk(tmp_path, f"```json\n{GOOD}\n```") as session:
        response = session.ask("Who?", schema=schema)
    assert response.structured == {"name": "Ada", "age": 36}
    assert response.is_complete


def test_one_that_does_not_match_is_asked_for_again(tmp_path: Any) -> None:
    with talk(tmp_path, '{"name": "Ada"}', GOOD) as session:
        response = session.ask("Who?", schema="name, age int")
    assert response.structured == {"name": "Ada", "age": 36} and response.text == GOOD


def test_one_that_never_matches_raises_with_its_text(tmp_path: Any) -> None:
    with talk(tmp_path, "I do not know.") as session:
        with pytest.raises(jpq.BadInputError, match="does not match the schema") as failed:
            session.ask("Who?", schema="name, age int")
        assert failed.value.response.text == "I do not know."
        assert failed.value.response.structured is None


def test_retry_asks_for_the_same_shape(tmp_path: Any) -> None:
    with talk(tmp_path, "No.", "No.", GOOD) as session:
        with pytest.raises(jpq.BadInputError):
            session.ask("Who?", schema="name, age int")
        assert session.retry().structured == {"name": "Ada", "age": 36}


def test_the_provider_is_told_and_a_stream_has_it_too() -> None:
    with Server(answer(GOOD)) as server:
        config = {"providers": {"custom": {"base_url": server.url}}}
        with jpq.Session("custom/test", config=config) as session:
            *_, result = session.stream("Who?", schema=SCHEMA)
        assert isinstance(result, jpq.Result)
        assert result.extra["structured"] == {"name": "Ada", "age": 36}
        assert server.seen[0].json["response_format"]["json_schema"]["schema"] == SCHEMA


@pytest.mark.parametrize("schema", ["name wrong-type", {"type": 7}, "{"])
def test_a_schema_that_is_none_is_told_before_anything_is_sent(schema: Any, tmp_path: Any) -> None:
    with talk(tmp_path, GOOD) as session, pytest.raises(jpq.UsageError, match="schema"):
        session.ask("Who?", schema=schema)
