"""What lines mean, whatever somebody sends."""

from __future__ import annotations

import json
from typing import Any, Dict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.cli.chat_jsonl_lines import (
    MAIN,
    Answer,
    BadLine,
    Cancel,
    Close,
    Open,
    Permission,
    User,
    parse_line,
)
from jpq.library.asking import PermissionRequest, QuestionRequest

KNOWN = ["user", "retry", "permission", "answer", "cancel", "open", "close"]
FIELDS = ["session", "text", "id", "allow", "reason", "attachments", "schema", "model", "system"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@pytest.mark.parametrize(
    "fields, line",
    [
        ({"type": "user", "text": "hi"}, User(MAIN, "hi", [])),
        (
            {"type": "user", "text": "hi", "session": "a", "id": 3, "schema": "name"},
            User("a", "hi", [], "name", 3),
        ),
        ({"type": "user", "attachments": ["x"]}, User(MAIN, "", ["x"])),
        ({"type": "retry", "id": "r"}, User(MAIN, None, request="r")),
        ({"type": "permission", "id": "c", "allow": True}, Permission(MAIN, "c", True)),
        (
            {"type": "permission", "id": "c", "allow": False, "reason": "no"},
            Permission(MAIN, "c", False, "no"),
        ),
        ({"type": "answer", "id": "c", "text": "blue"}, Answer(MAIN, "c", "blue")),
        ({"type": "answer", "id": "c"}, Answer(MAIN, "c", None)),
        ({"type": "cancel", "session": "a"}, Cancel("a")),
        ({"type": "close"}, Close(MAIN)),
        ({"type": "open", "session": "a", "model": "p/m"}, Open("a", "p/m")),
        ({"type": "cancel", "later": 1}, Cancel(MAIN)),  # fields of a later version
    ],
)
def test_what_each_line_means(fields: Dict[str, Any], line: Any) -> None:
    assert parse_line(json.dumps(fields).encode()) == line


RUN = PermissionRequest("c", "shout", "", {})
ANY, SURE, ONE = (
    QuestionRequest("c", "ask", "", "Hm?", kind, choices)
    for kind, choices in (("text", ()), ("yes_no", ()), ("choice", ("red", "blue")))
)


@pytest.mark.parametrize(
    "line, request_, reply",
    [
        (Permission(MAIN, "c", True), RUN, True),
        (Permission(MAIN, "c", False), RUN, False),
        (Permission(MAIN, "c", False, "late"), RUN, "late"),
        (Permission(MAIN, "c", True), ANY, BadLine),
        (Answer(MAIN, "c", "yes"), RUN, BadLine),
        (Answer(MAIN, "c", None), RUN, BadLine),
        (Answer(MAIN, "c", "red"), ANY, "red"),
        (Answer(MAIN, "c", "yes"), SURE, "yes"),
        (Answer(MAIN, "c", "True"), SURE, BadLine),
        (Answer(MAIN, "c", "red"), ONE, "red"),
        (Answer(MAIN, "c", "green"), ONE, BadLine),
        (Answer(MAIN, "c", None), ONE, None),
    ],
)
def test_what_answers_which_request(line: Any, request_: Any, reply: Any) -> None:
    if reply is not BadLine:
        assert line.reply_to(request_) == reply
        return
    with pytest.raises(BadLine) as bad:
        line.reply_to(request_)
    assert bad.value.session == MAIN and "'c'" in str(bad.value)


@given(st.binary(max_size=200))
def test_bytes_of_any_kind_are_told_and_no_more(data: bytes) -> None:
    with pytest.raises(BadLine) as bad:
        parse_line(data)
    assert "\n" not in str(bad.value)


@given(st.fixed_dictionaries({"type": st.sampled_from(KNOWN)}), st.data())
def test_any_fields_of_any_type_are_taken_or_told(fields: Dict[str, Any], data: Any) -> None:
    fields.update(data.draw(st.dictionaries(st.sampled_from(FIELDS), VALUES)))
    try:
        line = parse_line(json.dumps(fields).encode())
    except BadLine as error:
        assert str(error).endswith(".")
    else:
        assert line.session == fields.get("session", MAIN)
        json.dumps(line)  # nothing in it that JSON cannot say
