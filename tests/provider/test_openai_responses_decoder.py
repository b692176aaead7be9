"""Response events in the spellings that no recording has, and whatever else may come."""

from __future__ import annotations

import json
from typing import Any, Dict, List

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.errors import ErrorKind
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
    ToolCallRequest,
    ToolCallStarted,
)
from jpq.events.transcript import OpaqueBlock, ReasoningBlock, TextBlock, ToolCallBlock
from jpq.events.usage import Usage
from jpq.provider.base import ProviderRow
from jpq.provider.openai_responses import make_decoder, read_response
from jpq.wire.message import Message
from tests.support.decoding import Decoded, check_order, collect, decode, pieces

ROW = ProviderRow("test", "openai-responses")
DONE = "[DONE]"


def event(type: str, number: Any = None, **fields: Any) -> Dict[str, Any]:
    placed = {} if number is None else {"output_index": number}
    return {"type": f"response.{type}", **placed, **fields}


def created(**more: Any) -> Dict[str, Any]:
    return event("created", response={"id": "r1", "model": "m1", "usage": None, **more})


def completed(*output: Any, **more: Any) -> Dict[str, Any]:
    response = {"id": "r1", "status": "completed", "output": list(output), **more}
    return event("completed", response=response)


def incomplete(reason: Any, *output: Any) -> Dict[str, Any]:
    details = {"reason": reason} if reason else None
    response = {"status": "incomplete", "incomplete_details": details, "output": list(output)}
    return event("incomplete", response=response)


def added(number: Any, item: Dict[str, Any]) -> Dict[str, Any]:
    return event("output_item.added", number, item=item)


def done(number: Any, item: Dict[str, Any]) -> Dict[str, Any]:
    return event("output_item.done", number, item=item)


def text(number: Any, delta: Any, **more: Any) -> Dict[str, Any]:
    return event("output_text.delta", number, delta=delta, content_index=0, **more)


def arguments(number: Any, delta: Any, **more: Any) -> Dict[str, Any]:
    return event("function_call_arguments.delta", number, delta=delta, **more)


def message(*texts: str, id: str = "msg_1", **more: Any) -> Dict[str, Any]:
    content = [{"type": "output_text", "text": text} for text in texts]
    return {"type": "message", "id": id, "role": "assistant", "content": content, **more}


def call(written: Any = "", id: str = "1", name: str = "f", **more: Any) -> Dict[str, Any]:
    ids = {"id": f"fc_{id}", "call_id": f"call_{id}"}
    return {"type": "function_call", **ids, "name": name, "arguments": written, **more}


def reasoning(*summary: str, **more: Any) -> Dict[str, Any]:
    parts = [{"type": "summary_text", "text": text} for text in summary]
    return {"type": "reasoning", "id": "rs_1", "summary": parts, **more}


def summary(number: Any, part: int, delta: str) -> Dict[str, Any]:
    return event("reasoning_summary_text.delta", number, summary_index=part, delta=delta)


def body(*values: Any) -> bytes:
    texts = (value if isinstance(value, str) else json.dumps(value) for value in values)
    return b"".join(f"data: {text}\n\n".encode() for text in texts)


def read(*values: Any) -> Decoded:
    decoded = decode(make_decoder(ROW), [body(*values)])
    check_order(decoded.events)
    return decoded


def calls(*values: Any) -> List[ToolCallRequest]:
    return list(read(*values).response.tool_calls)


# Text and reasoning


def test_the_events_of_a_plain_answer() -> None:
    usage = {
        "input_tokens": 7,
        "output_tokens": 5,
        "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 1},
        "output_tokens_details": {"reasoning_tokens": 2},
    }
    decoded = read(
        created(),
        added(0, message(phase="final_answer")),
        text(0, "Hel"),
        text(0, "lo"),
        done(0, message("Hello", phase="final_answer")),
        completed(message("Hello"), usage=usage),
        DONE,
    )
    assert decoded.events == [
        Started("m1", "r1"),
        Part(0, MessageDelta("Hel")),
        Part(0, MessageDelta("lo")),
        Flush(0, {"id": "msg_1", "phase": "final_answer"}),
        Metered(Usage(7, 5, 2, 3, 1)),
        Finished("stop", {"native": "completed"}),
    ]


def test_paragraphs_of_a_summary_are_a_blank_line_apart() -> None:
    item = reasoning("one", "two", encrypted_content="SECRET")
    decoded = read(
        created(),
        added(0, reasoning()),
        summary(0, 0, "o"),
        summary(0, 0, "ne"),
        summary(0, 1, "two"),
        done(0, item),
        completed(),
    )
    assert decoded.response.blocks == (ReasoningBlock("one\n\ntwo", {"item": item}),)
    whole = collect(read_response({"status": "completed", "output": [item]}, ROW))
    assert whole.response.blocks == decoded.response.blocks


def test_encrypted_reasoning_without_text_is_kept_verbatim() -> None:
    item = reasoning(encrypted_content="SECRET", extra=[1])
    blocks = read(done(0, item), done(1, message("a")), completed()).response.blocks
    assert blocks[0] == OpaqueBlock(item)


@pytest.mark.parametrize("secret", [{}, {"encrypted_content": None}, {"content": []}])
def test_reasoning_that_a_server_would_have_to_look_up_does_not_go_back(secret: Any) -> None:
    shown = read(added(0, reasoning()), summary(0, 0, "hm"), done(0, reasoning(**secret)))
    assert shown.response.blocks == (ReasoningBlock("hm"),)
    assert read(done(0, reasoning(**secret)), completed()).response.blocks == ()


@pytest.mark.parametrize("name", ["reasoning_text.delta", "reasoning.delta"])
def test_raw_reasoning_goes_back(name: str) -> None:
    item = reasoning(content=[{"type": "reasoning_text", "text": "hm"}])
    delta = event(name, 0, delta="hm", content_index=0)
    decoded = read(added(0, reasoning()), delta, done(0, item), completed())
    assert decoded.response.blocks == (ReasoningBlock("hm", {"item": item}),)


def test_silent_reasoning_that_is_finished_late_keeps_its_place() -> None:
    item = reasoning(encrypted_content="SECRET")
    decoded = read(
        added(0, reasoning()),
        added(1, message()),
        text(1, "a"),
        done(1, message("a")),
        done(0, item),
        completed(),
    )
    assert decoded.response.blocks == (
        ReasoningBlock("", {"item": item}),
        TextBlock("a", {"id": "msg_1"}),
    )


def test_text_that_no_delta_brought_is_said_when_its_item_is_done() -> None:
    decoded = read(created(), added(0, message()), done(0, message("a", "b")), completed())
    assert decoded.response.text == "ab"
    no_added = read(created(), done(3, message("a")), completed())
    assert no_added.response.text == "a"


def test_text_in_done_events_is_said_once() -> None:
    whole = event("output_text.done", 0, content_index=0, text="a")
    assert read(added(0, message()), whole, done(0, message("a")), completed()).response.text == "a"
    again = read(added(0, message()), text(0, "a"), whole, done(0, message("a")), completed())
    assert again.response.text == "a"


def test_a_response_that_only_its_last_event_tells() -> None:
    item = reasoning("why", encrypted_content="X")
    final = completed(item, message("a"), call("{}"))
    decoded = read(created(), final)
    assert decoded.response.text == "a" and decoded.response.reasoning == "why"
    assert [call.id for call in decoded.response.tool_calls] == ["call_1"]
    assert decoded.response.stop_reason == "tool_calls"


def test_items_left_open_are_completed_by_the_last_event() -> None:
    server = {"type": "mcp_list_tools", "id": "m1", "tools": []}
    final = completed({**server, "tools": ["t"]}, message("ab", id="other"))
    decoded = read(created(), added(0, server), added(1, message()), text(1, "ab"), final)
    assert decoded.response.text == "ab"
    assert OpaqueBlock({**server, "tools": ["t"]}) in decoded.response.blocks


def test_a_call_that_only_the_last_event_tells() -> None:
    told = (added(0, message()), text(0, "a"), done(0, message("a")))
    last = completed(output=[message("a"), call('{"x": 1}')])
    decoded = read(*told, last)
    assert decoded.response.text == "a"
    assert [c.arguments for c in decoded.response.tool_calls] == [{"x": 1}]
    assert decoded.response.stop_reason == "tool_calls"
    again = completed(output=[message("a"), {**call('{"x": 1}'), "id": "fc_new"}])
    assert len(calls(*told, added(1, call()), done(1, call('{"x": 1}')), again)) == 1


def test_a_stream_joined_in_the_middle() -> None:
    decoded = read(text(0, "lo"), done(0, message("Hello")), completed(model="m1"))
    assert decoded.events[0] == Started()
    assert decoded.response.text == "lo" and decoded.response.model == "m1"
    assert decoded.is_complete


def test_ids_may_change_where_there_is_a_number() -> None:
    decoded = read(
        added(0, message(id="a")),
        text(0, "1", item_id="b"),
        text(0, "2", item_id="c"),
        done(0, message("12", id="d")),
        completed(message("12", id="e")),
    )
    assert decoded.response.blocks == (TextBlock("12", {"id": "d"}),)


def test_without_numbers_items_are_told_apart_by_id() -> None:
    decoded = read(
        added(None, message(id="a")),
        text(None, "1", item_id="a"),
        added(None, call(id="x")),
        arguments(None, "{", item_id="fc_x"),
        text(None, "2", item_id="a"),
        arguments(None, "}", item_id="fc_x"),
        done(None, message("12", id="a")),
        done(None, call("{}", id="x")),
        completed(),
    )
    assert decoded.response.text == "12"
    assert decoded.response.tool_calls == (ToolCallRequest("call_x", "f", {}),)


def test_one_number_for_every_item() -> None:
    decoded = read(
        added(0, reasoning()),
        summary(0, 0, "hm"),
        done(0, reasoning("hm")),
        added(0, message()),
        text(0, "a"),
        done(0, message("a")),
        done(0, message("a")),
        added(0, message(id="msg_2")),
        text(0, "b"),
        done(0, message("b", id="msg_2")),
        completed(),
    )
    assert decoded.response.reasoning == "hm"
    assert decoded.response.text == "a\n\nb"


def test_halves_of_an_emoji_are_joined_across_events() -> None:
    decoded = read(created(), text(0, "\ud83d"), text(0, "\ude00"), text(0, "\ud83d"), completed())
    assert decoded.response.text == "😀\ufffd"


@pytest.mark.parametrize("streamed", [True, False])
def test_a_refusal_is_shown_and_said(streamed: bool) -> None:
    item = {"type": "message", "id": "msg_1", "content": [{"type": "refusal", "refusal": "No."}]}
    delta = event("refusal.delta", 0, content_index=0, delta="No.")
    decoded = read(created(), *([delta] if streamed else []), done(0, item), completed())
    assert decoded.response.blocks == (TextBlock("No.", {"id": "msg_1", "refused": True}),)
    assert decoded.response.stop_reason == "refusal"


# Calls


def test_the_events_of_a_call() -> None:
    decoded = read(
        created(),
        added(0, call()),
        arguments(0, '{"a"'),
        arguments(0, ": 1}"),
        event("function_call_arguments.done", 0, arguments='{"a": 1}'),
        done(0, call('{"a": 1}', status="completed")),
        completed(),
    )
    assert decoded.events[1:] == [
        ToolCallStarted(0, "call_1", "f"),
        ToolArgumentsDelta(0, '{"a"'),
        ToolArgumentsDelta(0, ": 1}"),
        Part(0, ToolCallRequest("call_1", "f", {"a": 1})),
        Flush(0, {"id": "fc_1"}),
        Finished("tool_calls", {"native": "completed"}),
    ]


@pytest.mark.parametrize("in_item", [True, False])
def test_arguments_that_come_whole(in_item: bool) -> None:
    whole = event("function_call_arguments.done", 0, arguments='{"a": 1}')
    decoded = read(
        created(),
        added(0, call()),
        *([] if in_item else [whole]),
        done(0, call('{"a": 1}' if in_item else "")),
        completed(),
    )
    assert decoded.response.tool_calls == (ToolCallRequest("call_1", "f", {"a": 1}),)
    told = [e.text for e in decoded.events if isinstance(e, ToolArgumentsDelta)]
    assert told == ['{"a": 1}']


@pytest.mark.parametrize("nothing", ["", None, {}, "{}"])
def test_no_arguments_are_an_empty_object(nothing: Any) -> None:
    assert calls(done(0, call(nothing)), completed()) == [ToolCallRequest("call_1", "f", {})]


def test_arguments_may_be_an_object() -> None:
    assert calls(done(0, call({"a": "\ud83d"})), completed())[0].arguments == {"a": "\ufffd"}


def test_parallel_calls_may_interleave() -> None:
    first, second = calls(
        added(0, call(id="1")),
        added(1, call(id="2", name="g")),
        arguments(1, '{"b":'),
        arguments(0, '{"a":'),
        arguments(1, "2}"),
        arguments(0, "1}"),
        done(1, call('{"b":2}', id="2", name="g")),
        done(0, call('{"a":1}', id="1")),
        completed(),
    )
    assert first == ToolCallRequest("call_1", "f", {"a": 1})
    assert second == ToolCallRequest("call_2", "g", {"b": 2})


def test_a_call_without_its_name_or_beginning() -> None:
    decoded = read(arguments(0, "{"), arguments(0, "}"), done(0, call("{}")), completed())
    assert decoded.events[1:4] == [
        ToolCallStarted(0, "call_1", "f"),
        ToolArgumentsDelta(0, "{}"),
        Part(0, ToolCallRequest("call_1", "f", {})),
    ]


def test_a_call_without_a_call_id_has_that_of_its_item() -> None:
    item = {"type": "function_call", "id": "fc_1", "name": "f", "arguments": "{}"}
    assert [call.id for call in calls(done(0, item), completed())] == ["fc_1"]


@pytest.mark.parametrize("written", ['{"x":4', "", "[1]"])
def test_a_call_that_the_output_limit_cut_is_kept_raw(written: str) -> None:
    item = call(written, status="incomplete")
    decoded = read(added(0, call()), done(0, item), incomplete("max_output_tokens", item))
    assert decoded.response.tool_calls == (
        ToolCallRequest("call_1", "f", {"raw": written}, written),
    )
    assert decoded.response.stop_reason == "length"


def test_a_call_left_open_by_the_output_limit() -> None:
    cut = calls(added(0, call()), arguments(0, '{"x'), incomplete("max_output_tokens"))
    assert cut == [ToolCallRequest("call_1", "f", {"raw": '{"x'}, '{"x')]
    empty = calls(added(0, call()), incomplete("max_output_tokens"))
    assert empty == [ToolCallRequest("call_1", "f", {"raw": ""}, "")]


def test_arguments_that_are_told_again_after_the_call_are_no_other_call() -> None:
    late = event("function_call_arguments.done", 0, arguments="{}")
    assert len(calls(added(0, call()), done(0, call("{}")), late, completed())) == 1


def test_the_text_of_a_custom_tool_is_never_taken_for_arguments() -> None:
    item = {"type": "custom_tool_call", "id": "ct_1", "call_id": "c1", "name": "sql"}
    delta = event("custom_tool_call_input.delta", 0, delta='{"a":1}')
    decoded = read(added(0, item), delta, done(0, {**item, "input": '{"a":1}'}), completed())
    assert decoded.response.blocks == (
        ToolCallBlock(
            ToolCallRequest("c1", "sql", {"raw": '{"a":1}'}, '{"a":1}'),
            {"type": "custom_tool_call", "id": "ct_1"},
        ),
    )


def test_what_else_a_call_says_is_kept_with_it() -> None:
    item = call("{}", namespace="n", status="completed", odd=None)
    (block,) = read(done(0, item), completed()).response.blocks
    assert isinstance(block, ToolCallBlock)
    assert block.metadata == {"id": "fc_1", "namespace": "n"}


# Other items


def test_items_of_other_kinds_are_kept_verbatim_in_their_place() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "action": {"query": "x"}}
    decoded = read(
        created(),
        added(0, {"type": "web_search_call", "id": "ws_1"}),
        event("web_search_call.searching", 0),
        event("some_future_event", 0, delta="x"),
        done(0, search),
        added(1, message()),
        text(1, "a"),
        event("output_text.annotation.added", 1, annotation={"type": "url_citation"}),
        text(1, "b"),
        done(1, message("ab")),
        completed(),
    )
    assert [e for e in decoded.events if isinstance(e, Part)] == [
        Part(0, Opaque(search)),
        Part(1, MessageDelta("a")),
        Part(1, MessageDelta("b")),
    ]
    assert decoded.response.stop_reason == "stop"


def test_an_item_that_is_nested_too_deeply_is_refused() -> None:
    nested: Any = "x"
    for _ in range(150):
        nested = [nested]
    decoded = read(done(0, {"type": "odd", "value": nested}), completed())
    assert decoded.is_complete
    deeper = {"type": "odd", "value": json.loads("[" * 500 + "]" * 500)}
    assert read(done(0, deeper), text(0, "b")).error is not None
    assert read(text(0, "a"), "[" * 100_000, text(0, "b")).error is not None


# Usage and the end


def test_the_last_report_of_usage_replaces_the_others() -> None:
    progress = event("in_progress", response={"usage": {"input_tokens": 1, "output_tokens": 0}})
    decoded = read(created(), progress, completed(usage={"input_tokens": 2, "output_tokens": 9}))
    assert decoded.response.usage == Usage(2, 9)
    assert read(created(), completed(usage={"input_tokens": True})).response.usage == Usage()


@pytest.mark.parametrize(
    ("said", "reason", "native"),
    [
        ("max_output_tokens", "length", "max_output_tokens"),
        ("content_filter", "content_filter", None),
        ("some_reason", "some_reason", None),
        (None, "incomplete", None),
    ],
)
def test_reasons_of_an_incomplete_response(said: Any, reason: str, native: Any) -> None:
    response = read(created(), text(0, "a"), incomplete(said)).response
    assert response.stop_reason == reason and response.text == "a"
    assert response.details == ({"native": native} if native else {})
    whole = incomplete(said, message("a"))["response"]
    assert collect(read_response(whole, ROW)).response.stop_reason == reason


def test_a_cancelled_response_is_interrupted() -> None:
    decoded = read(created(), added(0, call()), event("cancelled", response={"status": None}))
    assert decoded.response.stop_reason == "interrupted" and not decoded.is_complete
    assert decoded.response.details == {"native": "cancelled"}
    assert not any(isinstance(e, Part) for e in decoded.events)


def test_nothing_counts_after_the_end() -> None:
    decoder = make_decoder(ROW)
    for value in (created(), text(0, "a")):
        list(decoder.feed(Message("", json.dumps(value))))
    assert not decoder.ending and not decoder.done
    list(decoder.feed(Message("", json.dumps(completed()))))
    assert decoder.ending and decoder.done
    assert list(decoder.feed(Message("", json.dumps(text(0, "b"))))) == []
    assert list(decoder.close()) == []


@pytest.mark.parametrize("end", [[], [DONE]])
def test_without_its_last_event_the_answer_is_interrupted(end: List[str]) -> None:
    decoded = read(created(), text(0, "a"), added(1, call()), arguments(1, "{}"), *end)
    assert decoded.response.stop_reason == "interrupted" and not decoded.is_complete
    assert not any(isinstance(e, Flush) for e in decoded.events)
    assert decoded.response.text == "a"


def test_signs_of_life_say_nothing() -> None:
    queued = event("queued", response={"id": "r1", "model": "m1", "status": "queued"})
    events = read(queued, {"type": "keepalive"}, ": still here", completed()).events
    assert events[:-1] == [Started("m1", "r1"), KeepAlive(), KeepAlive(), KeepAlive()]


# Errors


FAILURE = {"code": "insufficient_quota", "message": "You exceeded your current quota."}


@pytest.mark.parametrize(
    "values",
    [
        [{"type": "error", **FAILURE, "param": None}],
        [{"type": "error", "error": {"type": "insufficient_quota", **FAILURE}}],
        [{"error": FAILURE}],
        [event("failed", response={"status": "failed", "error": FAILURE})],
        [
            {"type": "error", "error": FAILURE},
            event("failed", response={"status": "failed", "error": FAILURE}),
        ],
        [completed(status="failed", error=FAILURE)],
    ],
)
def test_a_failure_is_told_once_after_what_came_before_it(values: Any) -> None:
    decoded = read(created(), text(0, "a"), *values)
    assert decoded.response.text == "a"
    assert decoded.error is not None and decoded.error.kind is ErrorKind.QUOTA
    assert "You exceeded your current quota." in decoded.error.message


def test_an_event_named_error_is_raised_whatever_it_holds() -> None:
    for data in ('{"message": "boo"}', "boo", '["boo"]'):
        decoded = decode(make_decoder(ROW), [f"event: error\ndata: {data}\n\n".encode()])
        assert decoded.error is not None and "boo" in decoded.error.message


def test_usage_of_a_failure_is_told() -> None:
    response = {"status": "failed", "error": FAILURE, "usage": {"output_tokens": 4}}
    assert read(event("failed", response=response)).response.usage == Usage(output_tokens=4)


def test_a_failure_without_words() -> None:
    error = read(event("failed", response={"status": "failed", "error": None})).error
    assert error is not None and error.kind is ErrorKind.SERVER


def test_data_that_is_not_json() -> None:
    cut = read(created(), text(0, "a"), '{"type": "resp')
    assert cut.error is None and cut.response.text == "a" and not cut.is_complete
    middle = read(created(), text(0, "a"), "<oops>", text(0, "b"))
    assert middle.error is not None and "<oops>" in middle.error.message


# Replies that are not streamed


@pytest.mark.parametrize("value", [{}, {"id": "r1"}, {"output": "x"}, [], None, {"choices": []}])
def test_a_whole_reply_without_an_answer_is_an_error(value: Any) -> None:
    error = collect(read_response(value, ROW)).error
    assert error is not None and error.kind is ErrorKind.MALFORMED


def test_an_error_in_a_whole_reply_is_raised() -> None:
    for value in ({"error": FAILURE}, {"status": "failed", "error": FAILURE, "output": []}):
        error = collect(read_response(value, ROW)).error
        assert error is not None and error.kind is ErrorKind.QUOTA


def test_a_whole_reply_that_is_not_finished_is_interrupted() -> None:
    value = {"id": "r1", "status": "in_progress", "output": []}
    assert collect(read_response(value, ROW)).response.stop_reason == "interrupted"


# Whatever may come


TEXTS = st.text(max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
TYPES = [
    "created",
    "output_item.added",
    "output_item.done",
    "output_text.delta",
    "output_text.done",
    "refusal.delta",
    "reasoning_summary_text.delta",
    "reasoning_text.delta",
    "function_call_arguments.delta",
    "function_call_arguments.done",
    "custom_tool_call_input.delta",
    "completed",
    "incomplete",
    "failed",
]


def record(**fields: Any) -> Any:
    """Objects with some of ``fields``, now and then something else in their place."""
    return st.fixed_dictionaries({}, optional={k: v | JSON for k, v in fields.items()})


IDS = st.sampled_from(["a", "b", ""])
CONTENT = record(
    type=st.sampled_from(["output_text", "refusal", "summary_text", "reasoning_text"]),
    text=TEXTS,
    refusal=TEXTS,
)
ITEM = record(
    type=st.sampled_from(["message", "reasoning", "function_call", "custom_tool_call", "odd"]),
    id=IDS,
    call_id=IDS,
    name=st.sampled_from(["f", ""]),
    arguments=st.sampled_from(["{", "{}", ""]),
    input=TEXTS,
    content=st.lists(CONTENT, max_size=2),
    summary=st.lists(CONTENT, max_size=2),
    encrypted_content=TEXTS,
    status=st.sampled_from(["completed", "incomplete"]),
)
RESPONSE = record(
    id=IDS,
    model=TEXTS,
    status=st.sampled_from(["completed", "incomplete", "failed", "queued"]),
    output=st.lists(ITEM, max_size=3),
    usage=record(input_tokens=JSON, input_tokens_details=JSON),
    incomplete_details=record(reason=TEXTS),
    error=record(code=TEXTS, message=TEXTS),
)
EVENT = record(
    type=st.sampled_from([f"response.{type}" for type in TYPES]),
    output_index=st.integers(0, 2),
    content_index=st.integers(0, 1),
    summary_index=st.integers(0, 1),
    item_id=IDS,
    item=ITEM,
    delta=TEXTS | st.sampled_from(["\ud83d", "\ude00"]),
    text=TEXTS,
    arguments=TEXTS,
    response=RESPONSE,
)
PLAIN = record(
    type=st.sampled_from([f"response.{type}" for type in TYPES[1:-3]]),
    output_index=st.integers(0, 2),
    item=ITEM,
    delta=TEXTS,
)


@given(st.lists(EVENT | PLAIN | JSON | st.just(DONE), max_size=12))
def test_no_event_raises_anything_but_a_stream_error(values: List[Any]) -> None:
    decoded = read(*values)
    if decoded.error is None:
        assert isinstance(decoded.events[-1], Finished)
    json.dumps(decoded.events, ensure_ascii=False).encode()  # nothing that cannot be stored


@given(JSON | RESPONSE)
def test_no_whole_reply_raises_anything_but_a_stream_error(value: Any) -> None:
    check_order(collect(read_response(value, ROW)).events)


@given(st.lists(EVENT | PLAIN, max_size=8), st.integers(1, 9))
def test_the_pieces_it_arrives_in_make_no_difference(values: List[Any], size: int) -> None:
    whole = read(*values)
    cut_up = decode(make_decoder(ROW), pieces(body(*values), size))
    assert cut_up.events == whole.events
    assert str(cut_up.error) == str(whole.error)


@given(st.lists(ITEM, max_size=4))
def test_any_whole_response_equals_its_stream(items: List[Any]) -> None:
    final = completed(*items)
    streamed = read(*(done(number, item) for number, item in enumerate(items)), final)
    whole = collect(read_response(final["response"], ROW))
    assert whole.response._replace(model=None) == streamed.response._replace(model=None)


def test_reasoning_delta_with_nothing_to_say_is_only_a_place() -> None:
    decoded = read(added(0, reasoning()), text(1, "a"), done(0, reasoning()), completed())
    assert decoded.events[1] == Part(0, ReasoningDelta(""))
    assert decoded.response.reasoning == "" and decoded.response.text == "a"


def test_items_without_ids_are_told_apart_by_their_numbers() -> None:
    nameless = {"type": "message", "content": []}
    decoded = read(
        added(0, nameless),
        added(1, nameless),
        text(0, "a"),
        text(1, "b"),
        text(0, "c"),
        completed(),
    )
    assert decoded.response.blocks == (TextBlock("ac"), TextBlock("b"))
