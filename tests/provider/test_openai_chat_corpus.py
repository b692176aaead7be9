"""The chat decoder against recordings of real servers, whole, in pieces and cut."""

from __future__ import annotations

import itertools
import json
import os
from typing import Any, Dict, Iterator, List, Optional, Tuple

import pytest

from jpq.events.parts import Part, ToolArgumentsDelta
from jpq.events.usage import Usage
from jpq.provider.base import ProviderRow
from jpq.provider.openai_chat import make_decoder, read_response
from tests.support import corpus
from tests.support.decoding import Decoded, check_order, collect, decode, pieces

ROW = ProviderRow("recorded", "openai-chat")
STREAMS = corpus.cases(corpus.stream_names("openai-chat"))
LIVE = corpus.cases(
    corpus.files("llamacpp-live", "chat-", ".sse") + corpus.files("llamacpp-live", "err-", ".sse")
)

# Where jpq decides otherwise than the recording's ``expected``, and why.
JUDGEMENTS: Dict[str, Tuple[str, Dict[str, Any]]] = {
    "DataDog__dd-trace-py/openai-chat/n2-choices-tools.sse": (
        "only the first choice is read, so the second choice's call is not a call of this answer",
        {"calls": 1},
    ),
    "vercel__ai/openai-chat/unparsable.sse": (
        "data that is not JSON in the middle of a stream may have been text: it is a cut",
        {"error": "cut"},
    ),
}


def read(body: bytes, size: Optional[int] = None) -> Decoded:
    return decode(make_decoder(ROW), [body] if size is None else pieces(body, size))


def expected_calls(expected: Dict[str, Any], limit: Optional[int]) -> List[Tuple[str, str, Any]]:
    calls = []
    for call in expected["tool_calls"][:limit]:
        arguments = call["arguments_json"]
        if not isinstance(arguments, dict):
            # No arguments (or null) are an empty object; what does not parse is kept raw.
            text = call["arguments"]
            arguments = {} if text in ("", "null") else {"raw": text}
        calls.append((call["id"] or "", call["name"], arguments))
    return calls


def expected_usage(value: Optional[Dict[str, Any]]) -> Usage:
    """The counts as a reader of the providers' documentation would pick them."""
    value = value or {}
    prompt = value.get("prompt_tokens_details") or {}
    completion = value.get("completion_tokens_details") or {}
    return Usage(
        input_tokens=value.get("prompt_tokens"),
        output_tokens=value.get("completion_tokens"),
        reasoning_tokens=completion.get("reasoning_tokens", value.get("reasoning_tokens")),
        cache_read_tokens=prompt.get(
            "cached_tokens",
            value.get("prompt_cache_hit_tokens", value.get("cache_read_input_tokens")),
        ),
        cache_write_tokens=prompt.get(
            "cache_write_tokens", value.get("cache_creation_input_tokens")
        ),
    )


def expected_reason(expected: Dict[str, Any]) -> Optional[str]:
    """A refusal and a call are told apart from a plain stop; an error has no reason."""
    if expected["error"] is not None:
        return "interrupted"
    if expected["stop_reason"] == "stop" and expected["tool_calls"]:
        return "tool_calls"
    if expected["stop_reason"] == "stop" and expected["refusal"]:
        return "refusal"
    return str(expected["stop_reason"])


@pytest.mark.parametrize("size", [None, 1, 2, 7])
@pytest.mark.parametrize("name", STREAMS)
def test_a_recording_decodes_to_what_was_said(name: str, size: Optional[int]) -> None:
    recording = corpus.recording(name)
    expected = recording.expected
    differs = JUDGEMENTS.get(name, ("", {}))[1]

    decoded = read(recording.body, size)

    response = decoded.response
    # A refusal is shown: it is what the model said.
    assert response.text == expected["text"] + (expected["refusal"] or "")
    assert response.reasoning == expected["reasoning"]
    wanted = expected_calls(expected, differs.get("calls"))
    given = [id for id, _, _ in wanted]  # where none is, one is made up
    calls = [
        (call.id if id else "", call.name, call.arguments)
        for id, call in itertools.zip_longest(given, response.tool_calls)
    ]
    assert calls == wanted
    ids = [call.id for call in response.tool_calls]
    assert all(ids) and len(set(ids)) == len(ids)
    assert response.usage == expected_usage(expected["usage"])
    assert response.model == expected["model"]
    assert response.message_id == expected["response_id"]
    check_order(decoded.events)
    if "error" in differs:
        assert decoded.error is not None and decoded.error.kind.word == differs["error"]
    elif expected["error"] is not None:
        assert decoded.error is not None
        # Providers wrap their words at most; jpq shortens what is longer than a few lines.
        assert expected["error"]["message"][:100] in decoded.error.message
    else:
        assert decoded.error is None
        assert response.stop_reason == expected_reason(expected)


@pytest.mark.parametrize("name", STREAMS)
def test_a_cut_is_never_taken_for_the_end(name: str) -> None:
    body = corpus.recording(name).body
    whole = read(body)
    for cut in event_ends(body):
        decoded = read(body[:cut])
        check_order(decoded.events)
        assert is_beginning(decoded, whole)
        assert decoded.is_complete == (ends_answer(body[:cut]) and decoded.error is None)


@pytest.mark.parametrize("name", STREAMS)
def test_a_cut_inside_an_event_loses_that_event_only(name: str) -> None:
    body = corpus.recording(name).body
    start = 0
    for end in event_ends(body):
        middle = (start + end) // 2
        inside, before = read(body[:middle]), read(body[:start])
        if b"\n\n" not in body[start : end - 2] and inside.error is None:
            assert inside.response.text.startswith(before.response.text)
            assert inside.is_complete == (before.is_complete or ends_answer(body[:middle]))
        start = end


@pytest.mark.parametrize("name", LIVE)
def test_llama_server_is_read_as_it_was_written(name: str) -> None:
    body = corpus.read(name)
    chunks = list(json_chunks(body))
    choices = [chunk["choices"][0] for chunk in chunks if chunk.get("choices")]
    reasons = [choice["finish_reason"] for choice in choices if choice["finish_reason"]]

    for size in (None, 1, 2, 7):
        decoded = read(body, size)
        check_order(decoded.events)
        assert decoded.response.text == "".join(c["delta"].get("content") or "" for c in choices)
        assert "".join(arguments(decoded)) == "".join(written_arguments(choices))
        if "error" in chunks[-1]:
            assert decoded.error is not None
            assert chunks[-1]["error"]["message"] in decoded.error.message
        else:
            assert decoded.error is None
            assert [decoded.response.stop_reason] == reasons


@pytest.mark.parametrize("model", ["smollm2-135m", "smollm2-135m-hermes-template"])
def test_the_whole_reply_equals_the_folded_stream(model: str) -> None:
    folder = corpus.require("llamacpp-live", model)
    streamed = read(corpus.read(folder, "chat-stream-usage.sse")).response
    whole = read_whole(os.path.join(folder, "chat-nostream.json")).response

    assert whole.blocks == streamed.blocks
    assert whole.stop_reason == streamed.stop_reason
    assert whole.model == streamed.model
    assert whole.usage._replace(cache_read_tokens=None) == streamed.usage._replace(
        cache_read_tokens=None
    ), "the same but for what was cached by then"


def test_a_whole_tool_call_equals_the_folded_stream() -> None:
    folder = corpus.require("llamacpp-live", "smollm2-135m-json-template")
    streamed = read(corpus.read(folder, "chat-stream-toolcall-auto.sse")).response
    whole = read_whole(os.path.join(folder, "chat-nostream-toolcall.json")).response

    (call,), (streamed_call,) = whole.tool_calls, streamed.tool_calls
    assert call._replace(id="") == streamed_call._replace(id="")
    assert whole.stop_reason == streamed.stop_reason == "tool_calls"


def test_an_error_in_a_whole_reply_is_raised() -> None:
    path = corpus.require(
        "llamacpp-live", "smollm2-135m-json-template", "chat-nostream-parsefail.json"
    )
    error = read_whole(path).error
    assert error is not None and error.kind.word == "server"


def read_whole(path: str) -> Decoded:
    with open(path, encoding="utf-8") as file:
        return collect(read_response(json.load(file), ROW))


def event_ends(body: bytes) -> Iterator[int]:
    """Where each event of ``body`` ends."""
    end = body.find(b"\n\n")
    while end >= 0:
        yield end + 2
        end = body.find(b"\n\n", end + 2)


def json_chunks(body: bytes) -> Iterator[Dict[str, Any]]:
    for line in body.split(b"\n"):
        if line.startswith(b"data: {"):
            try:
                chunk = json.loads(line[len(b"data: ") :])
            except ValueError:
                continue  # the event that was cut
            if isinstance(chunk, dict):
                yield chunk


def ends_answer(body: bytes) -> bool:
    """Whether ``body`` holds the provider's word for the end, read independently."""
    if any(line.strip() == b"data: [DONE]" for line in body.split(b"\n")):
        return True
    choices = [c for chunk in json_chunks(body) for c in chunk.get("choices") or ()]
    return any(c.get("finish_reason") for c in choices if not c.get("index"))


def is_beginning(cut: Decoded, whole: Decoded) -> bool:
    """Whether what came before the cut is what comes first in the whole stream."""
    return (
        whole.response.text.startswith(cut.response.text)
        and whole.response.reasoning.startswith(cut.response.reasoning)
        and len(cut.response.tool_calls) <= len(whole.response.tool_calls)
    )


def arguments(decoded: Decoded) -> Iterator[str]:
    return (e.text for e in decoded.events if isinstance(e, ToolArgumentsDelta))


def written_arguments(choices: List[Dict[str, Any]]) -> Iterator[str]:
    for choice in choices:
        for call in choice["delta"].get("tool_calls") or ():
            yield call["function"].get("arguments") or ""


def test_no_call_of_a_cut_answer_is_whole() -> None:
    body = corpus.recording("0xPlaygrounds__rig/deepseek-chat/tools-parallel.sse").body
    cut = body[: body.index(b'"finish_reason":"tool_calls"')]
    cut = cut[: cut.rindex(b"\n\n") + 2]
    events = read(cut).events
    assert any(isinstance(event, ToolArgumentsDelta) for event in events)
    assert not any(isinstance(event, Part) for event in events)
