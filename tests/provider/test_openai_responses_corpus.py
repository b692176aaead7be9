"""The Responses decoder against recordings of real servers, whole, in pieces and cut."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

import pytest

from jpq.events.parts import Opaque, Part, ToolArgumentsDelta
from jpq.events.transcript import OpaqueBlock, ReasoningBlock, TextBlock
from jpq.events.usage import Usage
from jpq.provider.base import ProviderRow
from jpq.provider.openai_responses import make_decoder, read_response
from tests.support import corpus
from tests.support.decoding import Decoded, check_order, collect, decode, pieces

ROW = ProviderRow("recorded", "openai-responses")
STREAMS = corpus.cases(corpus.stream_names("openai-responses"))
# Recordings whose last event repeats the response. Of vercel/ai's most deltas were taken out.
REPEATING = corpus.cases(
    [
        name
        for name in corpus.stream_names("openai-responses")
        if not name.startswith("vercel__ai/") and "/chatgpt-codex" not in name
    ]
)
LIVE = corpus.cases(corpus.files("llamacpp-live", "responses-", ".sse"))

# Where jpq decides otherwise than the recording's ``expected``, and why.
JUDGEMENTS: Dict[str, Tuple[str, Dict[str, Any]]] = {
    "vercel__ai/openai-responses/citations-both.sse": (
        "text that no delta brought is said when its item is done; dropping it would lose it",
        {"text": "Based on web search and file content."},
    ),
}
ENDS = ("response.completed", "response.incomplete", "response.failed")
REASONS = {"max_output_tokens": "length", "content_filter": "content_filter"}


def read(body: bytes, size: Optional[int] = None) -> Decoded:
    return decode(make_decoder(ROW), [body] if size is None else pieces(body, size))


def expected_calls(expected: Mapping[str, Any]) -> List[Tuple[str, str, Any]]:
    calls = []
    for call in expected["tool_calls"]:
        arguments = call["arguments_json"]
        if not isinstance(arguments, dict):
            # What does not parse, and the free text of a custom tool, is kept raw.
            arguments = {"raw": call["arguments"]} if call["arguments"] else {}
        calls.append((call["id"], call["name"], arguments))
    return calls


def expected_usage(value: Optional[Mapping[str, Any]]) -> Usage:
    """The counts as a reader of the API's reference would pick them."""
    value = value or {}
    of_input = value.get("input_tokens_details") or {}
    of_output = value.get("output_tokens_details") or {}
    return Usage(
        input_tokens=value.get("input_tokens"),
        output_tokens=value.get("output_tokens"),
        reasoning_tokens=of_output.get("reasoning_tokens"),
        cache_read_tokens=of_input.get("cached_tokens"),
        cache_write_tokens=of_input.get("cache_write_tokens"),
    )


def expected_reason(expected: Mapping[str, Any]) -> str:
    """A refusal and a call are told apart from a plain stop; an error has no reason."""
    if expected["error"] is not None or expected["stop_reason"] is None:
        return "interrupted"
    if expected["stop_reason"] == "incomplete":
        return REASONS[expected["stop_detail"]["reason"]]
    if expected["tool_calls"]:
        return "tool_calls"
    return "refusal" if expected["refusal"] else "stop"


@pytest.mark.parametrize("size", [None, 1, 2, 7])
@pytest.mark.parametrize("name", STREAMS)
def test_a_recording_decodes_to_what_was_said(name: str, size: Optional[int]) -> None:
    recording = corpus.recording(name)
    expected = {**recording.expected, **JUDGEMENTS.get(name, ("", {}))[1]}

    decoded = read(recording.body, size)

    response = decoded.response
    # The recording's text has all messages run together; a refusal is what the model said.
    text = "".join(block.text for block in response.blocks if isinstance(block, TextBlock))
    assert text == expected["text"] + (expected["refusal"] or "")
    assert response.reasoning == expected["reasoning"]
    calls = [(call.id, call.name, call.arguments) for call in response.tool_calls]
    assert calls == expected_calls(expected)
    assert response.usage == expected_usage(expected["usage"])
    assert response.model == expected["model"]
    assert response.message_id == expected["response_id"]
    assert response.stop_reason == expected_reason(expected)
    check_order(decoded.events)
    if expected["error"] is None:
        assert decoded.error is None
    else:
        assert decoded.error is not None
        assert expected["error"]["message"][:100] in decoded.error.message


@pytest.mark.parametrize("name", STREAMS)
def test_items_of_the_providers_own_tools_are_kept_verbatim(name: str) -> None:
    recording = corpus.recording(name)
    kept = [
        block.data
        for block in read(recording.body).response.blocks
        if isinstance(block, OpaqueBlock) and block.data["type"] != "reasoning"
    ]
    expected = recording.expected.get("server_items", [])
    assert sorted(item["id"] for item in kept) == sorted(item["id"] for item in expected)
    sent = whole_items(recording.body)
    assert all(item in sent for item in kept)


@pytest.mark.parametrize("name", STREAMS)
def test_reasoning_that_can_be_sent_back_is_kept_verbatim(name: str) -> None:
    body = corpus.recording(name).body
    kept = []
    for block in read(body).response.blocks:
        if isinstance(block, ReasoningBlock) and block.metadata:
            kept.append(block.metadata["item"])
        elif isinstance(block, OpaqueBlock) and block.data["type"] == "reasoning":
            kept.append(block.data)
    done = [event["item"] for event in json_events(body) if is_done(event)]
    assert kept == [
        item
        for item in done
        if item["type"] == "reasoning" and (item.get("encrypted_content") or item.get("content"))
    ]


@pytest.mark.parametrize("name", STREAMS)
def test_a_cut_is_never_taken_for_the_end(name: str) -> None:
    body = corpus.recording(name).body
    whole = read(body)
    for cut in event_ends(body):
        decoded = read(body[:cut])
        check_order(decoded.events)
        assert is_beginning(decoded, whole)
        assert decoded.is_complete == ends_answer(body[:cut])


@pytest.mark.parametrize("name", STREAMS)
def test_a_cut_inside_an_event_loses_that_event_only(name: str) -> None:
    body = corpus.recording(name).body
    start = 0
    for end in event_ends(body):
        inside, before = read(body[: (start + end) // 2]), read(body[:start])
        assert inside.events == before.events
        start = end


@pytest.mark.parametrize("size", [None, 1, 2, 7])
@pytest.mark.parametrize("name", LIVE)
def test_llama_server_is_read_as_it_was_written(name: str, size: Optional[int]) -> None:
    body = corpus.read(name)
    (end,) = [event for event in json_events(body) if event["type"] in ENDS]
    said = end["response"]

    decoded = read(body, size)

    check_order(decoded.events)
    assert decoded.error is None
    response = decoded.response
    assert response.model == said["model"]
    assert response.message_id == said["id"]
    assert response.usage == expected_usage(said["usage"])
    whole = collect(read_response(said, ROW)).response
    assert whole == response
    assert response.text == "".join(
        part["text"] for item in said["output"] for part in item.get("content", ())
    )
    written = [e["delta"] for e in json_events(body) if e["type"].endswith("_arguments.delta")]
    assert [e.text for e in decoded.events if isinstance(e, ToolArgumentsDelta)] == written


@pytest.mark.parametrize("model", ["smollm2-135m", "smollm2-135m-hermes-template"])
def test_the_whole_reply_equals_the_folded_stream(model: str) -> None:
    folder = corpus.require("llamacpp-live", model)
    streamed = read(corpus.read(folder, "responses-stream.sse")).response
    with open(os.path.join(folder, "responses-nostream.json"), encoding="utf-8") as file:
        whole = collect(read_response(json.load(file), ROW)).response

    assert whole.text == streamed.text
    assert whole.stop_reason == streamed.stop_reason == "stop"
    assert whole.model == streamed.model
    assert whole.usage._replace(cache_read_tokens=None) == streamed.usage._replace(
        cache_read_tokens=None
    ), "the same but for what was cached by then"


@pytest.mark.parametrize("name", REPEATING)
def test_the_final_response_equals_the_folded_stream(name: str) -> None:
    body = corpus.recording(name).body
    (final,) = [event["response"] for event in json_events(body) if event["type"] in ENDS]
    # In it, ids and encrypted contents may be others than in the items of the stream.
    done = {event["output_index"]: event["item"] for event in json_events(body) if is_done(event)}
    items = [done.get(number, item) for number, item in enumerate(final["output"])]

    whole = collect(read_response({**final, "output": items}, ROW))

    streamed = read(body)
    check_order(whole.events)
    # What came without its item is told last in the stream (mcp-tools.sse).
    assert sorted(map(repr, whole.response.blocks)) == sorted(map(repr, streamed.response.blocks))
    assert whole.response._replace(blocks=()) == streamed.response._replace(blocks=())


def test_several_messages_of_one_response_are_texts_of_their_own() -> None:
    body = corpus.recording("vercel__ai/openai-responses/phase-two-messages.sse").body
    commentary, answer = read(body).response.blocks
    assert isinstance(commentary, TextBlock) and isinstance(answer, TextBlock)
    assert (commentary.text, answer.text) == ("Got it", "Here are a few **AI")
    assert commentary.metadata["phase"] == "commentary"
    assert answer.metadata["phase"] == "final_answer"


def test_reasoning_that_is_finished_after_the_answer_still_comes_first() -> None:
    body = corpus.recording("pydantic__pydantic-ai/openrouter-responses/raw-cot.sse").body
    reasoning, answer = read(body).response.blocks
    assert isinstance(reasoning, ReasoningBlock) and "item" in reasoning.metadata
    assert isinstance(answer, TextBlock)


def test_no_call_of_a_cut_answer_is_whole_before_it_is_done() -> None:
    body = corpus.recording("0xPlaygrounds__rig/openai-responses/incomplete-mid-tool.sse").body
    cut = body[: body.index(b"event: response.output_item.done")]
    events = read(cut).events
    assert any(isinstance(event, ToolArgumentsDelta) for event in events)
    assert not any(isinstance(e, Part) and not isinstance(e.payload, Opaque) for e in events)


def event_ends(body: bytes) -> Iterator[int]:
    """Where each event of ``body`` ends."""
    end = body.find(b"\n\n")
    while end >= 0:
        yield end + 2
        end = body.find(b"\n\n", end + 2)


def json_events(body: bytes) -> Iterator[Dict[str, Any]]:
    for line in body.split(b"\n"):
        if line.startswith(b"data:") and line[5:].strip() != b"[DONE]":
            yield json.loads(line[5:])


def is_done(event: Mapping[str, Any]) -> bool:
    return event["type"] == "response.output_item.done"


def whole_items(body: bytes) -> List[Any]:
    """Every item that ``body`` holds whole."""
    done = [event["item"] for event in json_events(body) if is_done(event)]
    ends = [event["response"] for event in json_events(body) if event["type"] in ENDS]
    return done + [item for response in ends for item in response.get("output") or ()]


def ends_answer(body: bytes) -> bool:
    """Whether ``body`` holds the provider's word for the end, read independently."""
    return any(event["type"] in ENDS[:2] for event in json_events(body))


def is_beginning(cut: Decoded, whole: Decoded) -> bool:
    """Whether what came before the cut is what comes first in the whole stream."""
    return (
        whole.response.text.startswith(cut.response.text)
        and whole.response.reasoning.startswith(cut.response.reasoning)
        and len(cut.response.tool_calls) <= len(whole.response.tool_calls)
    )
