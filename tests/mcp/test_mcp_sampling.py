"""A server's questions to the model, through the run's own provider."""

from __future__ import annotations

from typing import Any, Dict, List

from jpq.conversation.thread import ASSISTANT, USER
from jpq.events.parts import Finished, Flush, MessageDelta, Part
from jpq.provider.base import ModelRef, ProviderRequest
from jpq.tools.mcp_sampling import sampler_of

MODEL = ModelRef("p", "m")


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


def message(role: str, text: str) -> Dict[str, Any]:
    return {"role": role, "content": {"type": "text", "text": text}}


def test_the_runs_model_answers_within_the_servers_limits() -> None:
    provider: Any = OneAnswer("It is Paris.", "length")
    messages = [message("user", "Capital"), message("user", "of France?"), message("user", " ")]
    params = {"messages": messages, "systemPrompt": "Be brief.", "maxTokens": 9}
    result = sampler_of(provider, MODEL, {"temperature": 0.5})(params)
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
    result = sampler_of(provider, MODEL, {})({"messages": messages})
    assert result["stopReason"] == "endTurn"
    roles = [each.role for each in provider.requests[0].thread.messages]
    assert roles == [USER, ASSISTANT, USER]
