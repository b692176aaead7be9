"""The Gemini decoder against recordings of real servers: whole, in pieces, cut, sent back."""

from __future__ import annotations

import json
import re
import time
from typing import Any, Dict, Iterator, List, Optional

import pytest

from jpq.conversation.cycle_fold import CycleFold
from jpq.conversation.event import ChatRequest, Draft, ToolCall, ToolResponse
from jpq.conversation.stream import ConversationStream
from jpq.conversation.thread import Origin, Thread, build_thread
from jpq.events.parts import StreamEvent
from jpq.events.usage import Usage
from jpq.provider.base import ProviderRequest, ProviderRow
from jpq.provider.google import encode, make_decoder, read_response
from jpq.wire import sse
from tests.support import corpus
from tests.support.decoding import Decoded, check_order, collect, decode, pieces
from tests.support.validators_google import check_request

ROW = ProviderRow("recorded", "google", "https://gemini.test/v1beta")
STREAMS = corpus.cases(corpus.stream_names("google"))
MINE, OTHER = Origin("recorded", "m1"), Origin("recorded", "m2")

REASONS = {"STOP": "stop", "MAX_TOKENS": "length"}
FILTERS = ("SAFETY", "RECITATION", "PROHIBITED_CONTENT")

# Where jpq decides otherwise than the recording's ``expected``, for all of them:
# - a call without an id gets one, as a conversation needs it;
# - a stop with calls is ``tool_calls``; filters are ``content_filter``, a blocked prompt too;
# - an answer that ends in an error has no finish reason, even if one came before;
# - thoughts count as output, and what Google's tools put into the prompt counts as input.


def read(body: bytes, size: Optional[int] = None) -> Decoded:
    return decode(make_decoder(ROW), [body] if size is None else pieces(body, size))


def expected_reason(expected: Dict[str, Any]) -> str:
    said = expected["stop_reason"]
    if expected["error"] is not None:
        return "interrupted"
    blocked = (expected["prompt_feedback"] or {}).get("blockReason")
    if said in FILTERS or (blocked and said in (None, "STOP")):
        return "content_filter"
    if said == "STOP" and expected["tool_calls"]:
        return "tool_calls"
    return REASONS.get(said, said or "interrupted")


def expected_usage(value: Optional[Dict[str, Any]]) -> Usage:
    value = value or {}
    prompt = [value[n] for n in ("promptTokenCount", "toolUsePromptTokenCount") if n in value]
    answer = [value[n] for n in ("candidatesTokenCount", "thoughtsTokenCount") if n in value]
    return Usage(
        input_tokens=sum(prompt) if prompt else None,
        output_tokens=sum(answer) if answer else None,
        reasoning_tokens=value.get("thoughtsTokenCount"),
        cache_read_tokens=value.get("cachedContentTokenCount"),
    )


def signatures(value: Any) -> List[str]:
    """Every signature in a JSON value, in order."""
    if isinstance(value, dict):
        own = [value["thoughtSignature"]] if "thoughtSignature" in value else []
        inner = [
            s for name, v in value.items() if name != "thoughtSignature" for s in signatures(v)
        ]
        return own + inner
    return [s for item in value for s in signatures(item)] if isinstance(value, list) else []


def kept(decoded: Decoded) -> List[Dict[str, Any]]:
    """What the blocks of an answer carry for their maker."""
    blocks = decoded.response.blocks
    return [dict(getattr(b, "metadata", None) or getattr(b, "data", {})) for b in blocks]


@pytest.mark.parametrize("size", [None, 1, 2, 7])
@pytest.mark.parametrize("name", STREAMS)
def test_a_recording_decodes_to_what_was_said(name: str, size: Optional[int]) -> None:
    recording = corpus.recording(name)
    expected = recording.expected

    decoded = read(recording.body, size)

    response = decoded.response
    assert response.text == expected["text"]
    assert response.reasoning == expected["reasoning"]
    calls = [(call.name, call.arguments) for call in response.tool_calls]
    assert calls == [(c["name"], c["arguments_json"] or {}) for c in expected["tool_calls"]]
    ids = [call.id for call in response.tool_calls]
    given = [call["id"] for call in expected["tool_calls"]]
    assert all(id == own for id, own in zip(ids, given) if own)
    assert len(set(ids)) == len(ids) and all(re.fullmatch("[a-zA-Z0-9_-]{1,40}", i) for i in ids)
    assert signatures(kept(decoded)) == expected["thought_signatures"]
    assert response.usage == expected_usage(expected["usage"])
    assert (
        response.usage.output_tokens is None
        or sum(filter(None, response.usage[:2])) == expected["usage"]["totalTokenCount"]
    )
    assert response.model == expected["model"]
    assert response.message_id == expected["response_id"]
    assert response.stop_reason == expected_reason(expected)
    check_order(decoded.events)
    if expected["error"] is None:
        assert decoded.error is None
    else:
        assert decoded.error is not None
        assert expected["error"]["message"] in decoded.error.message


@pytest.mark.parametrize("name", STREAMS)
def test_parts_of_the_provider_are_kept_verbatim(name: str) -> None:
    body = corpus.recording(name).body
    known = {"text", "functionCall", "thought", "thoughtSignature"}
    odd = [part for part in recorded_parts(body) if not set(part) <= known]
    assert [data for data in kept(read(body)) if not set(data) <= known | {"parts", "id"}] == odd


@pytest.mark.parametrize("name", STREAMS)
def test_a_cut_is_never_taken_for_the_end(name: str) -> None:
    body = corpus.recording(name).body
    whole = read(body)
    for cut in event_ends(body):
        decoded = read(body[:cut])
        check_order(decoded.events)
        assert whole.response.text.startswith(decoded.response.text)
        assert not decoded.is_complete or ends_answer(body[:cut])


def test_a_stop_while_code_runs_is_not_the_end() -> None:
    body = corpus.recording("0xPlaygrounds__rig/gemini/finish-twice.sse").body
    complete = [read(body[:cut]).is_complete for cut in event_ends(body)]
    assert complete == [False] * (len(complete) - 1) + [True]


@pytest.mark.parametrize("name", STREAMS)
def test_a_cut_inside_an_event_loses_that_event_only(name: str) -> None:
    body = corpus.recording(name).body
    start = 0
    for end in event_ends(body):
        inside, before = read(body[: (start + end) // 2]), read(body[:start])
        assert inside.response.text == before.response.text
        assert inside.is_complete == before.is_complete
        start = end


@pytest.mark.parametrize("name", STREAMS)
def test_a_recording_says_the_same_without_alt_sse_and_when_it_is_sent_whole(name: str) -> None:
    body = corpus.recording(name).body
    streamed = read(body)
    chunks = list(json_chunks(body))
    if streamed.error or not any(c.get("candidates") or c.get("promptFeedback") for c in chunks):
        return  # no answer that could come whole

    listed = collect(read_response(chunks, ROW))
    assert listed.response == streamed.response
    if b"partialArgs" in body or b"willContinue" in body:
        return  # only a stream has those
    whole = collect(read_response(as_whole_reply(chunks), ROW))
    assert whole.response._replace(blocks=(), details={}) == streamed.response._replace(
        blocks=(), details={}
    )
    assert whole.response.blocks == streamed.response.blocks
    check_order(whole.events)


@pytest.mark.parametrize("name", STREAMS)
def test_a_recorded_turn_is_sent_back_as_it_came(name: str) -> None:
    body = corpus.recording(name).body
    sent = sent_contents(conversation(body, MINE))
    said = [part for content in sent if content["role"] == "model" for part in content["parts"]]
    assert signatures(said) == signatures(recorded_parts(body))
    if b"partialArgs" in body or b"willContinue" in body:
        return  # a call in pieces goes back as one
    # Plain text is put together; thoughts that are not signed do not go back.
    signed = [part for part in recorded_parts(body) if set(part) - {"text", "thought"}]
    assert [with_arguments(part) for part in signed] == [p for p in said if set(p) - {"text"}]


@pytest.mark.parametrize("name", STREAMS)
def test_another_model_is_sent_nothing_that_is_not_its_own(name: str) -> None:
    sent = sent_contents(conversation(corpus.recording(name).body, OTHER))
    assert not signatures(sent)
    parts = [part for content in sent for part in content["parts"]]
    assert all(set(part) <= {"text", "functionCall", "functionResponse"} for part in parts)
    assert not any("id" in part.get("functionCall", ()) for part in parts)
    # A model that wants every step signed is told why this one is not.
    signed = ROW._replace(quirks={"signed_calls": True})
    check_request(
        encode(ProviderRequest("m1", thread_of(corpus.recording(name).body)), signed, None).body,
        signed_calls=True,
    )


@pytest.mark.parametrize("status", ["400", "403", "404", "429"])
def test_errors_are_read_with_their_words(status: str) -> None:
    body = corpus.read("http-errors", "gemini", f"{status}.body")
    error = decode(make_decoder(ROW), [b"data: " + b" ".join(body.split()) + b"\n\n"]).error
    assert error is not None
    kinds = {"400": "auth", "403": "auth", "404": "not_found", "429": "rate_limited"}
    assert error.kind.word == kinds[status]


@pytest.mark.parametrize("text", ["word ", "Grüße "])
def test_decoding_costs_no_more_than_parsing(text: str) -> None:
    def chunk(n: int) -> bytes:
        candidates = [{"content": {"parts": [{"text": text}], "role": "model"}, "index": 0}]
        usage = {"promptTokenCount": 9, "candidatesTokenCount": n, "totalTokenCount": 9 + n}
        value = {"candidates": candidates, "usageMetadata": usage, "modelVersion": "m"}
        return f"data: {json.dumps(value, ensure_ascii=False)}\r\n\r\n".encode()

    messages = list(sse.messages([b"".join(map(chunk, range(4000)))]))

    def decoded() -> List[StreamEvent]:
        decoder = make_decoder(ROW)
        return [event for message in messages for event in decoder.feed(message)]

    # Twice the time that is allowed, as other work may run on the machine.
    assert fastest(decoded) < 4 * fastest(lambda: [json.loads(m.data) for m in messages])


def fastest(run: Any) -> float:
    def once() -> float:
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    return min(once() for _ in range(5))


def event_ends(body: bytes) -> Iterator[int]:
    """Where each event of ``body`` ends."""
    return (found.end() for found in re.finditer(b"\r?\n\r?\n", body))


def json_chunks(body: bytes) -> Iterator[Dict[str, Any]]:
    for line in body.splitlines():
        if line.startswith(b"data:"):
            yield json.loads(line[len(b"data:") :])


def recorded_parts(body: bytes) -> List[Dict[str, Any]]:
    """The parts of an answer as they came."""
    contents = [c.get("content") or {} for v in json_chunks(body) for c in v.get("candidates", ())]
    return [part for content in contents for part in content.get("parts", ())]


def ends_answer(body: bytes) -> bool:
    """Whether ``body`` holds the provider's word for the end, read independently."""
    return b'"finishReason"' in body or b'"blockReason"' in body


def as_whole_reply(chunks: List[Dict[str, Any]]) -> Dict[str, Any]:
    """The chunks of a stream put together, as generateContent answers."""
    whole: Dict[str, Any] = {}
    candidate: Dict[str, Any] = {}
    parts: List[Any] = []
    for chunk in chunks:
        whole.update(chunk)
        for piece in chunk.get("candidates", ()):
            candidate.update(piece)
            parts += (piece.get("content") or {}).get("parts", ())
    if candidate:
        whole["candidates"] = [{**candidate, "content": {"parts": parts, "role": "model"}}]
    return whole


def with_arguments(part: Dict[str, Any]) -> Dict[str, Any]:
    if "functionCall" not in part:
        return part
    return {**part, "functionCall": {"args": {}, **part["functionCall"]}}


def conversation(body: bytes, origin: Origin) -> List[Draft]:
    """The recorded answer as it is stored, its calls answered, and another question."""
    fold = CycleFold(origin)
    for event in read(body).events:
        fold.feed(event)
    said = fold.drafts()
    calls = [draft.event for draft in said if isinstance(draft.event, ToolCall)]
    results = [Draft(ToolResponse(call.id, "done", False)) for call in calls]
    again = [] if calls else [Draft(ChatRequest("And then?"))]
    return [Draft(ChatRequest("Go.")), *said, *results, *again]


def to_thread(drafts: List[Draft]) -> Thread:
    stream = ConversationStream()
    for draft in drafts:
        stream.append(draft)
    return build_thread(list(stream.entries))


def thread_of(body: bytes) -> Thread:
    return to_thread(conversation(body, OTHER))


def sent_contents(drafts: List[Draft]) -> List[Dict[str, Any]]:
    body = encode(ProviderRequest("m1", to_thread(drafts)), ROW, None).body
    check_request(body)
    contents: List[Dict[str, Any]] = body["contents"]
    return contents
