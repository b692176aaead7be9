"""The rules that Ollama publishes for requests to its chat API, as assertions.

They are from the pages "Chat" (API reference, with its OpenAPI description), "Tool calling",
"Thinking" and "Structured outputs" of its documentation. Ollama takes neighbours of one role
and passes over unknown fields, but a field that it would pass over is a mistake of ours.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any, Mapping, Sequence

_FIELDS = {
    "model", "messages", "stream", "tools", "format", "options", "think", "keep_alive",
    "logprobs", "top_logprobs", "truncate", "shift",
}  # fmt: skip
_MESSAGE_FIELDS = {
    "system": {"role", "content"},
    "user": {"role", "content", "images"},
    "assistant": {"role", "content", "thinking", "images", "tool_calls"},
    "tool": {"role", "content", "tool_name", "tool_call_id"},
}

_NAME = re.compile("[a-zA-Z0-9_-]{1,64}")  # Ollama has no rule; this is what all others take


def check_request(body: Mapping[str, Any]) -> None:
    """Assert that the API takes ``body`` and reads all of it."""
    json.dumps(body)
    assert set(body) <= _FIELDS, f"unknown fields: {set(body) - _FIELDS}"
    assert isinstance(body["model"], str) and body["model"]
    assert isinstance(body["stream"], bool)
    assert isinstance(body.get("think", True), (bool, str))
    assert body.get("format", "json") == "json" or isinstance(body["format"], dict)
    assert isinstance(body.get("keep_alive", "5m"), (str, int, float))
    _check_options(body.get("options", {}))
    for tool in body.get("tools", ()):
        assert set(tool) == {"type", "function"} and tool["type"] == "function"
        assert set(tool["function"]) == {"name", "description", "parameters"}
        assert tool["function"]["parameters"]["type"] == "object"
    assert body["messages"], "without messages the server only loads the model"
    for message in body["messages"]:
        _check_message(message)
    _check_calls(body["messages"])


def _check_options(options: Mapping[str, Any]) -> None:
    assert "max_tokens" not in options, "the model's limit is called num_predict"
    assert isinstance(options.get("stop", []), list), "stop must be a list here"


def _check_message(message: Mapping[str, Any]) -> None:
    role = message["role"]
    assert set(message) <= _MESSAGE_FIELDS[role], f"{role} with {set(message)}"
    assert isinstance(message["content"], str)
    for image in message.get("images", ()):
        base64.b64decode(image, validate=True)
    said = message["content"].strip() or message.get("images") or message.get("tool_calls")
    assert said or role == "tool", f"an empty {role} message"


def _check_calls(messages: Sequence[Mapping[str, Any]]) -> None:
    """Each call is answered exactly once, right after its message and in order."""
    seen = set()
    waiting = []
    for message in messages:
        if message["role"] == "tool":
            assert waiting, "a result without a call"
            assert (message["tool_call_id"], message["tool_name"]) == waiting.pop(0)
            continue
        assert not waiting, "a call without a result"
        for number, call in enumerate(message.get("tool_calls", ())):
            assert set(call) == {"id", "type", "function"} and call["type"] == "function"
            function = call["function"]
            assert function["index"] == number and _NAME.fullmatch(function["name"])
            assert isinstance(function["arguments"], dict), "arguments are an object here"
            assert call["id"].strip() and call["id"] not in seen, "ids must be unique"
            seen.add(call["id"])
            waiting.append((call["id"], function["name"]))
    assert not waiting, "a call without a result"
