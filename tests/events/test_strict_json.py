"""Numbers that Python's JSON takes and nobody else's does."""

from __future__ import annotations

import pytest

from jpq.conversation.entry import to_json_bytes
from jpq.events import strict_json
from jpq.events.parts import ToolCallRequest
from jpq.events.transcript import ToolCallBlock, parse_tool_call
from jpq.provider import ndjson
from jpq.provider.base import ProviderRow
from jpq.provider.registry import load_api
from jpq.tools.schema import parse_arguments
from jpq.wire import sse
from tests.support.decoding import decode

ODD = ['{"x": NaN}', '{"x": [-Infinity]}', '{"x": {"y": 1e999}}', '{"x": -1.5e400}']

# A reply with one call, as each API that does not send its arguments as text streams it.
STREAMS = {
    "anthropic": [
        '{"type": "message_start", "message": {"id": "m", "model": "t"}}',
        '{"type": "content_block_start", "index": 0, "content_block": '
        '{"type": "tool_use", "id": "c", "name": "f", "input": ARGUMENTS}}',
        '{"type": "content_block_stop", "index": 0}',
        '{"type": "message_delta", "delta": {"stop_reason": "tool_use"}}',
        '{"type": "message_stop"}',
    ],
    "google": [
        '{"candidates": [{"finishReason": "STOP", "content": '
        '{"parts": [{"functionCall": {"name": "f", "args": ARGUMENTS}}]}}]}',
    ],
    "ollama": [
        '{"message": {"tool_calls": [{"function": {"name": "f", "arguments": ARGUMENTS}}]}, '
        '"done": true, "done_reason": "stop"}',
    ],
    "openai-chat": [  # as some of its imitators do
        '{"choices": [{"finish_reason": "tool_calls", "delta": {"tool_calls": '
        '[{"index": 0, "id": "c", "function": {"name": "f", "arguments": ARGUMENTS}}]}}]}',
    ],
}


@pytest.mark.parametrize("text", ODD)
def test_what_is_no_number_in_json_cannot_be_read(text: str) -> None:
    with pytest.raises(ValueError):
        strict_json.parse(text)
    assert parse_tool_call("c", "f", text) == ToolCallRequest("c", "f", {"raw": text}, raw=text)
    assert parse_arguments(text)[0] is None


def test_every_other_number_can() -> None:
    assert strict_json.parse("[1, -2.5, 1e300, 1e-999]") == [1, -2.5, 1e300, 0.0]


def test_what_is_written_for_others_to_read_is_json() -> None:
    odd = {"a": [float("nan"), {"b": float("inf")}], "c": 1.5}
    assert to_json_bytes(odd) == b'{"a":[null,{"b":null}],"c":1.5}'


@pytest.mark.parametrize("api", STREAMS)
@pytest.mark.parametrize("arguments", ODD)
def test_a_call_with_such_an_argument_is_kept_raw(api: str, arguments: str) -> None:
    start, end = ("", "\n") if api == "ollama" else ("data: ", "\n\n")
    lines = [start + line.replace("ARGUMENTS", arguments) + end for line in STREAMS[api]]
    framing = ndjson.messages if api == "ollama" else sse.messages
    decoder = load_api(api).make_decoder(ProviderRow("test", api))
    (call,) = decode(decoder, ["".join(lines).encode()], framing).response.blocks
    assert isinstance(call, ToolCallBlock) and call.call.name == "f"
    assert call.call.raw is not None and list(call.call.arguments) == ["raw"]
