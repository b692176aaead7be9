"""jpq against aimock: turns with tools through every API, compared with what aimock read.

aimock turns each request into a chat completion. So whatever the API, it must have understood
the same conversation: who said what, which tools were called, and what they answered.
"""

from __future__ import annotations

import json
import os
from typing import Any, List, Mapping

import pytest

from jpq.conversation.event import ChatRequest, Draft, ToolResponse
from jpq.conversation.thread import Origin
from jpq.events.transcript import Transcript
from jpq.provider.base import ProviderRequest, ProviderRow
from jpq.provider.http import HttpProvider
from jpq.provider.registry import load_api
from tests.support import programs
from tests.support.aimock import Aimock
from tests.support.mixed_conversations import APIS, TOOL, thread_of, turn
from tests.support.programs import Ran

PATHS: Mapping[str, str] = {
    "openai-chat": "/v1",
    "openai-responses": "/v1",
    "anthropic": "/v1",
    "google": "/v1beta",
    "ollama": "",
}
CALL = {"id": "call_A1b2C3d4E", "name": "greet", "arguments": {"name": "Zoë", "loud": False}}
RESULT = "hello Zoë"
CONFIG = """
[providers.mock]
api = "{api}"
base_url = "{url}"
[tools.greet]
description = "Greet a person"
command = ["sh", "-c", 'echo "hello $1"', "_", "{{name}}"]
parameters.name = {{ type = "string", required = true }}
parameters.loud = {{ type = "boolean" }}
"""
in_every_api = pytest.mark.parametrize("api", PATHS)
both_ways = pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])


def test_every_api_is_tried() -> None:
    assert set(PATHS) == set(APIS)


def understood(request: Mapping[str, Any]) -> List[Any]:
    """The conversation as aimock read it: roles, texts, and calls with their arguments."""
    read: List[Any] = []
    for message in request["body"]["messages"]:
        if message.get("content"):
            read.append((message["role"], said(message)))
        for call in message.get("tool_calls") or ():
            function = call["function"]
            read.append(("call", function["name"], json.loads(function["arguments"])))
    return read


def said(message: Mapping[str, Any]) -> str:
    """The text of a message. A Gemini result is an object, whose only field has the text."""
    content = message["content"]
    if not isinstance(content, str):
        return "".join(part["text"] for part in content if part["type"] == "text")
    if message["role"] == "tool" and content.startswith("{"):
        ((field, content),) = json.loads(content).items()
        assert field in ("output", "error")
    return str(content)


@in_every_api
@both_ways
def test_a_turn_with_a_tool(aimock: Aimock, api: str, stream: bool) -> None:
    model = f"turn-{api}-{stream}"
    aimock.script(model, {"hasToolResult": False}, {"content": "Let me see. ", "toolCalls": [CALL]})
    aimock.script(
        model, {"hasToolResult": True, "toolResultContains": RESULT}, {"content": "Done."}
    )
    ran = ask(aimock, api, model, *([] if stream else ["--no-stream"]))
    assert (ran.code, ran.text) == (0, "Let me see. \n\nDone.\n"), ran
    first, second = aimock.requests(model)
    assert [first["body"]["stream"], second["body"]["stream"]] == [stream, stream]
    assert understood(first) == [("user", "Greet Zoë.")]
    assert understood(second) == [
        ("user", "Greet Zoë."),
        ("assistant", "Let me see. "),
        ("call", "greet", CALL["arguments"]),
        ("tool", RESULT + "\n"),
    ]
    assert [tool["function"]["name"] for tool in second["body"]["tools"]] == ["greet"]


def ask(aimock: Aimock, api: str, model: str, *options: str) -> Ran:
    home = os.environ["JPQ_HOME"]
    os.makedirs(home)
    with open(os.path.join(home, "config.toml"), "w", encoding="utf-8") as file:
        file.write(CONFIG.format(api=api, url=aimock.url + PATHS[api]))
    return programs.jpq("-m", f"mock/{model}", "--yes", *options, "Greet Zoë.")


@in_every_api
@both_ways
@pytest.mark.parametrize("made_by", APIS)
def test_what_any_api_made_is_understood(
    aimock: Aimock, api: str, made_by: str, stream: bool
) -> None:
    model = f"mixed-{made_by}-{api}-{stream}"
    aimock.script(model, {}, {"toolCalls": [CALL, {**CALL, "id": "call_F5g6H7i8J"}]})
    row = ProviderRow("mock", api, aimock.url + PATHS[api])
    # Of results it reads the text alone.
    made = [
        draft._replace(metadata={}) if isinstance(draft.event, ToolResponse) else draft
        for draft in turn(made_by, Origin("maker", "m9"))
    ]
    thread = thread_of([*made, Draft(ChatRequest("Look once more."))])
    response = answer(row, ProviderRequest(model, thread, (TOOL,), stream=stream))
    assert response.stop_reason == "tool_calls"
    assert [(call.name, call.arguments) for call in response.tool_calls] == [
        ("greet", CALL["arguments"])
    ] * 2
    assert len({call.id for call in response.tool_calls}) == 2
    (request,) = aimock.requests(model)
    assert understood(request)[-6:] == [
        ("call", "look", {"at": 1}),
        ("call", "look", {"at": "Zoë"}),
        ("tool", "a dot"),
        ("tool", "nothing there"),
        ("assistant", "A dot."),
        ("user", "Look once more."),
    ]


def answer(row: ProviderRow, request: ProviderRequest) -> Any:
    provider = HttpProvider(row, load_api(row.api), "sk-test")
    try:
        return Transcript().drain(provider.exchange(request).events())
    finally:
        provider.close()
