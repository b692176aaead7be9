"""What the Gemini decoder makes of what servers send, case by case and at random."""

from __future__ import annotations

import json
from typing import Any, Dict, List

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.events.parts import (
    Finished,
    Flush,
    KeepAlive,
    MessageDelta,
    Metered,
    Opaque,
    Part,
    ToolArgumentsDelta,
    ToolCallStarted,
)
from jpq.events.transcript import OpaqueBlock, ReasoningBlock, TextBlock, ToolCallBlock
from jpq.events.usage import Usage
from jpq.provider.base import ProviderRow
from jpq.provider.google import make_decoder, read_response
from jpq.wire import sse
from tests.support.decoding import Decoded, check_order, collect, decode, pieces

ROW = ProviderRow("acme", "google", "https://gemini.test/v1beta")


def chunk(*parts: Any, finish: str = "", **fields: Any) -> Dict[str, Any]:
    candidate: Dict[str, Any] = {"content": {"parts": list(parts), "role": "model"}}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], **fields}


def say(text: str, **fields: Any) -> Dict[str, Any]:
    return {"text": text, **fields}


def call(name: str, args: Any = None, **fields: Any) -> Dict[str, Any]:
    function = {"name": name} if args is None else {"name": name, "args": args}
    return {"functionCall": function, **fields}


def more(*pieces: Dict[str, Any], goes_on: bool = True, **fields: Any) -> Dict[str, Any]:
    """A part that goes on with a call."""
    function: Dict[str, Any] = {**fields, "partialArgs": list(pieces)}
    if goes_on:
        function["willContinue"] = True
    return {"functionCall": function}


def piece(path: str, value: Any, goes_on: bool = False) -> Dict[str, Any]:
    kinds = {str: "stringValue", bool: "boolValue", int: "numberValue", float: "numberValue"}
    kind = kinds.get(type(value), "nullValue")
    found = {"jsonPath": path, kind: "NULL_VALUE" if value is None else value}
    return {**found, "willContinue": True} if goes_on else found


def body(*values: Any) -> bytes:
    lines = (v if isinstance(v, str) else json.dumps(v) for v in values)
    return "".join(f"data: {line}\r\n\r\n" for line in lines).encode()


def read(*values: Any) -> Decoded:
    decoded = decode(make_decoder(ROW), [body(*values)])
    check_order(decoded.events)
    return decoded


def test_text_is_passed_on_as_it_comes() -> None:
    events = read(
        chunk(say("Hel"), modelVersion="m", responseId="r"), chunk(say("lo")), chunk(finish="STOP")
    ).events
    assert events[1:] == [
        Part(0, MessageDelta("Hel")),
        Part(0, MessageDelta("lo")),
        Flush(0),
        Finished("stop", {"native": "STOP"}),
    ]
    assert events[0] == events[0].__class__("m", "r")


def test_the_end_is_near_with_a_finish_reason_and_there_with_the_last_byte() -> None:
    decoder = make_decoder(ROW)
    seen = []
    for value in (chunk(say("a")), chunk(say("b"), finish="STOP")):
        for message in sse.messages([body(value)]):
            list(decoder.feed(message))
        seen.append((decoder.ending, decoder.done))
    assert seen == [(False, False), (True, False)]
    assert list(decoder.close())[-1] == Finished("stop", {"native": "STOP"})
    assert decoder.done and not list(decoder.close())


def test_thoughts_are_reasoning() -> None:
    blocks = read(
        chunk(say("Let me ", thought=True)),
        chunk(say("see.", thought=True), say("42")),
        chunk(say("", thoughtSignature="s"), finish="STOP"),
    ).response.blocks
    assert blocks == (
        ReasoningBlock("Let me see."),
        TextBlock("42", {"parts": [say("42"), say("", thoughtSignature="s")]}),
    )


def test_a_signed_text_is_text_and_keeps_its_parts_apart() -> None:
    signed = say("b", thoughtSignature="s1")
    bare = {"thoughtSignature": "s2"}
    blocks = read(
        chunk(say("a"), say("a")), chunk(signed, bare), chunk(say("c")), chunk(finish="STOP")
    ).response.blocks
    assert blocks == (TextBlock("aabc", {"parts": [say("aa"), signed, bare, say("c")]}),)


def test_a_signature_that_belongs_to_no_text_is_kept_alone() -> None:
    empty, bare = say("", thoughtSignature="s1"), {"thoughtSignature": "s2"}
    blocks = read(chunk(call("f")), chunk(empty), chunk(bare, finish="STOP")).response.blocks
    assert [block.data for block in blocks if isinstance(block, OpaqueBlock)] == [empty, bare]


def test_a_signed_thought_keeps_its_parts() -> None:
    signed = say("", thought=True, thoughtSignature="s")
    blocks = read(chunk(say("Hm.", thought=True), signed), chunk(finish="STOP")).response.blocks
    assert blocks == (ReasoningBlock("Hm.", {"parts": [say("Hm.", thought=True), signed]}),)


def test_parts_nobody_knows_are_kept_verbatim() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "print(1)"}}
    result = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}
    image = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}, "thoughtSignature": "s"}
    decoded = read(
        chunk(say("Look:"), code, result), chunk(say("1"), image, {"odd": 1}, finish="STOP")
    )
    kept = [block.data for block in decoded.response.blocks if isinstance(block, OpaqueBlock)]
    assert kept == [code, result, image, {"odd": 1}]
    assert decoded.response.text == "Look:\n\n1"
    assert Part(1, Opaque(code)) in decoded.events


def test_calls_without_ids_get_ids_that_differ() -> None:
    decoded = read(chunk(call("f", {"a": 1}, thoughtSignature="s"), call("f"), responseId="R-1_x"))
    first, second = decoded.response.blocks
    assert isinstance(first, ToolCallBlock) and isinstance(second, ToolCallBlock)
    ids = (first.call.id, second.call.id)
    assert ids == ("call_90fd2b67_1", "call_90fd2b67_2")  # made of the response's id
    assert (first.call.arguments, second.call.arguments) == ({"a": 1}, {})
    assert (first.metadata, second.metadata) == ({"thoughtSignature": "s"}, {})
    assert read(chunk(call("f"))).response.tool_calls[0].id == "call_1"


def test_an_id_that_was_given_is_kept() -> None:
    given = {"functionCall": {"name": "f", "args": {}, "id": "fc/1"}}
    first, again = read(chunk(given, given, finish="STOP")).response.blocks
    assert isinstance(first, ToolCallBlock) and isinstance(again, ToolCallBlock)
    assert (first.call.id, again.call.id) == ("fc/1", "call_2")
    assert first.metadata == again.metadata == {"id": "fc/1"}


def test_a_call_is_announced_before_its_arguments() -> None:
    events = read(chunk(call("f", {"a": "é"}), finish="STOP")).events
    kinds = [type(event) for event in events[1:]]
    assert kinds == [ToolCallStarted, ToolArgumentsDelta, Part, Flush, Finished]
    assert events[2] == ToolArgumentsDelta(0, '{"a": "é"}')


@pytest.mark.parametrize("args", ["text", [1], 5, False])
def test_arguments_that_are_no_object_are_kept_and_never_run(args: Any) -> None:
    (made,) = read(chunk(call("f", args), finish="STOP")).response.tool_calls
    assert made.raw == json.dumps(args)


@pytest.mark.parametrize("last", [[], [{"functionCall": {}}]])
def test_arguments_in_pieces_are_put_together_by_their_paths(last: List[Any]) -> None:
    parts = [
        {"functionCall": {"name": "f", "willContinue": True}, "thoughtSignature": "s"},
        more(piece("$.items[0].name", "ap", goes_on=True)),
        more(piece("$.items[0].name", "ple", goes_on=True)),
        more(piece("$.items[0].name", "")),
        more(piece("$.items[0].price", 0.5), piece("$.items[1].name", "pear")),
        more(piece("$['a key'][\"b.c\"]", True), piece("$.none", None)),
        *last,
    ]
    decoded = read(*map(chunk, parts), chunk(say(""), finish="STOP"))
    (block,) = decoded.response.blocks
    assert isinstance(block, ToolCallBlock) and block.metadata == {"thoughtSignature": "s"}
    assert block.call.raw is None
    assert block.call.arguments == {
        "items": [{"name": "apple", "price": 0.5}, {"name": "pear"}],
        "a key": {"b.c": True},
        "none": None,
    }
    deltas = [event for event in decoded.events if isinstance(event, ToolArgumentsDelta)]
    assert len(deltas) == 7, "every part shows that the answer goes on"
    assert json.loads("".join(delta.text for delta in deltas)) == block.call.arguments


def test_a_part_may_repeat_the_name_of_the_call_it_goes_on_with() -> None:
    decoded = read(
        chunk(more(piece("$.a", "x", goes_on=True), name="f", id="1")),
        chunk(more(piece("$.a", "y"), name="f", id="1")),
        chunk(more(piece("$.b", 2), name="f", goes_on=False)),
        chunk({"functionCall": {"name": "f", "willContinue": True}}),
        chunk(call("g"), finish="STOP"),
    )
    made = [(made.name, made.arguments) for made in decoded.response.tool_calls]
    assert made == [("f", {"a": "xy", "b": 2}), ("f", {}), ("g", {})]


@pytest.mark.parametrize(
    "path", ["a", "$", "$.a[5]", "$[0]", "$.a..b", "$.a[-1]", "$" + ".a" * 100, "$.a.b[1]", 7, None]
)
def test_a_piece_that_fits_nowhere_makes_a_call_that_is_never_run(path: Any) -> None:
    first, second = piece("$.a.b", "x"), {"jsonPath": path, "stringValue": "y"}
    decoded = read(chunk(more(first, second, name="f", goes_on=False), finish="STOP"))
    (made,) = decoded.response.tool_calls
    assert made.raw is not None and decoded.response.stop_reason == "tool_calls"


def test_a_call_that_the_output_limit_cut_is_never_run() -> None:
    started = chunk(more(piece("$.a", "x", goes_on=True), name="f"))
    (made,) = read(started, chunk(finish="MAX_TOKENS")).response.tool_calls
    assert made.raw == '{"a": "x"}'


def test_what_a_cut_leaves_open() -> None:
    decoded = read(chunk(call("whole", {"a": 1}), more(piece("$.a", "x"), name="open")))
    whole, opened = decoded.response.blocks
    assert isinstance(whole, ToolCallBlock) and isinstance(opened, ToolCallBlock)
    assert (whole.finished, opened.finished) == (True, False)
    assert decoded.events[-1] == Finished("interrupted")


@pytest.mark.parametrize(
    "native, reason",
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("BLOCKLIST", "content_filter"),
        ("SPII", "content_filter"),
        ("IMAGE_SAFETY", "content_filter"),
        ("MALFORMED_FUNCTION_CALL", "error"),
        ("UNEXPECTED_TOOL_CALL", "error"),
        ("OTHER", "error"),
        ("SOMETHING_NEW", "SOMETHING_NEW"),
        ("FINISH_REASON_UNSPECIFIED", "interrupted"),
    ],
)
def test_finish_reasons(native: str, reason: str) -> None:
    bare = {"candidates": [{"finishReason": native, "finishMessage": "Because."}]}
    response = read(bare).response
    assert response.stop_reason == reason
    if reason not in (native, "interrupted"):
        assert response.details["native"] == native
    assert response.details.get("message") == (
        None if reason in ("stop", "interrupted") else "Because."
    )


def test_max_tokens_without_parts_and_a_stop_without_text() -> None:
    spent = {"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}]}
    assert read(spent).response[:2] == ((), "length")
    assert read(chunk(say(""), finish="STOP")).response[:2] == ((), "stop")


def test_a_blocked_prompt_is_filtered() -> None:
    feedback = {"blockReason": "OTHER", "blockReasonMessage": "Not that."}
    response = read({"promptFeedback": feedback}).response
    assert response.stop_reason == "content_filter"
    assert response.details == {"native": "OTHER", "message": "Not that."}


def test_a_finish_reason_that_came_too_early_is_not_the_end() -> None:
    first, second = chunk(say("a"), finish="STOP"), chunk(say("b"))
    assert not read(first, second).is_complete
    assert read(first, second, chunk(finish="STOP")).response.text == "ab"
    signature = chunk(say("", thoughtSignature="s"))
    assert read(first, signature).is_complete, "a signature behind the answer says nothing"


def test_a_stop_while_code_runs_is_not_the_end_but_a_limit_is() -> None:
    code = {"executableCode": {"code": "1"}}
    assert not read(chunk(code, finish="STOP")).is_complete
    assert read(chunk(code, finish="MAX_TOKENS")).response.stop_reason == "length"
    assert read(chunk(code), chunk(say("a"), finish="STOP")).is_complete


def test_only_the_first_candidate_is_read() -> None:
    other = {"index": 1, "content": {"parts": [say("other")]}, "finishReason": "STOP"}
    value = {"candidates": [other, {"index": 0, "content": {"parts": [say("first")]}}]}
    decoded = read(value)
    assert decoded.response.text == "first" and not decoded.is_complete


def test_counts_replace_each_other_and_thoughts_are_output() -> None:
    decoded = read(
        chunk(say("a"), usageMetadata={"promptTokenCount": 15, "thoughtsTokenCount": 7}),
        chunk(say("b"), usageMetadata={"trafficType": "ON_DEMAND"}),
        chunk(
            finish="STOP",
            usageMetadata={
                "promptTokenCount": 13,
                "candidatesTokenCount": 2,
                "toolUsePromptTokenCount": 5,
                "cachedContentTokenCount": 4,
            },
        ),
    )
    reports = [event.usage for event in decoded.events if isinstance(event, Metered)]
    assert reports == [Usage(15, 7, 7), Usage(18, 9, 7, 4)]
    assert decoded.response.usage == reports[-1]


@pytest.mark.parametrize("wrap", [lambda e: e, lambda e: [e]])
def test_an_error_after_text(wrap: Any) -> None:
    error = {"error": {"code": 503, "message": "Overloaded.", "status": "UNAVAILABLE"}}
    decoded = read(chunk(say("a"), finish="STOP"), wrap(error))
    assert decoded.error is not None and decoded.error.kind.word == "overloaded"
    assert decoded.response.text == "a" and not decoded.is_complete


def test_an_error_that_is_no_event_is_heard() -> None:
    error = b'{\n  "error": {\n    "code": 499,\n    "message": "Cancelled."\n  }\n}\n'
    decoded = decode(make_decoder(ROW), [body(chunk(say("a"))) + error])
    assert decoded.error is not None and "Cancelled." in decoded.error.message


def test_what_is_not_json_in_the_middle_is_an_error_and_at_the_end_a_cut() -> None:
    assert read(chunk(say("a")), '{"cand').error is None
    error = read(chunk(say("a")), '{"cand', chunk(say("b"))).error
    assert error is not None and error.kind.word == "cut"
    assert read(chunk(say("a"), finish="STOP"), "[DONE]").is_complete
    assert KeepAlive() in read(chunk(say("a")), ": PING").events


def test_an_emoji_cut_in_two_is_joined() -> None:
    decoded = read(
        chunk(say("a\ud83d")), chunk(say("\ude00")), chunk(say("b\ud83d"), finish="STOP")
    )
    assert decoded.response.text == "a😀b\ufffd"
    signed = say("\ude00", thoughtSignature="s")
    (block,) = read(chunk(say("\ud83d"), signed, finish="STOP")).response.blocks
    assert isinstance(block, TextBlock)
    assert block.text == "".join(part["text"] for part in block.metadata["parts"])


@pytest.mark.parametrize("value", [{}, [], [1], {"models": []}, None, "text"])
def test_a_whole_reply_without_an_answer_is_an_error(value: Any) -> None:
    error = collect(read_response(value, ROW)).error
    assert error is not None and error.kind.word == "malformed"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=4,
)


def record(required: Dict[str, Any], **fields: Any) -> Any:
    return st.fixed_dictionaries(required, optional={k: v | JSON for k, v in fields.items()})


PATHS = st.sampled_from(["$.a", "$.a[0]", "$.a[1].b", "$.b", "x"])
PIECE = record({"jsonPath": PATHS}, stringValue=st.text(max_size=2), willContinue=st.just(True))
FUNCTION = record(
    {},
    name=st.sampled_from(["f", "g", ""]),
    id=st.sampled_from(["1", "2"]),
    args=st.just({"a": 1}),
    partialArgs=st.lists(PIECE, max_size=2),
    willContinue=st.just(True),
)
TEXTS = st.sampled_from(["", "a", "\n", "é", "\ud83d", "\ude00"])
ANY_PART = st.one_of(
    record({"text": TEXTS}),
    record({}, text=TEXTS, thought=st.just(True), thoughtSignature=st.just("s")),
    record({"functionCall": FUNCTION}, thoughtSignature=st.just("s")),
    record({}, executableCode=st.just({"code": "1"}), codeExecutionResult=st.just({})),
)
ANY_CANDIDATE = record(
    {},
    content=record({}, parts=st.lists(ANY_PART | JSON, max_size=3)),
    finishReason=st.sampled_from(["STOP", "MAX_TOKENS", "NEW"]),
    index=st.integers(0, 1),
)
ANY_CHUNK = record(
    {},
    candidates=st.lists(ANY_CANDIDATE | JSON, max_size=2),
    usageMetadata=record({}, promptTokenCount=st.integers(), thoughtsTokenCount=st.integers(0, 9)),
    promptFeedback=record({}, blockReason=st.just("SAFETY")),
    modelVersion=st.just("m"),
    responseId=st.just("r"),
)
STREAM = st.lists(ANY_CHUNK, max_size=5)


@given(st.lists(ANY_CHUNK | JSON, max_size=5))
def test_no_event_raises_anything_but_a_stream_error(values: List[Any]) -> None:
    decoded = read(*values)
    assert decoded.error is not None or isinstance(decoded.events[-1], Finished)
    ids = [made.id for made in decoded.response.tool_calls]
    assert all(ids) and len(set(ids)) == len(ids)
    repr(decoded.response).encode("ascii", "backslashreplace")
    json.dumps(decoded.response.text, ensure_ascii=False).encode()


@given(ANY_CHUNK | JSON | st.lists(ANY_CHUNK, max_size=3))
def test_no_whole_reply_raises_anything_but_a_stream_error(value: Any) -> None:
    check_order(collect(read_response(value, ROW)).events)


@given(STREAM, st.integers(1, 40))
def test_the_pieces_it_arrives_in_make_no_difference(values: List[Any], size: int) -> None:
    sent = body(*values)
    whole, split = read(*values), decode(make_decoder(ROW), pieces(sent, size))
    assert split.events == whole.events
    assert str(split.error) == str(whole.error)


def test_deep_nesting_fails_as_an_error_or_as_a_call_of_its_own() -> None:
    deep = "[" * 5000 + "]" * 5000
    value = json.dumps(chunk(call("f", {"a": "DEEP"}))).replace('"DEEP"', deep)
    decoded = read(chunk(say("a")), value, chunk(finish="STOP"))
    assert decoded.response.text == "a"
    assert decoded.error is not None or len(decoded.response.tool_calls) == 1


def test_text_beside_a_failure_is_no_complete_answer() -> None:
    decoded = read(chunk(say("Let me see"), call("f", {"a": 1}), finish="UNEXPECTED_TOOL_CALL"))
    assert not decoded.is_complete
    assert decoded.response.text == "Let me see"
    assert decoded.response.stop_reason == "error"
    check_order(decoded.events)
