"""The messages decoder against recordings of real servers, whole, in pieces and cut."""

from __future__ import annotations

import json
import os
import re
from typing import Any, Dict, Iterator, List, Optional, Tuple

import pytest

from jpq.events.parts import Part, ToolArgumentsDelta, ToolCallRequest
from jpq.events.transcript import OpaqueBlock, ReasoningBlock, TextBlock
from jpq.events.usage import Usage
from jpq.provider.anthropic import make_decoder, read_response
from jpq.provider.base import ProviderRow
from tests.support import corpus
from tests.support.decoding import Decoded, check_order, collect, decode, pieces

ROW = ProviderRow("recorded", "anthropic")
STREAMS = corpus.cases(corpus.stream_names("anthropic"))
LIVE = corpus.cases(corpus.files("llamacpp-live", "messages-", ".sse"))

BLANK_LINE = (
    "texts before and after the work of a tool that the provider runs are two items, and "
    "items are a blank line apart everywhere"
)

# Where jpq decides otherwise than the recording's ``expected``, and why.
JUDGEMENTS: Dict[str, Tuple[str, str]] = {
    "pydantic__pydantic-ai/anthropic-messages/advisor.sse": (BLANK_LINE, "finalizing."),
    "pydantic__pydantic-ai/anthropic-messages/tool-search.sse": (BLANK_LINE, "information."),
}

REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "tool_use": "tool_calls",
}


def read(body: bytes, size: Optional[int] = None) -> Decoded:
    return decode(make_decoder(ROW), [body] if size is None else pieces(body, size))


def read_whole(path: str) -> Decoded:
    with open(path, encoding="utf-8") as file:
        return collect(read_response(json.load(file), ROW))


def expected_usage(value: Optional[Dict[str, Any]]) -> Usage:
    value = value or {}
    return Usage(
        input_tokens=value.get("input_tokens"),
        output_tokens=value.get("output_tokens"),
        reasoning_tokens=value.get("output_tokens_details", {}).get("thinking_tokens"),
        cache_read_tokens=value.get("cache_read_input_tokens"),
        cache_write_tokens=value.get("cache_creation_input_tokens"),
    )


def expected_calls(expected: Dict[str, Any]) -> List[Tuple[str, str, Any]]:
    calls = []
    for call in expected["tool_calls"]:
        arguments = call["arguments_json"]
        if arguments is None:
            arguments = {"raw": call["arguments"]}
        calls.append((call["id"], call["name"], arguments))
    return calls


def signed(decoded: Decoded) -> List[Dict[str, Any]]:
    """The thinking blocks as they are sent back."""
    found = []
    for block in decoded.response.blocks:
        if isinstance(block, ReasoningBlock):
            found.append({"thinking": block.text, "signature": block.metadata["signature"]})
        elif isinstance(block, OpaqueBlock) and block.data["type"] == "thinking":
            found.append({k: block.data[k] for k in ("thinking", "signature")})
    return found


def kept(decoded: Decoded) -> List[Dict[str, Any]]:
    return [dict(b.data) for b in decoded.response.blocks if isinstance(b, OpaqueBlock)]


def citations(decoded: Decoded) -> List[Any]:
    texts = (block for block in decoded.response.blocks if isinstance(block, TextBlock))
    blocks = (block for text in texts for block in text.metadata.get("blocks", ()))
    return [citation for block in blocks for citation in block.get("citations") or ()]


@pytest.mark.parametrize("size", [None, 1, 2, 7])
@pytest.mark.parametrize("name", STREAMS)
def test_a_recording_decodes_to_what_was_said(name: str, size: Optional[int]) -> None:
    recording = corpus.recording(name)
    expected = recording.expected
    text = expected["text"]
    if name in JUDGEMENTS:
        before = JUDGEMENTS[name][1]
        text = text.replace(before, before + "\n\n", 1)

    decoded = read(recording.body, size)

    response = decoded.response
    check_order(decoded.events)
    assert response.text == text
    assert response.reasoning == expected["reasoning"]
    assert signed(decoded) == expected["thinking_blocks"]
    redacted = [block["data"] for block in kept(decoded) if block["type"] == "redacted_thinking"]
    assert redacted == expected["redacted_thinking"]
    assert [(c.id, c.name, c.arguments) for c in response.tool_calls] == expected_calls(expected)
    assert citations(decoded) == expected.get("citations", [])
    assert response.usage == expected_usage(expected["usage"])
    assert response.model == expected["model"]
    assert response.message_id == expected["response_id"]
    if expected["error"] is not None:
        assert decoded.error is not None and decoded.error.retryable
        assert expected["error"]["message"] in decoded.error.message
        return
    assert decoded.error is None
    assert response.stop_reason == REASONS.get(expected["stop_reason"], expected["stop_reason"])
    assert response.details.get("stop_sequence") == expected["stop_sequence"]
    stop_details = expected.get("stop_details") or {}
    assert response.details.get("message") == stop_details.get("explanation")


@pytest.mark.parametrize("name", STREAMS)
def test_blocks_of_the_provider_are_kept_verbatim(name: str) -> None:
    recording = corpus.recording(name)
    blocks = [b for b in kept(read(recording.body)) if not b["type"].endswith("thinking")]
    starts = [
        chunk["content_block"]
        for chunk in json_chunks(recording.body)
        if chunk["type"] == "content_block_start"
        and chunk["content_block"]["type"] not in ("text", "thinking", "tool_use")
        and chunk["content_block"]["type"] != "redacted_thinking"
    ]
    assert [{**b, "input": None} for b in blocks] == [{**b, "input": None} for b in starts]
    inputs = [block["input"] for block in blocks if "input" in block]
    server_blocks = recording.expected.get("server_blocks", [])
    assert inputs == [b["arguments_json"] for b in server_blocks if "arguments_json" in b]


@pytest.mark.parametrize("name", STREAMS)
def test_a_cut_is_never_taken_for_the_end(name: str) -> None:
    body = corpus.recording(name).body
    whole = read(body)
    for cut in event_ends(body):
        decoded = read(body[:cut])
        check_order(decoded.events)
        assert whole.response.text.startswith(decoded.response.text)
        assert whole.response.reasoning.startswith(decoded.response.reasoning)
        assert len(decoded.response.tool_calls) <= len(whole.response.tool_calls)
        assert decoded.is_complete == (ends_answer(body[:cut]) and decoded.error is None)


@pytest.mark.parametrize("name", STREAMS)
def test_a_cut_inside_an_event_loses_that_event_only(name: str) -> None:
    body = corpus.recording(name).body
    start = 0
    for end in event_ends(body):
        inside, before = read(body[: (start + end) // 2]), read(body[:start])
        if not ends_answer(body[:end]) and b"event: error" not in body[start:end]:
            assert inside.error is None
            assert inside.response.blocks == before.response.blocks
            assert not inside.is_complete
        start = end


@pytest.mark.parametrize("name", LIVE)
def test_llama_server_is_read_as_it_was_written(name: str) -> None:
    body = corpus.read(name)
    chunks = list(json_chunks(body))
    deltas = [chunk["delta"] for chunk in chunks if chunk["type"] == "content_block_delta"]
    (ending,) = (chunk for chunk in chunks if chunk["type"] == "message_delta")
    for size in (None, 1, 2, 7):
        decoded = read(body, size)
        check_order(decoded.events)
        assert decoded.error is None
        assert decoded.response.text == "".join(delta.get("text", "") for delta in deltas)
        arguments = [e.text for e in decoded.events if isinstance(e, ToolArgumentsDelta)]
        assert "".join(arguments) == "".join(delta.get("partial_json", "") for delta in deltas)
        assert decoded.response.stop_reason == REASONS[ending["delta"]["stop_reason"]]
        assert decoded.response.usage.output_tokens == ending["usage"]["output_tokens"]


def test_the_whole_reply_equals_the_folded_stream() -> None:
    folder = corpus.require("llamacpp-live", "smollm2-135m")
    streamed = read(corpus.read(folder, "messages-stream.sse")).response
    whole = read_whole(os.path.join(folder, "messages-nostream.json")).response
    assert whole.blocks == streamed.blocks
    assert whole.stop_reason == streamed.stop_reason
    assert whole.model == streamed.model
    assert whole.usage.output_tokens == streamed.usage.output_tokens


@pytest.mark.parametrize("name", STREAMS)
def test_a_recording_says_the_same_when_it_is_sent_whole(name: str) -> None:
    recording = corpus.recording(name)
    if recording.expected["error"] is not None or "incomplete-tool-json" in name:
        return  # neither can be sent whole
    streamed = read(recording.body).response
    whole = collect(read_response(as_whole_reply(recording.body), ROW))
    check_order(whole.events)
    assert whole.response == streamed


def as_whole_reply(body: bytes) -> Dict[str, Any]:
    """The recorded stream as the API answers where no stream was asked for."""
    message: Dict[str, Any] = {}
    blocks: Dict[int, Dict[str, Any]] = {}
    for chunk in json_chunks(body):
        if chunk["type"] == "message_start":
            message = chunk["message"]
        elif chunk["type"] == "content_block_start":
            blocks[chunk["index"]] = dict(chunk["content_block"])
        elif chunk["type"] == "content_block_delta":
            add(blocks[chunk["index"]], chunk["delta"])
        elif chunk["type"] == "message_delta":
            message.update(chunk["delta"])
            usage = {k: v for k, v in chunk["usage"].items() if v is not None}
            message["usage"] = {**message["usage"], **usage}
    for block in blocks.values():
        block.update(input=json.loads(block.pop("json"))) if block.get("json") else None
        block.pop("json", None)
    return {**message, "content": list(blocks.values())}


def add(block: Dict[str, Any], delta: Dict[str, Any]) -> None:
    kind = delta["type"]
    if kind == "citations_delta":
        block["citations"] = [*(block.get("citations") or ()), delta["citation"]]
    elif kind == "signature_delta":
        block["signature"] = delta["signature"]
    else:
        field = {"input_json_delta": "json"}.get(kind, kind[: -len("_delta")])
        block[field] = block.get(field, "") + delta.get("partial_json", delta.get(field, ""))


def test_no_call_of_a_cut_answer_is_whole() -> None:
    body = corpus.recording("0xPlaygrounds__rig/anthropic-messages/tool-nested-args.sse").body
    cut = body[: body.index(b"event: message_delta")]
    events = read(cut).events
    assert any(isinstance(event, ToolArgumentsDelta) for event in events)
    payloads = [event.payload for event in events if isinstance(event, Part)]
    assert not any(isinstance(payload, ToolCallRequest) for payload in payloads)


def event_ends(body: bytes) -> List[int]:
    """Where each event of ``body`` ends."""
    return [found.end() for found in re.finditer(b"\n\n", body)]


def json_chunks(body: bytes) -> Iterator[Dict[str, Any]]:
    for line in body.split(b"\n"):
        if line.startswith(b"data: {"):
            yield json.loads(line[len(b"data: ") :])


def ends_answer(body: bytes) -> bool:
    """Whether ``body`` holds the end marker, read independently."""
    lines = [line.rstrip() for line in body.split(b"\n")]
    return b"data: [DONE]" in lines or any(
        line.startswith(b"data: {") and json.loads(line[6:])["type"] == "message_stop"
        for line in lines
    )
