"""``--no-stream``: for each API the reply that comes whole says what the stream said."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, NamedTuple, Sequence

import pytest

from jpq.errors import StreamError
from jpq.events.transcript import ChatResponse
from jpq.provider import ndjson
from jpq.provider.base import ProviderRow
from jpq.provider.registry import load_api
from tests.support import corpus
from tests.support.decoding import Decoded, check_order, collect, decode

LIVE = "llamacpp-live"
MODELS = ("smollm2-135m", "smollm2-135m-hermes-template")


class Pair(NamedTuple):
    """The same answer of ``api`` as the values of a stream and as one value."""

    api: str
    stream: Sequence[Mapping[str, Any]]
    whole: Mapping[str, Any]


def row(api: str) -> ProviderRow:
    return ProviderRow("test", api)


def read_stream(api: str, messages: Sequence[str]) -> Decoded:
    decoder = load_api(api).make_decoder(row(api))
    lines = ("" if api == "ollama" else "data: ", "\n" if api == "ollama" else "\n\n")
    body = "".join(f"{lines[0]}{message}{lines[1]}" for message in messages).encode()
    return decode_body(api, decoder, body)


def decode_body(api: str, decoder: Any, body: bytes) -> Decoded:
    if load_api(api).FRAMING == "ndjson":
        return decode(decoder, [body], ndjson.messages)
    return decode(decoder, [body])


def read_whole(api: str, value: Any) -> Decoded:
    return collect(load_api(api).read_response(value, row(api)))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "api,streamed,whole",
    [
        ("openai-chat", "chat-stream-usage.sse", "chat-nostream.json"),
        ("openai-responses", "responses-stream.sse", "responses-nostream.json"),
        ("anthropic", "messages-stream.sse", "messages-nostream.json"),
    ],
)
def test_what_llama_server_says_both_ways(api: str, streamed: str, whole: str, model: str) -> None:
    decoder = load_api(api).make_decoder(row(api))
    first = decode_body(api, decoder, corpus.read(LIVE, model, streamed))
    second = read_whole(api, json.loads(corpus.read(LIVE, model, whole)))
    assert first.is_complete and second.is_complete
    assert comparable(first.response) == comparable(second.response)
    check_order(second.events)


def comparable(response: ChatResponse) -> Any:
    """What two runs of one request have in common: not the id, not what was cached by then,
    which Anthropic's API does not count as input."""
    said = [(type(b).__name__, getattr(b, "text", None)) for b in response.blocks]
    return said, response.stop_reason, response.usage.output_tokens, response.model


CHAT_CALLS = [
    {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}},
    {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}},
]
DETAIL = {"type": "reasoning.text", "text": "Hm.", "signature": "S"}
RESPONSE_ITEMS: List[Dict[str, Any]] = [
    {
        "type": "reasoning",
        "id": "rs",
        "summary": [{"type": "summary_text", "text": "Hm."}],
        "encrypted_content": "E",
    },
    {
        "type": "message",
        "id": "m",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Hello", "annotations": []}],
    },
    {"type": "function_call", "id": "1", "call_id": "a", "name": "f", "arguments": '{"x": 1}'},
    {"type": "function_call", "id": "2", "call_id": "b", "name": "g", "arguments": "{}"},
]
RESPONSE = {
    "id": "r",
    "model": "m",
    "status": "completed",
    "output": RESPONSE_ITEMS,
    "usage": {"input_tokens": 5, "output_tokens": 7},
}
BLOCKS: List[Dict[str, Any]] = [
    {"type": "thinking", "thinking": "Hm.", "signature": "S"},
    {"type": "redacted_thinking", "data": "R"},
    {"type": "text", "text": "Hello"},
    {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
    {"type": "tool_use", "id": "b", "name": "g", "input": {}},
]
PARTS: List[Dict[str, Any]] = [
    {"text": "Hm.", "thought": True},
    {"text": "Hello"},
    {"functionCall": {"name": "f", "args": {"x": 1}}, "thoughtSignature": "S"},
    {"functionCall": {"name": "g", "args": {}}},
]
OLLAMA_CALLS = [
    {"id": "a", "function": {"name": "f", "arguments": {"x": 1}}},
    {"id": "b", "function": {"name": "g", "arguments": {}}},
]


def chat_chunk(**delta: Any) -> Dict[str, Any]:
    return {"id": "r", "model": "m", "choices": [{"index": 0, "delta": delta}]}


def block_events(number: int, block: Dict[str, Any]) -> List[Dict[str, Any]]:
    """A block as a stream has it: its beginning, its deltas, its end."""
    begun, deltas = dict(block), []
    for field, kind in (("thinking", "thinking_delta"), ("text", "text_delta")):
        if field in block and block["type"] == field:
            begun[field] = ""
            deltas.append({"type": kind, field: block[field]})
    if "signature" in block:
        begun["signature"] = ""
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    if "input" in block:
        begun["input"] = {}
        deltas.append({"type": "input_json_delta", "partial_json": json.dumps(block["input"])})
    named = [{"type": "content_block_delta", "index": number, "delta": d} for d in deltas]
    begin = {"type": "content_block_start", "index": number, "content_block": begun}
    return [begin, *named, {"type": "content_block_stop", "index": number}]


def item_events(number: int, item: Dict[str, Any]) -> List[Dict[str, Any]]:
    name = "response.output_item"
    return [
        {"type": f"{name}.added", "output_index": number, "item": {**item, "status": "x"}},
        {"type": f"{name}.done", "output_index": number, "item": item},
    ]


def ollama_line(done: bool = False, **message: Any) -> Dict[str, Any]:
    line = {"model": "m", "created_at": "t", "done": done}
    return {**line, "message": {"role": "assistant", "content": "", **message}}


PAIRS = (
    Pair(
        "openai-chat",
        [
            chat_chunk(role="assistant", reasoning="Hm.", reasoning_details=[DETAIL]),
            chat_chunk(content="Hel"),
            chat_chunk(content="lo"),
            chat_chunk(tool_calls=[{"index": 0, **CHAT_CALLS[0]}]),
            chat_chunk(tool_calls=[{"index": 1, **CHAT_CALLS[1]}]),
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
            {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 7}},
        ],
        {
            "id": "r",
            "model": "m",
            "choices": [
                {
                    "index": 0,
                    "message": {
                        "role": "assistant",
                        "content": "Hello",
                        "reasoning": "Hm.",
                        "reasoning_details": [DETAIL],
                        "tool_calls": CHAT_CALLS,
                    },
                    "finish_reason": "tool_calls",
                }
            ],
            "usage": {"prompt_tokens": 5, "completion_tokens": 7},
        },
    ),
    Pair(
        "openai-responses",
        [
            {"type": "response.created", "response": {"id": "r", "model": "m"}},
            *(event for pair in enumerate(RESPONSE_ITEMS) for event in item_events(*pair)),
            {"type": "response.completed", "response": RESPONSE},
        ],
        RESPONSE,
    ),
    Pair(
        "anthropic",
        [
            {"type": "message_start", "message": {"id": "r", "model": "m", "content": []}},
            *(event for pair in enumerate(BLOCKS) for event in block_events(*pair)),
            {
                "type": "message_delta",
                "delta": {"stop_reason": "tool_use"},
                "usage": {"input_tokens": 5, "output_tokens": 7},
            },
            {"type": "message_stop"},
        ],
        {
            "id": "r",
            "model": "m",
            "type": "message",
            "content": BLOCKS,
            "stop_reason": "tool_use",
            "usage": {"input_tokens": 5, "output_tokens": 7},
        },
    ),
    Pair(
        "google",
        [
            *(
                {
                    "candidates": [{"content": {"parts": [part]}}],
                    "modelVersion": "m",
                    "responseId": "r",
                }
                for part in PARTS
            ),
            {
                "candidates": [{"finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 7},
            },
        ],
        {
            "candidates": [{"content": {"parts": PARTS}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 7},
            "modelVersion": "m",
            "responseId": "r",
        },
    ),
    Pair(
        "ollama",
        [
            ollama_line(thinking="Hm."),
            ollama_line(content="Hel"),
            ollama_line(content="lo"),
            ollama_line(tool_calls=OLLAMA_CALLS[:1]),
            ollama_line(tool_calls=OLLAMA_CALLS[1:]),
            {**ollama_line(True), "done_reason": "stop", "prompt_eval_count": 5, "eval_count": 7},
        ],
        {
            **ollama_line(True, thinking="Hm.", content="Hello", tool_calls=OLLAMA_CALLS),
            "done_reason": "stop",
            "prompt_eval_count": 5,
            "eval_count": 7,
        },
    ),
)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.api)
def test_reasoning_text_and_parallel_calls_both_ways(pair: Pair) -> None:
    streamed = read_stream(pair.api, [json.dumps(value) for value in pair.stream])
    whole = read_whole(pair.api, pair.whole)
    assert streamed.error is None and whole.error is None
    assert whole.response == streamed.response
    assert (whole.response.text, whole.response.reasoning) == ("Hello", "Hm.")
    calls = [(call.name, call.arguments) for call in whole.response.tool_calls]
    assert calls == [("f", {"x": 1}), ("g", {})]
    assert whole.response.stop_reason == "tool_calls"
    assert whole.response.usage.to_json() == {"input_tokens": 5, "output_tokens": 7}
    check_order(whole.events)


@pytest.mark.parametrize("api", [pair.api for pair in PAIRS])
@pytest.mark.parametrize("value", [{}, [], None, "text", {"unheard": "of"}])
def test_a_reply_without_an_answer_is_an_error(api: str, value: Any) -> None:
    error = read_whole(api, value).error
    assert isinstance(error, StreamError) and error.kind.word == "malformed"
    assert "base_url" in error.hint
