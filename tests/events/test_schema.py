"""The JSON Schema of the lines: it is printed, shipped, and agrees with the page and the code."""

from __future__ import annotations

import json
import os
import re
from typing import Any, Dict

import fastjsonschema
import pytest

from jpq.cli.chat_jsonl_lines import output_fields
from jpq.library.asking import PermissionRequest, QuestionRequest
from jpq.render.jsonl import _FIELDS
from tests.support.events import checked, load_schema
from tests.support.programs import ROOT, jpq

SCHEMA = load_schema()
TYPES = [each["$ref"].rpartition("/")[2] for each in SCHEMA["oneOf"]]


def test_it_is_printed() -> None:
    ran = jpq("config", "schema")
    assert (ran.code, json.loads(ran.text)) == (0, SCHEMA)


def test_it_has_every_type_and_the_page_tells_every_field() -> None:
    with open(os.path.join(ROOT, "docs", "events.md"), encoding="utf-8") as file:
        sections = re.split(r"^### `", file.read(), flags=re.M)[1:]
    told = {section.partition("`")[0]: section for section in sections}
    assert set(told) == set(TYPES)
    for name in TYPES:
        for field in set(SCHEMA["definitions"][name]["properties"]) - {"type"}:
            assert f"`{field}`" in told[name], (name, field)


def test_every_event_that_has_a_line_has_a_definition() -> None:
    assert len(TYPES) == len(_FIELDS) + 2  # and the two requests of a chat


@pytest.mark.parametrize(
    "event",
    [
        PermissionRequest(
            "c", "rm", "rm x", {"path": "x"}, "run", "rm x", 'the run mode of rm is "ask"'
        ),
        QuestionRequest("c", "ask_user", "ask", "Which?", "choice", ("a", "b")),
    ],
)
def test_requests_match(event: Any) -> None:
    fields = json.loads(json.dumps(output_fields(event)))
    checked({**fields, "session": "main", "request": 1})


@pytest.mark.parametrize(
    "line",
    [
        {},
        {"type": "text_chunk", "text": "a"},
        {"type": "text_chunk", "text": "a", "index": -1},
        {"type": "result", "status": "splendid"},
        {"type": "nothing"},
    ],
)
def test_what_is_no_line_does_not(line: Dict[str, Any]) -> None:
    with pytest.raises(fastjsonschema.JsonSchemaException):
        fastjsonschema.compile(SCHEMA)(line)


def test_a_later_field_is_passed_over() -> None:
    line = {"type": "complete", "finish_reason": "stop", "later": 1}
    assert fastjsonschema.compile(SCHEMA)(line) == line
