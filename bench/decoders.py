"""Each API's decoder against ``json.loads`` alone on the same messages, in this process."""

from __future__ import annotations

import json
import time
from typing import Any, Callable, Dict, Iterator, List, Sequence

from bench.compare import Row, median
from jpq.provider.base import ProviderRow
from jpq.provider.registry import load_api
from jpq.wire.message import Message

ROUNDS = 15
EVENTS = 4_000
# Half the speed of json.loads, which every decoder has to call.
TIMES_JSON = 2.0
# Linear is x2 a doubling and quadratic x4; between them is room for the machine's noise.
GROWTH_TARGET = 2.6


def measure(environ: Dict[str, str], count: int = ROUNDS) -> List[Row]:
    """Events a second of each decoder on a long text, and how its time grows with length."""
    return [_row(api, make, count) for api, make in _STREAMS.items()]


def _row(api: str, make: Callable[[int], Iterator[Any]], count: int) -> Row:
    # As the framing hands them on: text, most of it ASCII, some not.
    lines = [json.dumps(value, ensure_ascii=False) for value in make(2 * EVENTS)]
    messages = [Message("", line) for line in lines]
    half = messages[:EVENTS]
    ratios, growths, seconds = [], [], []
    for _ in range(count):
        parsing = _timed(lambda: sum(1 for message in half if json.loads(message.data)))
        decoding = _timed(lambda: _decode(api, half))
        ratios.append(decoding / parsing)
        growths.append(_timed(lambda: _decode(api, messages)) / decoding)
        seconds.append(decoding)
    times, growth, speed = median(ratios), median(growths), EVENTS / median(seconds)
    return Row(
        f"decoder of {api}",
        f"{speed:,.0f} events/s",
        f"json.loads {speed * times:,.0f} events/s",
        f"x{times:.2f} of its time, x{growth:.2f} a doubling",
        f"x{TIMES_JSON:g}, linear",
        times <= TIMES_JSON and growth <= GROWTH_TARGET,
    )


def _decode(api: str, messages: Sequence[Message]) -> int:
    decoder = load_api(api).make_decoder(ProviderRow("bench", api))
    return sum(1 for message in messages for _ in decoder.feed(message))


def _timed(run: Callable[[], object]) -> float:
    """Seconds of this thread's own work, which other programs disturb least."""
    start = time.thread_time()
    run()
    return time.thread_time() - start


def _word(number: int) -> str:
    return "größer " if number % 8 == 7 else f"word{number % 10} "


def _openai_chat(count: int) -> Iterator[Any]:
    for number in range(count):
        yield {
            "id": "chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxYz012",
            "object": "chat.completion.chunk",
            "created": 1767225600,
            "model": "test",
            "system_fingerprint": "fp_0123456789",
            "choices": [{"index": 0, "delta": {"content": _word(number)}, "finish_reason": None}],
        }


def _openai_responses(count: int) -> Iterator[Any]:
    item = {"id": "msg_0123456789", "type": "message", "role": "assistant", "content": []}
    yield {"type": "response.output_item.added", "output_index": 0, "item": item}
    for number in range(count):
        yield {
            "type": "response.output_text.delta",
            "sequence_number": number + 1,
            "item_id": "msg_0123456789",
            "output_index": 0,
            "content_index": 0,
            "delta": _word(number),
            "logprobs": [],
            "obfuscation": "aB3dE5fG",
        }


def _anthropic(count: int) -> Iterator[Any]:
    yield {"type": "message_start", "message": {"id": "msg_01", "model": "test", "content": []}}
    yield {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "text", "text": ""},
    }
    for number in range(count):
        delta = {"type": "text_delta", "text": _word(number)}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}


def _google(count: int) -> Iterator[Any]:
    for number in range(count):
        yield {
            "candidates": [
                {"content": {"parts": [{"text": _word(number)}], "role": "model"}, "index": 0}
            ],
            "usageMetadata": {
                "promptTokenCount": 9,
                "candidatesTokenCount": number,
                "totalTokenCount": number + 9,
                "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 9}],
            },
            "modelVersion": "test",
            "responseId": "AbCdEfGhIjKl",
        }


def _ollama(count: int) -> Iterator[Any]:
    for number in range(count):
        yield {
            "model": "test",
            "created_at": "2026-05-03T12:00:00.123456789Z",
            "message": {"role": "assistant", "content": _word(number)},
            "done": False,
        }


_STREAMS: Dict[str, Callable[[int], Iterator[Any]]] = {
    "openai-chat": _openai_chat,
    "openai-responses": _openai_responses,
    "anthropic": _anthropic,
    "google": _google,
    "ollama": _ollama,
}
