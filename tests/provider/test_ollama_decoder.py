"""What the Ollama decoder makes of lines that no recording holds."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.errors import ErrorKind, StreamError
from jpq.events.parts import (
    Finished,
    Flush,
    MessageDelta,
    Metered,
    Opaque,
    Part,
    ReasoningDelta,
    Started,
    ToolArgumentsDelta,
    ToolCallRequest,
    ToolCallStarted,
)
from jpq.events.usage import Usage
from jpq.provider import ndjson
from jpq.provider.base import ProviderRow
from jpq.provider.ollama import make_decoder, read_response
from jpq.wire.message import Message
from tests.support.decoding import Decoded, check_order, collect, decode

ROW = ProviderRow("box", "ollama")


def line(done: Optional[str] = None, **message: Any) -> Dict[str, Any]:
    value: Dict[str, Any] = {"model": "m", "created_at": "2026-01-02T03:04:05Z"}
    value["message"] = {"role": "assistant", "content": "", **message}
    value["done"] = done is not None
    if done:
        value["done_reason"] = done
    return value


def calling(*calls: Any, **more: Any) -> Dict[str, Any]:
    return line(tool_calls=list(calls), **more)


def call(name: str, arguments: Any = None, **more: Any) -> Dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}, **more}


def read(*lines: Any) -> Decoded:
    body = "".join((v if isinstance(v, str) else json.dumps(v)) + "\n" for v in lines)
    decoded = decode(make_decoder(ROW), [body.encode()], ndjson.messages)
    check_order(decoded.events)
    return decoded


STOP = line("stop")


def test_the_events_of_an_answer() -> None:
    counts = {"prompt_eval_count": 7, "eval_count": 3, "total_duration": 5}
    lines = (
        line(thinking="Hm"),
        line(thinking="."),
        line(content="Hel"),
        line(content="lo"),
        calling(call("greet", {"name": "Zoë"}, id="c1")),
    )
    assert read(*lines, {**STOP, **counts}).events == [
        Started("m"),
        Part(0, ReasoningDelta("Hm")),
        Part(0, ReasoningDelta(".")),
        Flush(0),
        Part(1, MessageDelta("Hel")),
        Part(1, MessageDelta("lo")),
        Flush(1),
        ToolCallStarted(2, "c1", "greet"),
        ToolArgumentsDelta(2, '{"name": "Zoë"}'),
        Part(2, ToolCallRequest("c1", "greet", {"name": "Zoë"})),
        Flush(2),
        Metered(Usage(7, 3)),
        Finished("tool_calls", {"native": "stop"}),
    ]


def test_one_line_may_say_everything() -> None:
    response = read(
        line("stop", thinking="hm", content="Hi", tool_calls=[call("f", {})]), line(content="more")
    ).response
    assert (response.reasoning, response.text) == ("hm", "Hi")
    assert [c.name for c in response.tool_calls] == ["f"]
    assert response.stop_reason == "tool_calls"


def test_text_after_a_call_is_a_text_of_its_own() -> None:
    response = read(line(content="a"), calling(call("f")), line(content="b"), STOP).response
    assert response.text == "a\n\nb"


@pytest.mark.parametrize(
    "reason,meant,message",
    [
        ("stop", "stop", None),
        ("length", "length", None),
        ("", "stop", None),
        ("load", "load", "the server only loaded the model"),
        ("unload", "unload", "the server only unloaded the model"),
        ("tired", "tired", None),
    ],
)
def test_how_an_answer_ends(reason: str, meant: str, message: Optional[str]) -> None:
    response = read(line(content="Hi"), line(reason)).response
    assert response.stop_reason == meant
    assert response.details.get("message") == message
    assert response.is_complete


def test_a_call_at_the_output_limit_does_not_hide_the_limit() -> None:
    assert read(calling(call("f")), line("length")).response.stop_reason == "length"


def test_nothing_counts_after_the_end() -> None:
    decoder = make_decoder(ROW)
    list(decoder.feed(Message("", json.dumps(STOP))))
    assert decoder.done and decoder.ending
    assert list(decoder.feed(Message("", json.dumps({"error": "late"})))) == []
    assert list(decoder.close()) == []


# Calls


def test_calls_without_an_id_get_one_each_that_other_answers_do_not_have() -> None:
    lines = (calling(call("f"), call("f")), calling(call("f", id="")), STOP)
    ids = [c.id for c in read(*lines).response.tool_calls]
    assert len(set(ids)) == 3 and all(ids)
    assert ids == [c.id for c in read(*lines).response.tool_calls]
    later = [{**value, "created_at": "2026-01-02T03:04:06Z"} for value in lines]
    assert not set(ids) & {c.id for c in read(*later).response.tool_calls}


def test_a_repeated_id_is_replaced() -> None:
    calls = read(calling(call("f", id="x"), call("g", id="x")), STOP).response.tool_calls
    assert calls[0].id == "x" and calls[1].id not in ("", "x")


@pytest.mark.parametrize(
    "arguments,read_as,raw",
    [
        ({"a": 1}, {"a": 1}, None),
        (None, {}, None),
        ("", {}, None),
        ('{"a": 1}', {"a": 1}, None),
        ('{"a"', {"raw": '{"a"'}, '{"a"'),
        ([1], {"raw": "[1]"}, "[1]"),
        ({"a": "\ud83d\ude00\ud83d"}, {"a": "\U0001f600\ufffd"}, None),
    ],
)
def test_arguments_of_a_call(arguments: Any, read_as: Any, raw: Optional[str]) -> None:
    (found,) = read(calling(call("f", arguments)), STOP).response.tool_calls
    assert (found.arguments, found.raw) == (read_as, raw)


def test_what_is_no_call_is_passed_over() -> None:
    response = read(line(tool_calls=[1, {}, {"function": 1}]), line(tool_calls=1), STOP).response
    assert response.blocks == () and response.stop_reason == "stop"


# Everything else


def test_pictures_are_kept_for_the_model_that_made_them() -> None:
    decoded = read(line(content="Look:"), line(images=["aGk="]), STOP)
    assert Part(1, Opaque({"images": ["aGk="]})) in decoded.events


def test_an_emoji_cut_in_two_is_joined() -> None:
    lines = [line(content="a\ud83d"), line(content="\ude00b"), line(content="\ud83d"), STOP]
    assert read(*lines).response.text == "a\U0001f600b\ufffd"


def test_usage_that_is_not_reported_stays_absent() -> None:
    assert read(STOP).response.usage == Usage()
    counts = {"prompt_eval_count": None, "eval_count": 4}
    assert read({**STOP, **counts}).response.usage == Usage(None, 4)


@pytest.mark.parametrize("error", ["model runner has unexpectedly stopped", {"message": "oops"}])
def test_an_error_after_text_is_raised_and_the_text_kept(error: Any) -> None:
    decoded = read(line(content="Hel"), {"error": error})
    assert decoded.response.text == "Hel" and not decoded.is_complete
    assert decoded.error is not None and decoded.error.kind is ErrorKind.SERVER
    assert (error if isinstance(error, str) else "oops") in decoded.error.message
    assert decoded.error.where == "box"


def test_what_stands_beside_an_error_comes_first() -> None:
    decoded = read({**line(content="Hi"), "error": "model overloaded"})
    assert decoded.response.text == "Hi"
    assert decoded.error is not None and decoded.error.kind is ErrorKind.OVERLOADED


def test_a_line_that_is_not_json_cuts_the_answer_off() -> None:
    assert read(line(content="Hi"), '{"mod').error is None
    decoded = read(line(content="Hi"), "<oops\x1b>", line(content="!"))
    assert decoded.error is not None and decoded.error.kind is ErrorKind.CUT
    assert "<oops\ufffd>" in decoded.error.message


def test_a_cut_text_is_left_open_to_be_gone_on_with() -> None:
    events = read(line(content="Hel")).events
    assert events == [Started("m"), Part(0, MessageDelta("Hel")), Finished("interrupted")]


# Whole replies


def test_a_whole_reply() -> None:
    value = line("stop", thinking="hm", content="Hi")
    response = collect(read_response(value, ROW)).response
    assert (response.reasoning, response.text, response.stop_reason) == ("hm", "Hi", "stop")
    del value["done"], value["done_reason"]
    assert collect(read_response(value, ROW)).response.stop_reason == "stop"


@pytest.mark.parametrize(
    "value,kind",
    [
        ({"error": "model 'x' not found"}, ErrorKind.NOT_FOUND),
        ({"models": []}, ErrorKind.MALFORMED),
        ([], ErrorKind.MALFORMED),
        (None, ErrorKind.MALFORMED),
    ],
)
def test_a_whole_reply_without_an_answer(value: Any, kind: ErrorKind) -> None:
    decoded = collect(read_response(value, ROW))
    assert decoded.error is not None and decoded.error.kind is kind


# Whatever comes

ANY_TEXT = st.one_of(st.text(max_size=3), st.sampled_from(["\ud83d", "\ude00", "a"]))
ANY_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 9), ANY_TEXT),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(ANY_TEXT, inner, max_size=3)
    ),
    max_leaves=6,
)
FIELDS = ("model", "message", "done", "done_reason", "error", "eval_count", "created_at")
WITHIN = ("role", "content", "thinking", "tool_calls", "images")
ANY_CALL = st.fixed_dictionaries(
    {}, optional={"id": ANY_JSON, "function": st.dictionaries(
        st.sampled_from(("name", "arguments", "index")), ANY_JSON)},
)  # fmt: skip
ANY_MESSAGE = st.one_of(
    st.dictionaries(st.sampled_from(WITHIN), ANY_JSON),
    st.fixed_dictionaries({"tool_calls": st.lists(ANY_CALL, max_size=3)}),
    st.fixed_dictionaries({"role": ANY_TEXT, "content": ANY_TEXT}, optional={"thinking": ANY_TEXT}),
)
ANY_LINE = st.one_of(
    ANY_JSON,
    st.dictionaries(st.sampled_from(FIELDS), ANY_JSON),
    st.fixed_dictionaries({"model": ANY_TEXT, "created_at": ANY_TEXT, "message": ANY_MESSAGE},
                          optional={"done": st.booleans()}),
)  # fmt: skip


@given(st.lists(ANY_LINE, max_size=6))
def test_any_json_is_read_or_refused(lines: List[Any]) -> None:
    decoded = read(*map(json.dumps, lines))
    said = [*decoded.response.blocks, decoded.response.model, decoded.response.details]
    json.dumps(said, ensure_ascii=False).encode()  # fit to be stored
    whole = (collect(read_response(value, ROW)) for value in lines)
    assert all(isinstance(d.error, (StreamError, type(None))) for d in whole)


@given(st.lists(ANY_LINE, max_size=6), st.integers(1, 40))
def test_where_bytes_are_divided_does_not_matter(lines: List[Any], size: int) -> None:
    body = "\r\n".join(json.dumps(value, ensure_ascii=True) for value in lines).encode()
    chunks = [body[start : start + size] for start in range(0, len(body), size)]
    divided = decode(make_decoder(ROW), chunks, ndjson.messages)
    assert divided.events == read(*map(json.dumps, lines)).events


@given(st.lists(ANY_LINE, max_size=6))
def test_the_quick_way_reads_what_the_thorough_one_reads(lines: List[Any]) -> None:
    """A field more than a plain line has sends it the thorough way."""
    marked = [{**v, "x": 1, "y": 1} if isinstance(v, dict) else v for v in lines]
    assert read(*map(json.dumps, marked)).events == read(*map(json.dumps, lines)).events
