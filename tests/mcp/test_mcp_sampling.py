"""A server's questions to the model, through the run's own provider."""

from __future__ import annotations

import threading
from typing import Any, Dict, List

import pytest

from jpq.conversation.thread import ASSISTANT, USER, ThreadImage, ThreadText
from jpq.errors import ErrorKind, StreamError
from jpq.events.parts import Finished, Flush, MessageDelta, Part
from jpq.interrupt.cancel import CancelToken
from jpq.mcp.failure import McpCancelled
from jpq.provider.base import ModelRef, ProviderRequest
from jpq.tools.mcp_sampling import sampler_of
from tests.mcp.stdio_server import PICTURE

MODEL = ModelRef("p", "m")
WAIT_S = 30.0


class OneAnswer:
    """A provider that says one thing and remembers what it was asked."""

    def __init__(self, text: str, reason: str) -> None:
        self._events = [Part(0, MessageDelta(text)), Flush(0), Finished(reason)]
        self.requests: List[ProviderRequest] = []

    def exchange(self, request: ProviderRequest) -> Any:
        self.requests.append(request)
        return self

    def events(self) -> Any:
        return iter(self._events)

    def abort(self) -> None:
        pass


class Silent:
    """A provider whose model begins, and then says nothing until it is stopped."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.aborted = threading.Event()

    def exchange(self, request: ProviderRequest) -> Any:
        return self

    def events(self) -> Any:
        yield Part(0, MessageDelta("It "))
        self.begun.set()
        self.aborted.wait(WAIT_S)

    def abort(self) -> None:
        self.aborted.set()


def message(role: str, text: str) -> Dict[str, Any]:
    return {"role": role, "content": {"type": "text", "text": text}}


def test_the_runs_model_answers_within_the_servers_limits() -> None:
    provider: Any = OneAnswer("It is Paris.", "length")
    messages = [message("user", "Capital"), message("user", "of France?"), message("user", " ")]
    params = {"messages": messages, "systemPrompt": "Be brief.", "maxTokens": 9}
    result = sampler_of(provider, MODEL, {"temperature": 0.5}, WAIT_S)(params, CancelToken())
    assert result == {
        "role": "assistant",
        "content": {"type": "text", "text": "It is Paris."},
        "model": "m",
        "stopReason": "maxTokens",
    }
    (request,) = provider.requests
    assert request.options == {"temperature": 0.5, "max_tokens": 9}
    assert request.thread.system == "Be brief."
    (asked,) = request.thread.messages  # what one side says in a row is one message
    assert [block.text for block in asked.blocks] == ["Capital", "of France?"]


def test_roles_stay_what_they_are() -> None:
    provider: Any = OneAnswer("yes", "stop")
    messages = [message("user", "a"), message("assistant", "b"), message("user", "c")]
    result = sampler_of(provider, MODEL, {}, WAIT_S)({"messages": messages}, CancelToken())
    assert result["stopReason"] == "endTurn"
    roles = [each.role for each in provider.requests[0].thread.messages]
    assert roles == [USER, ASSISTANT, USER]


def test_the_model_is_given_the_pictures() -> None:
    provider: Any = OneAnswer("a dot", "stop")
    image = {"type": "image", "data": PICTURE, "mimeType": "image/png"}
    parts = [{"type": "text", "text": "What is this?"}, image]
    messages = [{"role": "user", "content": parts}]
    sampler_of(provider, MODEL, {}, WAIT_S)({"messages": messages}, CancelToken())
    (asked,) = provider.requests[0].thread.messages
    assert asked.blocks == (
        ThreadText("What is this?\n\n[image-1.png: image/png, 16 bytes]"),
        ThreadImage("image-1.png", "image/png", PICTURE),
    )


def test_a_question_is_given_up_with_the_call() -> None:
    provider: Any = Silent()
    cancel = CancelToken()
    canceller = threading.Thread(target=lambda: provider.begun.wait(WAIT_S) and cancel.cancel())
    canceller.start()
    with pytest.raises(McpCancelled):
        sampler_of(provider, MODEL, {}, WAIT_S)({"messages": [message("user", "a")]}, cancel)
    canceller.join()
    assert provider.aborted.is_set()


def test_a_model_that_says_nothing_is_given_up() -> None:
    provider: Any = Silent()
    with pytest.raises(StreamError) as caught:
        sampler_of(provider, MODEL, {}, 0.05)({"messages": []}, CancelToken())
    assert caught.value.kind is ErrorKind.STALLED and provider.aborted.is_set()


@pytest.mark.parametrize("events", [[], [Part(0, MessageDelta("It ")), Flush(0)]])
def test_an_answer_that_is_cut_is_none(events: List[Any]) -> None:
    provider: Any = OneAnswer("", "stop")
    provider._events = events
    with pytest.raises(StreamError) as caught:
        sampler_of(provider, MODEL, {}, WAIT_S)({"messages": []}, CancelToken())
    assert caught.value.kind is ErrorKind.CUT


def test_what_the_provider_fails_with_is_told() -> None:
    provider: Any = OneAnswer("", "stop")

    def events() -> Any:
        raise StreamError(ErrorKind.OVERLOADED, "Busy.")
        yield

    provider.events = events
    with pytest.raises(StreamError, match="Busy"):
        sampler_of(provider, MODEL, {}, WAIT_S)({"messages": []}, CancelToken())
