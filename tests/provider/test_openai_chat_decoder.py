"""Chat completion deltas in the spellings that no recording has, and whatever else may come."""

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
    KeepAlive,
    MessageDelta,
    Metered,
    Opaque,
    Part,
    ReasoningDelta,
    Started,
    ToolArgumentsDelta,
    ToolCallStarted,
)
from jpq.events.transcript import OpaqueBlock, ReasoningBlock
from jpq.events.usage import Usage
from jpq.provider.base import ProviderRow
from jpq.provider.openai_chat import make_decoder, read_response
from jpq.wire.message import Message
from tests.support.decoding import Decoded, check_order, collect, decode, pieces

ROW = ProviderRow("test", "openai-chat")
DONE = "[DONE]"


def chunk(delta: Any = None, finish: Optional[str] = None, **more: Any) -> Dict[str, Any]:
    choice = {"index": 0, "delta": {} if delta is None else delta, "finish_reason": finish}
    return {"id": "c1", "model": "m1", "choices": [choice], **more}


def say(text: Any) -> Dict[str, Any]:
    return chunk({"content": text})


def call(*entries: Dict[str, Any]) -> Dict[str, Any]:
    return chunk({"tool_calls": list(entries)})


def entry(arguments: Any = None, **fields: Any) -> Dict[str, Any]:
    name = fields.pop("name", None)
    function = {"arguments": arguments, **({} if name is None else {"name": name})}
    return {**fields, "function": function}


def body(*values: Any) -> bytes:
    texts = (value if isinstance(value, str) else json.dumps(value) for value in values)
    return b"".join(f"data: {text}\n\n".encode() for text in texts)


def read(*values: Any) -> Decoded:
    decoded = decode(make_decoder(ROW), [body(*values)])
    check_order(decoded.events)
    return decoded


def calls(*values: Any) -> List[Any]:
    response = read(*values, chunk(finish="tool_calls"), DONE).response
    return [(c.id, c.name, c.arguments) for c in response.tool_calls]


# Text and reasoning


def test_the_events_of_a_plain_answer() -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 2}
    stream = (say(""), say("Hel"), say("lo"), chunk(finish="stop"), chunk(usage=usage), DONE)
    assert read(*stream).events == [
        Started("m1", "c1"),
        Part(0, MessageDelta("Hel")),
        Part(0, MessageDelta("lo")),
        Metered(Usage(7, 2)),
        Flush(0),
        Finished("stop"),
    ]


def test_each_kind_of_text_has_an_index_of_its_own_in_the_order_it_came() -> None:
    events = read(
        chunk({"reasoning_content": "hm"}),
        chunk({"reasoning_content": ""}),
        say("a"),
        chunk({"reasoning": "hm again"}),
        chunk({"content": "b", "reasoning": "and"}),
        chunk(finish="stop"),
    ).events
    texts = [(e.index, e.payload) for e in events if isinstance(e, Part)]
    assert texts == [
        (0, ReasoningDelta("hm")),
        (1, MessageDelta("a")),
        (2, ReasoningDelta("hm again")),
        (2, ReasoningDelta("and")),
        (3, MessageDelta("b")),
    ]


def test_reasoning_that_several_fields_repeat_is_counted_once() -> None:
    detail = {"type": "reasoning.summary", "summary": "why", "index": 0}
    decoded = read(chunk({"reasoning": "why", "reasoning_details": [detail]}), DONE)
    assert decoded.response.reasoning == "why"
    alone = read(chunk({"reasoning_details": [detail]}), DONE)
    assert alone.response.reasoning == "why"


def test_pieces_of_a_signed_text_become_one_detail_with_its_signature() -> None:
    def detail(**fields: Any) -> Dict[str, Any]:
        return chunk({"reasoning_details": [{"type": "reasoning.text", "index": 0, **fields}]})

    decoded = read(
        detail(text="", signature="", format="f"),
        detail(text="one "),
        detail(text="two"),
        detail(signature="SIG=="),
        say("answer"),
        DONE,
    )
    block = decoded.response.blocks[0]
    assert block == ReasoningBlock(
        "one two",
        {
            "reasoning_details": [
                {
                    "type": "reasoning.text",
                    "index": 0,
                    "text": "one two",
                    "signature": "SIG==",
                    "format": "f",
                }
            ]
        },
    )


def test_encrypted_reasoning_without_text_is_kept_in_its_place() -> None:
    def secret(data: str) -> Dict[str, Any]:
        return {"type": "reasoning.encrypted", "data": data, "index": 0}

    decoded = read(
        chunk({"reasoning_details": [secret("A"), secret("B")]}),
        call(entry("{}", index=0, id="c", name="f")),
        chunk(finish="tool_calls"),
    )
    kept = OpaqueBlock({"reasoning_details": [secret("A"), secret("B")]})
    assert decoded.response.blocks[0] == kept
    assert Part(0, Opaque(kept.data)) in decoded.events
    assert decoded.events.index(Flush(0)) < decoded.events.index(ToolCallStarted(1, "c", "f"))


def test_details_that_come_inside_the_answer_do_not_part_it() -> None:
    secret = {"type": "reasoning.encrypted", "data": "A"}
    decoded = read(say("a"), chunk({"reasoning_details": [secret]}), say("b"), DONE)
    assert decoded.response.text == "ab"
    assert decoded.response.blocks[1] == OpaqueBlock({"reasoning_details": [secret]})


def test_a_list_of_parts_is_read_in_order_and_unknown_parts_are_passed_over() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}, {"type": "odd"}, 3]},
        {"type": "thinking", "thinking": "so"},
        {"type": "text", "text": "1"},
        {"type": "reference", "reference_ids": [0]},
        "?",
    ]
    response = read(say(parts), say("44"), chunk(finish="stop")).response
    assert (response.reasoning, response.text) == ("hmso", "144")


def test_what_a_sound_says_is_the_answer() -> None:
    first = chunk({"audio": {"id": "a1", "transcript": "Hel"}})
    decoded = read(first, chunk({"audio": {"data": "AAAA", "transcript": "lo"}}), DONE)
    assert decoded.response.text == "Hello"


def test_pictures_that_the_model_made_are_kept() -> None:
    images = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]
    first, second = chunk({"content": "Look:", "images": images}), say("Nice?")
    decoded = read(first, second, chunk(finish="stop"), DONE)
    assert decoded.response.text == "Look:\n\nNice?"
    assert Part(1, Opaque({"images": images})) in decoded.events


def test_an_answer_in_one_chunk_may_be_a_message() -> None:
    whole = chunk(finish="stop")
    choice = whole["choices"][0]
    del choice["delta"]
    choice["message"] = {"role": "assistant", "content": "Hi"}
    assert read(whole, DONE).response.text == "Hi"
    assert read(say("Hi"), whole, DONE).response.text == "Hi"  # MiniMax repeats it at the end


def test_a_refusal_is_shown_and_said() -> None:
    response = read(chunk({"refusal": "I "}), chunk({"refusal": "won't."}, "stop")).response
    assert response.text == "I won't."
    assert (response.stop_reason, response.details) == ("refusal", {"native": "stop"})


@pytest.mark.parametrize("index", [1, 2])
def test_other_choices_are_ignored(index: int) -> None:
    other = {"index": index, "delta": {"content": "no"}, "finish_reason": "length"}
    mixed = chunk({"content": "yes"})
    mixed["choices"].append(other)
    assert read(mixed, {"choices": [other]}, chunk(finish="stop")).response.text == "yes"


def test_halves_of_an_emoji_are_joined_across_chunks() -> None:
    first, second = "\ud83d", "\ude00"
    decoded = read(
        say("ok " + first), say(second + "!"), chunk({"reasoning": first}), say("x" + second), DONE
    )
    assert decoded.response.text == "ok \U0001f600!\n\nx\ufffd"
    assert decoded.response.reasoning == "\ufffd"
    joined = entry('{"a": "' + first, index=0, id="c", name="f"), entry(second + '"}', index=0)
    assert calls(call(joined[0]), call(joined[1])) == [("c", "f", {"a": "\U0001f600"})]


# Calls


def test_the_events_of_a_call() -> None:
    events = read(
        say("See:"),
        call(entry("", index=0, id="c1", name="f")),
        call(entry('{"a"', index=0)),
        call(entry(":1}", index=0)),
        chunk(finish="tool_calls"),
        DONE,
    ).events
    request = events[-3]
    assert isinstance(request, Part) and request.payload[:3] == ("c1", "f", {"a": 1})
    assert events[:-3] + events[-2:] == [
        Started("m1", "c1"),
        Part(0, MessageDelta("See:")),
        Flush(0),
        ToolCallStarted(1, "c1", "f"),
        ToolArgumentsDelta(1, '{"a"'),
        ToolArgumentsDelta(1, ":1}"),
        Flush(1),
        Finished("tool_calls"),
    ]


def test_fragments_of_parallel_calls_may_interleave_and_text_may_come_between() -> None:
    assert calls(
        call(entry("", index=0, id="a", name="f"), entry("", index=1, id="b", name="g")),
        call(entry('{"x":', index=1)),
        say("\n"),
        call(entry('{"y":', index=0), entry("1}", index=1)),
        call(entry("2}", index=0)),
    ) == [("a", "f", {"y": 2}), ("b", "g", {"x": 1})]


def test_calls_that_share_an_index_are_told_apart_by_id() -> None:
    assert calls(
        call(entry("{}", index=0, id="a", name="f")),
        call(entry('{"x":', index=0, id="b", name="f")),
        call(entry("1}", index=0)),
    ) == [("a", "f", {}), ("b", "f", {"x": 1})]


def test_an_id_and_name_repeated_in_every_fragment_are_one_call() -> None:
    assert calls(
        call(entry('{"x":', index=0, id="a", name="f")),
        call(entry("1}", index=0, id="a", name="f")),
    ) == [("a", "f", {"x": 1})]


def test_a_fresh_id_for_each_fragment_is_one_call() -> None:
    """Older vLLM gave every fragment an id of its own."""
    assert calls(
        call(entry("", index=0, id="a", name="f")),
        call(entry('{"x":', index=0, id="b")),
        call(entry("1}", index=0, id="c")),
    ) == [("a", "f", {"x": 1})]


def test_without_an_index_calls_are_told_apart_by_id_or_position() -> None:
    assert calls(call(entry("{}", id="a", name="f"), entry('{"x":1}', id="b", name="f"))) == [
        ("a", "f", {}),
        ("b", "f", {"x": 1}),
    ]
    nameless = [entry("", id="", name="f"), entry("", id="", name="g")]
    assert calls(
        call(*nameless), call(entry('{"x":', id=""), entry('{"y":')), call(entry("1}"), entry("2}"))
    ) == [("call_5ed72aa1_1", "f", {"x": 1}), ("call_5ed72aa1_2", "g", {"y": 2})]
    assert calls(call(entry("{}", name="f")), call(entry("{}", name="f"))) == [
        ("call_5ed72aa1_1", "f", {}),
        ("call_5ed72aa1_2", "f", {}),
    ]


def test_a_name_repeated_without_an_id_is_a_new_call_once_the_last_is_whole() -> None:
    whole = call(entry('{"x":1}', index=0, name="f"))
    assert calls(whole, whole) == [
        ("call_5ed72aa1_1", "f", {"x": 1}),
        ("call_5ed72aa1_2", "f", {"x": 1}),
    ]
    begun = call(entry('{"x":', index=0, name="f")), call(entry("1}", index=0, name="f"))
    assert calls(*begun) == [("call_5ed72aa1_1", "f", {"x": 1})]


def test_calls_without_ids_get_ids_that_no_other_call_has() -> None:
    first = calls(chunk({"role": "assistant"}, id="r1"), call(entry("{}", index=0, name="f")))
    other = calls(chunk({"role": "assistant"}, id="r2"), call(entry("{}", index=0, name="f")))
    assert first[0][0].startswith("call_") and first[0][0] != other[0][0]
    twice = entry("{}", index=0, id="a", name="f"), entry("{}", index=1, id="a", name="g")
    assert [id for id, _, _ in calls(call(*twice))] == ["a", "call_5ed72aa1_2"]
    decoded = read(call(entry("", index=0, name="f")), call(entry("{}", index=0, id="late")))
    assert ToolCallStarted(0, "call_5ed72aa1_1", "f") in decoded.events


def test_a_name_may_come_late_or_never() -> None:
    late = read(
        call(entry('{"x"', index=0, id="a")),
        call(entry(":1}", index=0, name="f")),
        chunk(finish="tool_calls"),
    )
    assert ToolCallStarted(0, "a", "f") in late.events
    assert ToolArgumentsDelta(0, '{"x":1}') in late.events
    assert calls(call(entry("{}", index=0, id="a"))) == [("a", "", {})]
    assert calls(call(entry("{}", index=0, id="a")), call(entry("{}", index=1, id="b", name="g")))


@pytest.mark.parametrize("arguments", ["", " ", "{}", "null", None, {}])
def test_no_arguments_are_an_empty_object(arguments: Any) -> None:
    assert calls(call(entry(arguments, index=0, id="a", name="f"))) == [("a", "f", {})]


def test_arguments_may_be_an_object_and_missing_functions_do_no_harm() -> None:
    assert calls(
        call(entry({"x": [1]}, index=0, id="a", name="f")),
        call({"index": 0}, {"index": 0, "function": None}, {"index": 0, "function": "?"}),
    ) == [("a", "f", {"x": [1]})]


def test_arguments_that_do_not_parse_are_kept_raw() -> None:
    response = read(
        call(entry('{"x": "tru', index=0, id="a", name="f")), chunk(finish="length"), DONE
    ).response
    (made,) = response.tool_calls
    assert (made.arguments, made.raw) == ({"raw": '{"x": "tru'}, '{"x": "tru')
    assert response.stop_reason == "length"


def test_missing_arguments_of_an_answer_cut_by_its_limit_are_not_an_empty_object() -> None:
    response = read(call(entry("", index=0, id="a", name="f")), chunk(finish="length")).response
    assert response.tool_calls[0].raw == ""


def test_a_function_call_of_the_old_kind() -> None:
    assert calls(
        chunk({"function_call": {"name": "f", "arguments": ""}}),
        chunk({"function_call": {"arguments": '{"x":'}}),
        chunk({"function_call": {"arguments": "1}"}}),
    ) == [("call_5ed72aa1_1", "f", {"x": 1})]


def test_a_fragment_without_any_call_is_dropped() -> None:
    assert calls(call(entry("{}")), call("?", None, 3)) == []


def test_data_beside_a_call_is_kept_with_it() -> None:
    extra = {"google": {"thought_signature": "SIG"}}
    made = entry("{}", index=0, id="a", name="f", extra_content=extra)
    decoded = read(call(made), chunk(finish="tool_calls"))
    assert Flush(0, {"extra_content": extra}) in decoded.events


# Usage


@pytest.mark.parametrize(
    "usage,read_as",
    [
        ({"prompt_tokens": 1, "completion_tokens": 0}, Usage(1, 0)),
        ({"completion_tokens_details": {"reasoning_tokens": 5}}, Usage(None, None, 5)),
        ({"reasoning_tokens": 6}, Usage(None, None, 6)),
        (
            {"prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 2}},
            Usage(None, None, None, 0, 2),
        ),
        ({"prompt_cache_hit_tokens": 3}, Usage(None, None, None, 3)),
        ({"num_cached_tokens": 4}, Usage(None, None, None, 4)),
        ({"prompt_token_details": {"cached_tokens": 5}}, Usage(None, None, None, 5)),
        ({"prompt_tokens": 9, "prompt_tokens_details": None}, Usage(9)),
    ],
)
def test_usage_is_read_as_reported(usage: Dict[str, Any], read_as: Usage) -> None:
    assert read(say("a"), chunk(usage=usage), DONE).response.usage == read_as


@pytest.mark.parametrize(
    "usage", [None, {}, [], "?", {"prompt_tokens": None}, {"prompt_tokens": "7"}]
)
def test_usage_that_is_not_reported_is_absent(usage: Any) -> None:
    decoded = read(say("a"), chunk(usage=usage), DONE)
    assert not any(isinstance(event, Metered) for event in decoded.events)


def test_reports_replace_and_the_last_one_wins_wherever_it_stands() -> None:
    first, last = {"prompt_tokens": 1, "completion_tokens": 1}, {"completion_tokens": 3}
    decoded = read(
        chunk(usage=first),
        chunk(usage=first),
        chunk(finish="stop", x_groq={"usage": {"completion_tokens": 2}}, usage=None),
        {"choices": [{"index": 0, "usage": last}]},
        DONE,
    )
    assert decoded.response.usage == Usage(1, 3)
    assert sum(isinstance(event, Metered) for event in decoded.events) == 3


# The end


@pytest.mark.parametrize(
    "said,native,reason,details",
    [
        ("stop", None, "stop", {}),
        ("STOP", None, "stop", {"native": "STOP"}),
        ("stop", "end_turn", "stop", {"native": "end_turn"}),
        ("length", None, "length", {}),
        ("tool_calls", "max_output_tokens", "length", {"native": "max_output_tokens"}),
        ("model_length", None, "length", {"native": "model_length"}),
        (
            "model_context_window_exceeded",
            None,
            "length",
            {"native": "model_context_window_exceeded"},
        ),
        ("content_filter: SAFETY", None, "content_filter", {"native": "content_filter: SAFETY"}),
        ("BLOCKLIST", None, "content_filter", {"native": "BLOCKLIST"}),
        (
            "function_call_filter: MALFORMED_FUNCTION_CALL",
            None,
            "error",
            {"native": "function_call_filter: MALFORMED_FUNCTION_CALL"},
        ),
        ("content_filter", None, "content_filter", {}),
        ("function_call", None, "tool_calls", {"native": "function_call"}),
        ("banana", None, "banana", {}),
    ],
)
def test_reasons(said: str, native: Optional[str], reason: str, details: Dict[str, Any]) -> None:
    last = chunk(finish=said)
    last["choices"][0]["native_finish_reason"] = native
    finished = read(say("a"), last, DONE).events[-1]
    assert finished == Finished(reason, details)


def test_stop_with_calls_is_tool_calls() -> None:
    made = call(entry("{}", index=0, id="a", name="f"))
    assert read(made, chunk(finish="stop")).events[-1] == Finished("tool_calls", {"native": "stop"})


def test_the_end_marker_alone_finishes_and_nothing_counts_after_it() -> None:
    decoded = read(say("a"), DONE, say("b"), {"error": {"message": "late"}})
    assert decoded.response.text == "a"
    assert decoded.events[-1] == Finished("stop")
    decoder = make_decoder(ROW)
    for value in ("a", DONE):
        list(decoder.feed(Message("", value if value == DONE else json.dumps(say(value)))))
    assert decoder.done and decoder.ending
    assert list(decoder.feed(Message("", json.dumps(say("c"))))) == []
    assert list(decoder.close()) == []


def test_a_finish_reason_says_that_the_end_is_near() -> None:
    decoder = make_decoder(ROW)
    list(decoder.feed(Message("", json.dumps(say("a")))))
    assert not decoder.ending
    list(decoder.feed(Message("", json.dumps(chunk(finish="stop")))))
    assert decoder.ending and not decoder.done
    assert list(decoder.close())[-1] == Finished("stop")


def test_text_after_a_finish_reason_still_counts() -> None:
    assert read(say("a"), chunk(finish="stop"), say("b"), chunk(finish="length")).events[-4:] == [
        Part(0, MessageDelta("a")),
        Part(0, MessageDelta("b")),
        Flush(0),
        Finished("length"),
    ]


def test_without_an_end_the_answer_is_interrupted_and_its_call_stays_open() -> None:
    decoded = read(say("a"), call(entry("{}", index=0, id="c", name="f")))
    assert decoded.events[-1] == Finished("interrupted")
    assert not any(isinstance(e, Flush) and e.index == 1 for e in decoded.events)


def test_the_text_of_a_cut_answer_stays_open() -> None:
    decoded = read(say("Once upon"))
    assert decoded.response.text == "Once upon"
    assert not any(isinstance(event, Flush) for event in decoded.events)


# Errors


@pytest.mark.parametrize(
    "word", ["error", "network_error", "insufficient_system_resource", "abort"]
)
def test_a_finish_reason_that_is_a_failure_is_raised(word: str) -> None:
    decoded = read(say("a"), call(entry("{}", index=0, id="c", name="f")), chunk(finish=word), DONE)
    assert decoded.error is not None and decoded.error.kind is ErrorKind.SERVER
    assert word in decoded.error.message
    assert decoded.response.text == "a"
    assert not any(isinstance(e, Part) and e.index == 1 for e in decoded.events)


def test_what_stands_beside_an_error_is_read_first() -> None:
    last = chunk(
        {"content": "b"}, usage={"prompt_tokens": 1}, error={"message": "gone", "code": 502}
    )
    decoded = read(say("a"), last)
    assert decoded.response.text == "ab"
    assert decoded.response.usage == Usage(1)
    assert decoded.error is not None and "gone" in decoded.error.message
    assert decoded.error.where == "test"


@pytest.mark.parametrize(
    "value",
    [
        {"error": {"message": "gone"}},
        {"error": "gone"},
        [{"error": {"message": "gone"}}],
        {"object": "error", "message": "gone", "code": "1500"},
        {"type": "error", "message": "gone"},
        {"detail": "gone"},
        {"message": "gone", "code": 400},
        {"choices": [{"index": 0, "error": {"message": "gone"}, "finish_reason": "error"}]},
    ],
)
def test_errors_of_every_shape_are_raised(value: Any) -> None:
    decoded = read(say("a"), value)
    assert decoded.response.text == "a"
    assert decoded.error is not None and "gone" in decoded.error.message
    whole = collect(read_response(value, ROW)).error
    assert whole is not None and "gone" in whole.message


@pytest.mark.parametrize("data", ['{"message": "gone"}', '{"error": {"message": "gone"}}', "gone"])
def test_an_event_named_error_is_raised_whatever_it_holds(data: str) -> None:
    decoder = make_decoder(ROW)
    with pytest.raises(StreamError, match="gone"):
        list(decoder.feed(Message("error", data)))


def test_data_that_is_not_json() -> None:
    comment = read(": OPENROUTER PROCESSING", say("a"), DONE)
    assert comment.events[0] == KeepAlive() and comment.is_complete
    at_the_end = read(say("a"), '{"choices":[{"del')
    assert at_the_end.error is None and at_the_end.events[-1] == Finished("interrupted")
    in_the_middle = read(say("a"), '{"choices":[{"del\x1b[2J', say("b"), DONE)
    assert in_the_middle.error is not None
    assert in_the_middle.error.kind is ErrorKind.CUT and in_the_middle.error.retryable
    assert "\x1b" not in in_the_middle.error.message
    assert in_the_middle.response.text == "a"
    after_the_end = read(say("a"), chunk(finish="stop"), '{"usage": {"pro', DONE)
    assert after_the_end.is_complete


@pytest.mark.parametrize("value", [None, 3, "text", [], {}, {"choices": []}, {"choices": "?"}])
def test_a_whole_reply_without_an_answer_is_an_error(value: Any) -> None:
    error = collect(read_response(value, ROW)).error
    assert error is not None and error.kind is ErrorKind.MALFORMED


def test_a_whole_reply_is_read_like_a_stream() -> None:
    message = {
        "role": "assistant",
        "content": "a",
        "reasoning": "hm",
        "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}},
            {"id": "d", "type": "function", "function": {"name": "f", "arguments": "{}"}},
        ],
    }
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    value = {"id": "c1", "model": "m1", "choices": [choice], "usage": {"prompt_tokens": 1}}
    decoded = collect(read_response(value, ROW))
    check_order(decoded.events)
    assert [c.id for c in decoded.response.tool_calls] == ["c", "d"]
    assert (decoded.response.reasoning, decoded.response.text) == ("hm", "a")
    assert decoded.response.usage == Usage(1)


# Anything at all

TEXTS = st.text(max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def record(**fields: Any) -> Any:
    """Objects with some of ``fields``, now and then something else in their place."""
    return st.fixed_dictionaries({}, optional={k: v | JSON for k, v in fields.items()})


FUNCTION = record(
    name=st.sampled_from(["f", "g", "", "null"]), arguments=st.sampled_from(["{", "}", "{}"])
)
ENTRY = record(index=st.integers(0, 1), id=st.sampled_from(["a", "b", ""]), function=FUNCTION)
DETAIL = record(
    type=st.sampled_from(["reasoning.text", "reasoning.summary", "reasoning.encrypted"]),
    text=TEXTS,
    summary=TEXTS,
    signature=TEXTS,
    index=st.integers(0, 1),
)
DELTA = record(
    content=TEXTS | st.sampled_from(["\ud83d", "\ude00"]),
    reasoning=TEXTS,
    reasoning_details=st.lists(DETAIL, max_size=2),
    refusal=TEXTS,
    tool_calls=st.lists(ENTRY, max_size=3),
    function_call=FUNCTION,
)
CHOICE = record(
    index=st.just(0),
    delta=DELTA,
    finish_reason=st.sampled_from(["stop", "length", "error"]),
    native_finish_reason=st.sampled_from(["length", "STOP"]),
)
CHUNK = record(
    id=TEXTS, model=TEXTS, choices=st.lists(CHOICE, max_size=2), usage=record(prompt_tokens=JSON)
)


@given(st.lists(CHUNK | JSON | st.just(DONE), max_size=12))
def test_no_chunk_raises_anything_but_a_stream_error(values: List[Any]) -> None:
    decoded = read(*values)
    if decoded.error is None:
        assert isinstance(decoded.events[-1], Finished)
    json.dumps(decoded.events, ensure_ascii=False).encode()  # nothing that cannot be stored


@given(JSON | CHUNK)
def test_no_whole_reply_raises_anything_but_a_stream_error(value: Any) -> None:
    check_order(collect(read_response(value, ROW)).events)


@given(st.lists(CHUNK, max_size=8), st.integers(1, 9))
def test_the_pieces_it_arrives_in_make_no_difference(values: List[Any], size: int) -> None:
    whole = read(*values)
    cut_up = decode(make_decoder(ROW), pieces(body(*values), size))
    assert cut_up.events == whole.events
    assert str(cut_up.error) == str(whole.error)


def test_deep_nesting_is_refused_and_what_is_less_deep_is_kept() -> None:
    deep = "[" * 100_000
    assert read(say("a"), deep, say("b")).error is not None
    nested: Any = "x"
    for _ in range(150):
        nested = [nested]
    detail = {"type": "odd", "value": nested}
    assert read(chunk({"reasoning_details": [detail]}), DONE).is_complete
    detail["value"] = json.loads("[" * 500 + "]" * 500)
    assert read(chunk({"reasoning_details": [detail]}), say("b")).error is not None
