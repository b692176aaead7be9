"""What the messages decoder makes of streams that no recording shows."""

from __future__ import annotations

import json
from typing import Any, Dict, List

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.events.parts import Finished, KeepAlive, Metered, Started
from jpq.events.transcript import OpaqueBlock, ReasoningBlock, TextBlock
from jpq.events.usage import Usage
from jpq.provider.anthropic import make_decoder, read_response
from jpq.provider.base import ProviderRow
from tests.support.decoding import Decoded, check_order, collect, decode, pieces

ROW = ProviderRow("acme", "anthropic")
STOP: Dict[str, Any] = {"type": "message_stop"}


def start(id: str = "m1", **usage: Any) -> Dict[str, Any]:
    message = {"id": id, "model": "claude", "content": [], "usage": usage}
    return {"type": "message_start", "message": message}


def block(index: int, kind: str, **fields: Any) -> Dict[str, Any]:
    content = {"type": kind, **fields}
    return {"type": "content_block_start", "index": index, "content_block": content}


def delta(index: int, kind: str, **fields: Any) -> Dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def say(index: int, text: str) -> Dict[str, Any]:
    return delta(index, "text_delta", text=text)


def stop(index: int) -> Dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def end(reason: str = "end_turn", **usage: Any) -> Dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


def body(*values: Any) -> bytes:
    written = (v if isinstance(v, str) else json.dumps(v) for v in values)
    return b"".join(b"data: " + text.encode("utf-8", "replace") + b"\n\n" for text in written)


def read(*values: Any) -> Decoded:
    decoded = decode(make_decoder(ROW), [body(*values)])
    check_order(decoded.events)
    return decoded


def test_text_is_passed_on_as_it_comes() -> None:
    decoder = make_decoder(ROW)
    seen: List[int] = []
    for value in (start(), block(0, "text", text=""), say(0, "a"), say(0, "b")):
        decoded = decode(decoder, [body(value)])
        seen.append(len(decoded.response.text))
    assert seen == [0, 0, 1, 1]


def test_blocks_of_text_in_a_row_are_one_text() -> None:
    decoded = read(
        *(start(), block(0, "text", text=""), say(0, "It is "), stop(0)),
        *(block(1, "text", text="", citations=[]), delta(1, "citations_delta", citation={"u": 1})),
        *(say(1, "blue"), stop(1), block(2, "text", text="."), stop(2), end(), STOP),
    )
    (text,) = decoded.response.blocks
    assert isinstance(text, TextBlock)
    assert text.text == "It is blue."
    assert text.metadata == {
        "blocks": [
            {"type": "text", "text": "It is "},
            {"type": "text", "text": "blue", "citations": [{"u": 1}]},
            {"type": "text", "text": "."},
        ]
    }


def test_reasoning_keeps_its_signature_and_whatever_else_it_has() -> None:
    thought = block(0, "thinking", thinking="", signature="", form="new")
    decoded = read(
        *(start(), thought, delta(0, "thinking_delta", thinking="Hm.")),
        *(delta(0, "signature_delta", signature="s1"), stop(0)),
        *(block(1, "thinking", thinking="Ah.", signature="s2"), stop(1), end(), STOP),
    )
    assert decoded.response.blocks == (
        ReasoningBlock("Hm.", {"signature": "s1", "form": "new"}),
        ReasoningBlock("Ah.", {"signature": "s2"}),
    )


def test_a_signature_without_reasoning_is_kept_and_nothing_is_shown() -> None:
    decoded = read(start(), delta(0, "signature_delta", signature="s"), stop(0), end(), STOP)
    assert decoded.response.blocks == (
        OpaqueBlock({"type": "thinking", "signature": "s", "thinking": ""}),
    )


def test_reasoning_that_says_nothing_is_nothing() -> None:
    assert (
        read(start(), block(0, "thinking", thinking=""), stop(0), end(), STOP).response.blocks == ()
    )


def test_a_lost_beginning_loses_no_text() -> None:
    decoded = read(say(0, "a"), delta(1, "thinking_delta", thinking="b"), end(), STOP)
    assert (decoded.response.text, decoded.response.reasoning) == ("a", "b")


def test_calls_that_are_written_at_the_same_time() -> None:
    decoded = read(
        start(),
        block(0, "tool_use", id="a", name="f"),
        block(1, "thinking", thinking="hm"),
        delta(0, "input_json_delta", partial_json='{"x":'),
        delta(1, "signature_delta", signature="S"),
        block(2, "tool_use", id="b", name="g"),
        delta(2, "input_json_delta", partial_json='{"y": 2}'),
        delta(0, "input_json_delta", partial_json=" 1}"),
        stop(0),
        stop(2),
        end("tool_use"),
        STOP,
    )
    calls = [(c.id, c.arguments, c.raw) for c in decoded.response.tool_calls]
    assert calls == [("a", {"x": 1}, None), ("b", {"y": 2}, None)]
    assert ReasoningBlock("hm", {"signature": "S"}) in decoded.response.blocks


def test_a_summary_of_the_conversation_is_kept_whole() -> None:
    decoded = read(
        start(),
        block(0, "compaction", content=None),
        delta(0, "compaction_delta", content="They asked ", encrypted_content=None),
        delta(0, "compaction_delta", content="for tea.", encrypted_content="SECRET"),
        stop(0),
        end("compaction"),
        STOP,
    )
    kept = {"type": "compaction", "content": "They asked for tea.", "encrypted_content": "SECRET"}
    assert decoded.response.blocks == (OpaqueBlock(kept),)
    assert decoded.response.stop_reason == "pause_turn"  # it goes on when it is asked again


def test_a_fragment_of_no_call_is_dropped() -> None:
    fragment = delta(0, "input_json_delta", partial_json="{")
    assert read(start(), fragment, end(), STOP).response.blocks == ()


@pytest.mark.parametrize(
    "reason, arguments, raw",
    [("tool_use", {}, None), ("max_tokens", {"raw": ""}, ""), ("end_turn", {}, None)],
)
def test_no_arguments_are_an_empty_object_unless_the_answer_was_cut(
    reason: str, arguments: Any, raw: Any
) -> None:
    call = block(0, "tool_use", id="t1", name="now", input={})
    response = read(
        start(), call, delta(0, "input_json_delta", partial_json=""), stop(0), end(reason), STOP
    ).response
    (made,) = response.tool_calls
    assert (made.arguments, made.raw) == (arguments, raw)
    assert response.stop_reason == ("length" if reason == "max_tokens" else "tool_calls")


def test_only_the_last_call_can_be_cut() -> None:
    first, second = (block(n, "tool_use", id=f"t{n}", name="now") for n in (0, 1))
    calls = read(start(), first, second, end("max_tokens"), STOP).response.tool_calls
    assert [call.raw for call in calls] == [None, ""]


def test_arguments_may_come_whole_and_as_text() -> None:
    given = ({"a": 1}, '{"a": 1}', [1])
    calls = [block(n, "tool_use", id="t", name="f", input=v) for n, v in enumerate(given)]
    made = read(start(), *calls, end("tool_use"), STOP).response.tool_calls
    assert [call.arguments for call in made] == [{"a": 1}, {"a": 1}, {"raw": "[1]"}]


def test_counts_replace_each_other_and_nulls_say_nothing() -> None:
    decoded = read(
        start(input_tokens=0, output_tokens=1, cache_read_input_tokens=7),
        end(input_tokens=32, output_tokens=5, cache_read_input_tokens=None),
        STOP,
    )
    metered = [event.usage for event in decoded.events if isinstance(event, Metered)]
    assert metered == [Usage(0, 1, None, 7), Usage(32, 5, None, 7)]


def test_a_repeated_beginning_is_passed_over() -> None:
    decoded = read(start(), start(), block(0, "text", text="a"), start(), say(0, "b"), end(), STOP)
    assert decoded.response.text == "ab"
    assert sum(isinstance(event, Started) for event in decoded.events) == 1


def test_a_second_answer_in_the_same_body_is_a_cut_of_the_first() -> None:
    call = block(0, "tool_use", id="t", name="f")
    decoded = read(
        start(), call, delta(0, "input_json_delta", partial_json='{"city": "Spa'), start("m2")
    )
    assert decoded.error is not None and decoded.error.retryable
    assert decoded.error.kind.word == "cut"


def test_a_second_answer_before_the_first_said_anything_replaces_it() -> None:
    decoded = read(start(), start("m2"), block(0, "text", text="a"), end(), STOP)
    assert decoded.error is None
    assert (decoded.response.text, decoded.response.message_id) == ("a", "m2")


def test_a_stop_reason_alone_is_not_the_end() -> None:
    decoder = make_decoder(ROW)
    decoded = decode(decoder, [body(start(), block(0, "text", text="a"), stop(0), end())])
    assert decoder.ending and not decoder.done
    assert decoded.response.stop_reason == "interrupted"


def test_done_ends_an_answer() -> None:
    assert read(start(), block(0, "text", text="a"), end(), "[DONE]").is_complete
    after = read(start(), end(), STOP, "[DONE]")
    assert after.is_complete and isinstance(after.events[-1], Finished)


@pytest.mark.parametrize(
    "native, reason",
    [
        ("model_context_window_exceeded", "length"),
        ("pause_turn", "pause_turn"),
        ("something_new", "something_new"),
    ],
)
def test_stop_reasons(native: str, reason: str) -> None:
    finished = read(start(), end(native), STOP).events[-1]
    assert isinstance(finished, Finished)
    assert (finished.reason, finished.details.get("native", reason)) == (reason, native)


def test_a_refusal_is_explained() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": None}
    ending = {"type": "message_delta", "delta": {"stop_reason": "refusal", "stop_details": details}}
    assert read(start(), ending, STOP).events[-1] == Finished("refusal", {"message": "cyber"})


def test_pings_and_unknown_events_say_nothing() -> None:
    decoded = read(
        {"type": "ping"}, {"type": "news"}, delta(0, "new_delta", x=1), [1], ":ping", STOP
    )
    assert decoded.events == [KeepAlive(), KeepAlive(), Finished("stop")]


@pytest.mark.parametrize(
    "error",
    [
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        {"error": {"message": "Overloaded", "code": 529}},
    ],
)
def test_an_error_after_text(error: Any) -> None:
    decoded = read(start(), block(0, "text", text="a"), error)
    assert decoded.response.text == "a"
    assert decoded.error is not None and decoded.error.kind.word == "overloaded"
    assert not decoded.is_complete


def test_what_is_not_json_in_the_middle_is_an_error_and_at_the_end_a_cut() -> None:
    cut = read(start(), block(0, "text", text="a"), '{"type": "content_bl')
    assert cut.error is None and not cut.is_complete
    middle = read(start(), "<oops>", block(0, "text", text="a"))
    assert middle.error is not None and middle.error.kind.word == "cut"


def test_an_emoji_cut_in_two_is_joined() -> None:
    decoded = read(
        *(start(), block(0, "text", text="\ud83d"), say(0, "\ude00!"), say(0, "\ud83d"), stop(0)),
        *(block(1, "tool_use", id="t", name="f"),),
        delta(1, "input_json_delta", partial_json='{"a": "\ud83d'),
        *(delta(1, "input_json_delta", partial_json='\ude00"}'), end(), STOP),
    )
    assert decoded.response.text == "\U0001f600!\ufffd"
    assert decoded.response.tool_calls[0].arguments == {"a": "\U0001f600"}


def test_what_a_cut_leaves_open() -> None:
    """A text may go on and a call may not run; signed reasoning is whole."""
    thought = block(0, "thinking", thinking="Hm.", signature="s")
    decoded = read(start(), thought, stop(0), block(1, "text", text="a"), stop(1))
    assert [type(event).__name__ for event in decoded.events][-4:] == [
        "Part",
        "Flush",
        "Part",
        "Finished",
    ]
    assert decoded.response.blocks[0] == ReasoningBlock("Hm.", {"signature": "s"})


def test_a_whole_reply_with_an_error_or_without_an_answer_is_an_error() -> None:
    error = {"type": "error", "error": {"type": "authentication_error", "message": "bad key"}}
    told = [collect(read_response(value, ROW)).error for value in (error, {}, [], None, "x")]
    assert [e.kind.word if e else None for e in told] == ["auth"] + 4 * ["malformed"]


# Anything at all

TEXTS = st.text(max_size=6) | st.sampled_from(["\ud83d", "\ude00"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
KINDS = st.sampled_from(
    ["text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "x_tool_result", "new"]
)


def record(required: Dict[str, Any], **fields: Any) -> Any:
    """Objects with some of ``fields``, now and then something else in their place."""
    return st.fixed_dictionaries(
        {k: v | JSON for k, v in required.items()},
        optional={k: v | JSON for k, v in fields.items()},
    )


NUMBER = st.integers(0, 2)
CONTENT = record(
    {"type": KINDS},
    text=TEXTS,
    thinking=TEXTS,
    signature=TEXTS,
    citations=st.just([]),
    id=TEXTS,
    name=TEXTS,
    input=st.just({}),
)
DELTA = record(
    {
        "type": st.sampled_from(
            [
                "text_delta",
                "thinking_delta",
                "signature_delta",
                "citations_delta",
                "input_json_delta",
            ]
        )
    },
    text=TEXTS,
    thinking=TEXTS,
    signature=TEXTS,
    citation=st.just({"u": 1}),
    partial_json=st.sampled_from(["{", "}", '"a":', "1"]),
)
MESSAGE = record(
    {}, id=st.sampled_from(["m1", "m2"]), model=TEXTS, usage=record({}, input_tokens=NUMBER)
)
ENDING = record(
    {"stop_reason": st.sampled_from(["end_turn", "max_tokens", "refusal"])},
    stop_sequence=TEXTS,
    stop_details=record({}, explanation=TEXTS),
)
EVENT = st.one_of(
    st.fixed_dictionaries({"type": st.just("message_start"), "message": MESSAGE | JSON}),
    st.fixed_dictionaries(
        {"type": st.just("content_block_start"), "index": NUMBER, "content_block": CONTENT | JSON}
    ),
    st.fixed_dictionaries(
        {"type": st.just("content_block_delta"), "index": NUMBER, "delta": DELTA | JSON}
    ),
    st.fixed_dictionaries({"type": st.just("content_block_stop"), "index": NUMBER}),
    st.fixed_dictionaries({"type": st.just("message_delta"), "delta": ENDING | JSON}),
    st.sampled_from([STOP, {"type": "ping"}]),
)


@given(st.lists(EVENT | JSON | st.just("[DONE]"), max_size=12))
def test_no_event_raises_anything_but_a_stream_error(values: List[Any]) -> None:
    decoded = read(*values)
    if decoded.error is None:
        assert isinstance(decoded.events[-1], Finished)
    json.dumps(decoded.events, ensure_ascii=False).encode()  # nothing that cannot be stored


@given(JSON | st.fixed_dictionaries({"content": st.lists(CONTENT, max_size=3)}))
def test_no_whole_reply_raises_anything_but_a_stream_error(value: Any) -> None:
    check_order(collect(read_response(value, ROW)).events)


@given(st.lists(EVENT, max_size=8), st.integers(1, 9))
def test_the_pieces_it_arrives_in_make_no_difference(values: List[Any], size: int) -> None:
    whole = read(*values)
    cut_up = decode(make_decoder(ROW), pieces(body(*values), size))
    assert cut_up.events == whole.events
    assert str(cut_up.error) == str(whole.error)


def test_deep_nesting_is_refused_or_kept_raw() -> None:
    assert read(start(), "[" * 100_000, say(0, "b")).error is not None
    nested: Any = "x"
    for _ in range(150):
        nested = [nested]
    odd = block(0, "odd", value=nested)
    call = block(1, "tool_use", id="t", name="f")
    deep = delta(1, "input_json_delta", partial_json='{"a":' + "[" * 100_000)
    decoded = read(start(), odd, call, deep, end("tool_use"), STOP)
    assert decoded.is_complete
    assert decoded.response.tool_calls[0].raw is not None
    deeper = block(0, "odd", value=json.loads("[" * 500 + "]" * 500))
    assert read(start(), deeper, say(0, "b")).error is not None
