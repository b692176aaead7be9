"""Errors as every API's decoder meets them: recorded in streams, and every recorded error body
sent inside a stream or in place of an answer, as gateways do."""

from __future__ import annotations

import json
import os
from typing import Any, Optional

import pytest

from jpq.errors import ErrorKind, StreamError
from jpq.provider import ndjson
from jpq.provider.base import ProviderRow
from jpq.provider.failure import from_error_object
from jpq.provider.registry import load_api
from tests.support import corpus
from tests.support.decoding import Decoded, collect, decode

APIS = ("openai-chat", "openai-responses", "anthropic", "google", "ollama")
BODIES = corpus.files("http-errors", "", ".body")

# The recorded streams that end in an error, and its kind. All others end by themselves or
# are cut.
RECORDED = {
    "pydantic__pydantic-ai/groq-chat/error-event-after-reasoning.sse": "invalid_request",
    "pydantic__pydantic-ai/openrouter-chat/error-after-comments.sse": "invalid_request",
    "vercel__ai/openai-chat/error-first-numeric-code.sse": "invalid_request",
    "vercel__ai/openai-chat/error-first.sse": "server",
    "vercel__ai/openai-chat/error-mid.sse": "server",
    "vercel__ai/openai-chat/unparsable.sse": "cut",
    "vercel__ai/openai-responses/error-top-level.sse": "rate_limited",
    "vercel__ai/anthropic-messages/error-overloaded-first.sse": "overloaded",
    "FirebaseExtended__vertexai-sdk-test-data/vertex-gemini/error-mid-stream.sse": "server",
}


def read(api: str, body: bytes) -> Decoded:
    module = load_api(api)
    decoder = module.make_decoder(ProviderRow("prov", api))
    if module.FRAMING == "ndjson":
        return decode(decoder, [body], ndjson.messages)
    return decode(decoder, [body])


@pytest.mark.parametrize("api", APIS)
def test_every_recorded_stream_error_has_its_kind(api: str) -> None:
    corpus.require("streams")
    names = corpus.stream_names(api)
    found = {}
    for name in names:
        recording = corpus.recording(name)
        error = read(api, recording.body).error
        if error is not None:
            found[name] = error.kind.word
            told = (recording.expected.get("error") or {}).get("message")
            assert told is None or error.message.count(told[:100]) == 1, "the words, told once"
    assert found == {name: kind for name, kind in RECORDED.items() if name in names}


def body_as_json(path: str) -> Any:
    try:
        return json.loads(corpus.read(path))
    except ValueError:
        return None


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("path", corpus.cases(BODIES))
def test_every_error_body_inside_a_stream_is_told_once(path: Optional[str], api: str) -> None:
    corpus.require("http-errors")
    assert path is not None
    value = body_as_json(path)
    if not isinstance(value, dict) or not value.get("error"):
        return  # as an event of a stream nobody sends it; as a reply it is read below
    prefix = "" if api == "ollama" else "event: error\ndata: "
    error = read(api, f"{prefix}{json.dumps(value)}\n\n".encode()).error
    expected = from_error_object(value, "prov")
    assert error is not None and error.kind is expected.kind
    assert error.message == expected.message and "\n" not in error.message
    if os.path.basename(path).startswith("401"):
        assert error.kind is ErrorKind.AUTH


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("path", corpus.cases(BODIES))
def test_every_error_body_in_place_of_an_answer_is_an_error(path: Optional[str], api: str) -> None:
    corpus.require("http-errors")
    assert path is not None
    module = load_api(api)
    value = body_as_json(path)
    error = collect(module.read_response(value, ProviderRow("prov", api))).error
    assert isinstance(error, StreamError)
    assert "<html" not in error.message.lower() and "\n" not in error.message
