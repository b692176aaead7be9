"""The Ollama decoder against recordings of real servers, whole, in pieces and cut."""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator, List, Optional, Tuple

import pytest

from jpq.events.parts import Finished, ToolArgumentsDelta
from jpq.events.usage import Usage
from jpq.provider import ndjson
from jpq.provider.base import ProviderRow
from jpq.provider.ollama import make_decoder, read_response
from tests.support import corpus
from tests.support.decoding import Decoded, check_order, collect, decode, pieces

ROW = ProviderRow("recorded", "ollama")
STREAMS = corpus.cases(corpus.stream_names("ollama"))


def read(body: bytes, size: Optional[int] = None) -> Decoded:
    chunks = [body] if size is None else pieces(body, size)
    return decode(make_decoder(ROW), chunks, ndjson.messages)


def calls_of(decoded: Decoded) -> List[Tuple[str, Dict[str, Any]]]:
    return [(call.name, call.arguments) for call in decoded.response.tool_calls]


@pytest.mark.parametrize("size", [None, 1, 2, 7])
@pytest.mark.parametrize("name", STREAMS)
def test_a_recording_decodes_to_what_was_said(name: str, size: Optional[int]) -> None:
    recording = corpus.recording(name)
    expected = recording.expected

    decoded = read(recording.body, size)

    response = decoded.response
    check_order(decoded.events)
    assert decoded.error is None and expected["error"] is None
    assert response.text == expected["text"]
    assert response.reasoning == expected["reasoning"]
    calls = expected["tool_calls"]
    assert calls_of(decoded) == [(call["name"], call["arguments_json"]) for call in calls]
    ids = [call.id for call in response.tool_calls]
    assert all(ids) and len(set(ids)) == len(ids)
    assert [call["id"] or id for id, call in zip(ids, calls)] == ids, "ids are kept"
    assert response.model == expected["model"]
    usage = expected["usage"]
    assert response.usage == Usage(usage["prompt_eval_count"], usage["eval_count"])
    reason = expected["stop_reason"]
    assert response.stop_reason == ("tool_calls" if calls and reason == "stop" else reason)


@pytest.mark.parametrize("name", STREAMS)
def test_a_cut_loses_one_line_at_most_and_is_never_taken_for_the_end(name: str) -> None:
    body = corpus.recording(name).body
    whole = read(body)
    before, start = read(b""), 0
    for end in line_ends(body):
        inside = read(body[: (start + end) // 2])
        assert (inside.events, inside.error) == (before.events, None)
        cut = read(body[:end])
        assert cut.is_complete == (end == len(body))
        if not cut.is_complete:
            assert cut.events == [*whole.events[: len(cut.events) - 1], Finished("interrupted")]
        before, start = cut, end
    assert before.events == whole.events


@pytest.mark.parametrize("name", STREAMS)
def test_the_whole_reply_equals_the_folded_stream(name: str) -> None:
    """A reply that is not streamed is the lines folded into one, as the server does it."""
    body = corpus.recording(name).body
    whole = collect(read_response(folded(body), ROW))
    streamed = read(body)

    check_order(whole.events)
    assert whole.response._replace(blocks=()) == streamed.response._replace(blocks=())
    assert kinds_and_texts(whole) == kinds_and_texts(streamed)
    assert calls_of(whole) == calls_of(streamed)


@pytest.mark.parametrize("name", STREAMS)
def test_arguments_are_seen_as_they_are_run(name: str) -> None:
    decoded = read(corpus.recording(name).body)
    shown = [json.loads(e.text) for e in decoded.events if isinstance(e, ToolArgumentsDelta)]
    assert shown == [arguments for _, arguments in calls_of(decoded) if arguments]


def kinds_and_texts(decoded: Decoded) -> List[Tuple[str, str]]:
    return [(type(b).__name__, getattr(b, "text", "")) for b in decoded.response.blocks]


def folded(body: bytes) -> Dict[str, Any]:
    lines = [json.loads(line) for line in body.splitlines() if line.strip()]
    message: Dict[str, Any] = {"role": "assistant", "content": ""}
    for line in lines:
        for field in ("content", "thinking", "tool_calls"):
            if line["message"].get(field):
                message[field] = message.get(field, type(line["message"][field])())
                message[field] += line["message"][field]
    return {**lines[-1], "message": message}


def line_ends(body: bytes) -> Iterator[int]:
    """Where each line of ``body`` ends, the last one wherever the bytes do."""
    end = body.find(b"\n")
    while 0 <= end < len(body.rstrip()):
        yield end + 1
        end = body.find(b"\n", end + 1)
    yield len(body)
