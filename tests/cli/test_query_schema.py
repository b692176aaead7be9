"""``--schema`` from outside: what is sent, written, saved, and how it ends."""

from __future__ import annotations

import json
from typing import Any, List

import pytest

from tests.support.programs import Ran, conversations, entries, jpq, model_at, script
from tests.support.server import Server, answer, error

GOOD = '{"name": "Ada", "age": 36}'
SPEC = "name, age int"


def scripted(folder: Any, *texts: str) -> List[str]:
    return ["-m", "scripted/" + script(folder, *(f"text = {json.dumps(text)}" for text in texts))]


def asked(folder: Any, *texts: str, options: Any = ("--schema", SPEC)) -> Ran:
    return jpq(*scripted(folder, *texts), *options, "Who?")


def test_a_pipe_gets_the_bytes_of_the_model(tmp_path: Any) -> None:
    ran = asked(tmp_path, '{ "name":"Ada",\n"age":  36 }')
    assert (ran.code, ran.text, ran.err) == (0, '{ "name":"Ada",\n"age":  36 }\n', b"")
    (folder,) = conversations()
    kinds = [entry.get("structured") for entry in entries(folder)]
    assert {"name": "Ada", "age": 36} in kinds


def test_a_pipe_gets_one_json_although_the_model_needed_two_rounds(tmp_path: Any) -> None:
    ran = asked(tmp_path, "Well, Ada.", f"```json\n{GOOD}\n```")
    assert (ran.code, ran.text) == (0, GOOD + "\n")
    (told,) = ran.told
    assert "does not match the schema" in told and "Asking again, once" in told


def test_what_does_not_match_is_printed_and_ends_with_65(tmp_path: Any) -> None:
    ran = asked(tmp_path, "Ada.", "Ada, I said.")
    assert (ran.code, ran.text) == (65, "Ada, I said.\n")
    assert any("jpq --retry" in line for line in ran.told)
    saved = [entry["message"] for entry in entries(conversations()[0]) if "message" in entry]
    assert saved == ["Ada.", "Ada, I said."]


def test_retry_after_a_mismatch_needs_no_schema(tmp_path: Any) -> None:
    assert asked(tmp_path, "a", "b").code == 65
    ran = jpq(*scripted(tmp_path, GOOD), "--retry")
    assert (ran.code, ran.text) == (0, GOOD + "\n")
    (conversation,) = json.loads(jpq("c", "ls", "--format", "json").out)
    assert (conversation["turns"], conversation["status"]) == (1, "complete")


def test_json_has_the_value_beside_the_text(tmp_path: Any) -> None:
    result = asked(tmp_path, GOOD, options=("--json", "--schema", SPEC)).result
    assert result["text"] == GOOD and result["structured"] == {"name": "Ada", "age": 36}
    ran = asked(tmp_path, "x", options=("--json", "--schema", SPEC))
    assert (ran.code, ran.result["status"], ran.result["exit_code"]) == (65, "error", 65)
    assert ran.result["structured"] is None and ran.result["text"] == "x"
    assert ran.result["error"]["kind"] == "schema_mismatch"


def test_jsonl_shows_both_rounds(tmp_path: Any) -> None:
    ran = asked(tmp_path, "x", GOOD, options=("--format", "jsonl", "--schema", SPEC))
    types = [event["type"] for event in ran.events]
    assert types.count("stream_start") == types.count("complete") == 2
    assert ran.result["structured"] == {"name": "Ada", "age": 36}


def test_a_list(tmp_path: Any) -> None:
    items = '{"items": [{"name": "Ada", "age": 36}, {"name": "Bob", "age": 7}]}'
    ran = asked(tmp_path, items, options=("--schema-multi", SPEC))
    assert (ran.code, ran.text) == (0, items + "\n")
    assert asked(tmp_path, GOOD, options=("--schema-multi", SPEC)).code == 65


def test_a_schema_from_a_file(tmp_path: Any) -> None:
    (tmp_path / "person.json").write_text('{"type": "object", "required": ["age"]}')
    (tmp_path / "short").write_text("name\nage int\n")
    model = scripted(tmp_path, GOOD)
    for spec in ("person.json", "@person.json", f"{tmp_path}/person.json", "@short"):
        ran = jpq(*model, "--schema", spec, "Who?", cwd=str(tmp_path))
        assert (ran.code, ran.text) == (0, GOOD + "\n"), (spec, ran)


def test_a_server_is_sent_the_schema() -> None:
    with Server(answer(GOOD)) as server:
        ran = jpq(*model_at(server), "--schema", SPEC, "Who?")
        assert (ran.code, ran.text) == (0, GOOD + "\n")
        body = server.seen[0].json
    assert body["response_format"]["json_schema"]["strict"] is True
    assert body["messages"][0]["role"] == "system"


def test_a_server_that_refuses_the_schema_is_asked_in_words() -> None:
    refusal = error("400 Bad Request", b'{"error": {"message": "response_format: not here"}}')
    with Server(refusal, answer(GOOD)) as server:
        ran = jpq(*model_at(server), "--schema", SPEC, "Who?")
        assert (ran.code, ran.text) == (0, GOOD + "\n")
        first, second = [seen.json for seen in server.seen]
    assert "response_format" in first and "response_format" not in second


def test_a_new_question_is_free_of_the_schema(tmp_path: Any) -> None:
    assert asked(tmp_path, GOOD).code == 0
    ran = jpq(*scripted(tmp_path, "Any text."), "-c", "And?")
    assert (ran.code, ran.text) == (0, "Any text.\n")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("name, age integr", "'integr' is no type"),
        ('{"type": "strin"}', "Unknown type"),
        ('{"type": ', "not valid JSON"),
        ("name, name", "twice"),
    ],
)
def test_a_wrong_schema_is_told_before_anything_is_sent(spec: str, words: str) -> None:
    with Server(answer(GOOD)) as server:
        ran = jpq(*model_at(server), "--schema", spec, "Who?")
        assert not server.seen
    ran.failed_with(2, words, "--schema")
    assert not conversations()


def test_a_wrong_schema_in_a_file_is_told_with_its_line(tmp_path: Any) -> None:
    (tmp_path / "bad.json").write_text('{\n  "type": "object"\n  "x"')
    (tmp_path / "worse.json").write_bytes(b"\xff\xfe")
    model = scripted(tmp_path, GOOD)
    jpq(*model, "--schema", "bad.json", "x", cwd=str(tmp_path)).failed_with(65, "bad.json:3")
    jpq(*model, "--schema", "worse.json", "x", cwd=str(tmp_path)).failed_with(65, "UTF-8")
    jpq(*model, "--schema", "@none", "x", cwd=str(tmp_path)).failed_with(65, "No such file")


def test_a_schema_without_end_is_refused(tmp_path: Any) -> None:
    asked(tmp_path, GOOD, options=("--schema", "@/dev/zero")).failed_with(65, "is longer than")


def test_contradictions_are_usage_errors(tmp_path: Any) -> None:
    asked(tmp_path, GOOD, options=("--schema", "a", "--schema-multi", "a")).failed_with(2)
    asked(tmp_path, GOOD, options=("--schema", "a", "-x")).failed_with(2, "-x")


@pytest.mark.parametrize("option", ["--schema", "--schema-multi", "--output", "--batch"])
def test_a_variable_that_is_not_set_asks_for_nothing(option: str, tmp_path: Any) -> None:
    ran = jpq("-m", "scripted//no/such", option, "", cwd=str(tmp_path))
    ran.failed_with(2, f"{option} is empty")


def test_a_repair_is_made_without_retries_of_failed_requests_too(tmp_path: Any) -> None:
    ran = asked(tmp_path, "a", GOOD, options=("--retries", "0", "--schema", SPEC))
    assert ran.code == 0


def test_show_has_the_answer_as_json_and_says_what_did_not_match(tmp_path: Any) -> None:
    assert asked(tmp_path, "Ada.", GOOD).code == 0
    said = [block.split("\n", 1) for block in jpq("c", "show").text.strip().split("\n\n")]
    assert said[0] == ["You:", "Who?"] and said[1] == ["Assistant:", "Ada."]
    assert said[2][0] == "Note:" and "did not match the schema: it is not JSON" in said[2][1]
    assert said[3] == ["Assistant:", GOOD]
