"""Gemini over HTTP: what its servers do to streams, through a real connection."""

from __future__ import annotations

import json
from typing import Any, Iterator

import pytest

from jpq.conversation.thread import Message, Thread, ThreadText
from jpq.events.transcript import TextBlock
from jpq.provider import google
from jpq.provider.base import ProviderRequest, ProviderRow
from jpq.provider.http import HttpProvider
from tests.support.decoding import Decoded, collect
from tests.support.server import Server, Step, head

PARTS = ({"text": "Hel"}, {"text": "lo"}, {"text": "", "thoughtSignature": "s"})


def chunks() -> Iterator[Any]:
    for part in PARTS:
        end = {"finishReason": "STOP"} if part is PARTS[-1] else {}
        content = {"parts": [part], "role": "model"}
        yield {"candidates": [{"content": content, **end}], "modelVersion": "m"}


def ask(*script: Step) -> Decoded:
    with Server(script) as server:
        provider = HttpProvider(ProviderRow("google", "google", server.url), google, "k")
        thread = Thread("", (Message("user", (ThreadText("Hi"),)),))
        try:
            decoded = collect(provider.exchange(ProviderRequest("m", thread)).events())
        finally:
            provider.close()
        assert server.seen[0].path == "/v1/models/m:streamGenerateContent?alt=sse"
        return decoded


@pytest.mark.parametrize("way", ["events", "list", "pretty list"])
def test_the_stream_comes_as_events_or_as_a_list(way: str) -> None:
    if way == "events":
        body = "".join(f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chunks())
        media_type = "text/event-stream"
    else:
        body = json.dumps(list(chunks()), indent=2 if way == "pretty list" else None)
        media_type = "application/json; charset=UTF-8"

    decoded = ask(head(media_type, chunked=False), body.encode())

    assert decoded.error is None
    assert (decoded.response.text, decoded.response.stop_reason) == ("Hello", "stop")
    (block,) = decoded.response.blocks
    assert block == TextBlock("Hello", {"parts": [{"text": "Hello"}, PARTS[-1]]})


def test_a_list_of_one_error_is_that_error() -> None:
    error = [{"error": {"code": 429, "message": "Slow down.", "status": "RESOURCE_EXHAUSTED"}}]
    for body in (json.dumps(error), json.dumps([*chunks(), *error])):
        failed = ask(head("application/json", chunked=False), body.encode()).error
        assert failed is not None and failed.kind.word == "rate_limited"


def test_a_list_that_was_cut_is_no_answer() -> None:
    body = json.dumps(list(chunks()))[:-20]
    failed = ask(head("application/json", chunked=False), body.encode()).error
    assert failed is not None and failed.kind.word == "cut"
