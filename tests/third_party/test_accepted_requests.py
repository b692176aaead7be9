"""Conversations with answered parallel calls, reasoning and attachments, sent to servers of other
people through every API that these speak. What they refuse, a provider would refuse, too."""

from __future__ import annotations

import os
from typing import Any, Dict, Iterator

import pytest

from jpq.conversation.event import ChatRequest, Draft
from jpq.conversation.thread import Origin, Thread
from jpq.events.transcript import ChatResponse, Transcript
from jpq.provider.base import ProviderRequest, ProviderRow
from jpq.provider.http import HttpProvider
from jpq.provider.local_process import running_servers
from jpq.provider.local_state import ServerState
from jpq.provider.registry import load_api
from tests.support import programs
from tests.support.llmock import Llmock
from tests.support.mixed_conversations import APIS, TOOL, thread_of, turn
from tests.support.weights import needs_engine

LLMOCK_PATHS = {
    "openai-chat": "/v1",
    "openai-responses": "/v1",
    "anthropic": "/anthropic/v1",
    "google": "/gemini/v1beta",
}
LLAMACPP_APIS = ("openai-chat", "openai-responses", "anthropic")
both_ways = pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])


def conversation(made_by: str, origin: Origin) -> Thread:
    return thread_of([*turn(made_by, origin), Draft(ChatRequest("Count to three."))])


def answer(row: ProviderRow, key: str, request: ProviderRequest) -> ChatResponse:
    provider = HttpProvider(row, load_api(row.api), key)
    try:
        return Transcript().drain(provider.exchange(request).events())
    finally:
        provider.close()


@both_ways
@pytest.mark.parametrize("made_by", APIS)
@pytest.mark.parametrize("api", LLMOCK_PATHS)
def test_llmock_takes_what_any_api_made(
    llmock: Llmock, api: str, made_by: str, stream: bool
) -> None:
    model = f"mixed-{made_by}-{stream}.{api}"
    llmock.script(model, {"type": "reply", "text": "one two three"})
    row = ProviderRow("mock", api, llmock.url + LLMOCK_PATHS[api])
    thread = conversation(made_by, Origin("mock", model))
    request = ProviderRequest(model, thread, (TOOL,), stream=stream)
    response = answer(row, "sk-test", request)
    assert (response.text, response.stop_reason) == ("one two three", "stop")
    assert llmock.findings(model) == []


@pytest.fixture(scope="module")
def llamacpp(home: str) -> Iterator[ServerState]:
    """The running llama.cpp server of the embedded model."""
    environ: Dict[str, str] = programs.environment(JPQ_HOME=home)
    ran = programs.jpq("-m", "local/smollm2", "-o", "max_tokens=1", "Hi", environ=environ)
    assert ran.code in (0, 76), ran
    (server,) = running_servers(os.path.join(home, "state"))
    yield server.state


@needs_engine
@both_ways
@pytest.mark.parametrize("made_by", APIS)
@pytest.mark.parametrize("api", LLAMACPP_APIS)
def test_llama_server_takes_what_any_api_made(
    llamacpp: ServerState, api: str, made_by: str, stream: bool
) -> None:
    quirks: Dict[str, Any] = {"text_only": True, "no_reasoning": True}
    row = ProviderRow("llama", api, llamacpp.base_url, quirks=quirks)
    # Of another model: llama.cpp reads its own reasoning, which is not encrypted.
    thread = conversation(made_by, Origin("maker", "m9"))
    # Without a call: the limit would cut it, and llama.cpp fails at a call that it cannot read.
    options = {"max_tokens": 4, "temperature": 0}
    request = ProviderRequest("smollm2", thread, (TOOL,), "none", options, stream)
    response = answer(row, llamacpp.key, request)
    assert response.is_complete
    assert response.usage.output_tokens is not None and 0 < response.usage.output_tokens <= 4
