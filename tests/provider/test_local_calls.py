"""Calls of the embedded model that make no sense, as llama.cpp ends an answer over them."""

from __future__ import annotations

from typing import Any, Dict, List

import pytest

from jpq.conversation.thread import USER, Message, Thread, ThreadText
from jpq.errors import StreamError
from jpq.events.parts import MessageDelta, Part, Started, StreamEvent, ToolCallStarted
from jpq.provider import openai_chat
from jpq.provider.base import ProviderRequest, ProviderRow, ToolDefinition
from jpq.provider.http import HttpProvider
from jpq.provider.local import with_a_second_try
from tests.support.server import DONE, FINISH, Server, answer, delta, reply

BEGIN = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": None}}]}
WORDS = "The model produced output that does not match the expected peg-native format"
REFUSED = {"error": {"code": 500, "message": WORDS, "type": "server_error"}}
TOOL = ToolDefinition("get_time", "Get the time", {"type": "object", "properties": {}})


def called(arguments: str, **more: Any) -> Dict[str, Any]:
    """A piece of a call."""
    call = {"index": 0, "function": {"arguments": arguments, **more.pop("function", {})}, **more}
    return {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}


CALL = [called("", id="c1", type="function", function={"name": "get_time"}), called('{"a": [')]


def asked(server: Server, **more: Any) -> List[StreamEvent]:
    thread = Thread("", (Message(USER, (ThreadText("What is 2+2?"),)),))
    request = ProviderRequest("smollm2", thread, tools=(TOOL,))._replace(**more)
    row = ProviderRow("local", "openai-chat", server.url)
    provider = HttpProvider(row, openai_chat, "key")
    try:
        return list(with_a_second_try(lambda each: provider.exchange(each).events(), request))
    finally:
        provider.close()


def text_of(events: List[StreamEvent]) -> str:
    payloads = [event.payload for event in events if isinstance(event, Part)]
    return "".join(each.text for each in payloads if isinstance(each, MessageDelta))


@pytest.mark.parametrize("before", [[], CALL], ids=["unknown tool", "endless arguments"])
def test_a_call_that_makes_no_sense_is_answered_without_tools(before: List[Any]) -> None:
    with Server(reply(BEGIN, *before, REFUSED), answer("It is 4.")) as server:
        events = asked(server)
    assert text_of(events) == "It is 4."
    assert sum(isinstance(event, Started) for event in events) == 1
    assert not any(isinstance(event, ToolCallStarted) for event in events)
    assert ["tools" in seen.json for seen in server.seen] == [True, False]


def test_a_call_that_makes_sense_is_told_of_once_it_is_whole() -> None:
    with Server(reply(BEGIN, *CALL, called("1]}"), FINISH, DONE)) as server:
        events = asked(server)
    assert any(isinstance(event, ToolCallStarted) for event in events)
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    "values, more",
    [
        ((BEGIN, delta("So: "), *CALL, REFUSED), {}),
        ((BEGIN, REFUSED), {"tools": ()}),
        ((BEGIN, REFUSED), {"tool_choice": "required"}),
        ((BEGIN, {"error": {"code": 500, "message": "out of memory"}}), {}),
    ],
    ids=["text was shown", "no tools", "a call is required", "something else"],
)
def test_other_failures_stay_failures(values: Any, more: Any) -> None:
    with Server(reply(*values)) as server, pytest.raises(StreamError):
        asked(server, **more)
    assert len(server.seen) == 1
