"""The rules that OpenAI publishes for requests to its Responses API, as assertions.

They are from "Create a model response" (reference), the guides "Conversation state",
"Function calling", "Reasoning models" and "Structured model outputs" of its documentation,
the types of its Python library, and the messages of the API's own errors.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any, List, Mapping, Sequence, Set

_FIELDS = {
    "background", "include", "input", "instructions", "max_output_tokens", "max_tool_calls",
    "metadata", "model", "parallel_tool_calls", "prompt_cache_key", "reasoning",
    "safety_identifier", "service_tier", "store", "stream", "stream_options", "temperature",
    "text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user",
}  # fmt: skip
_NAME = re.compile("[a-zA-Z0-9_-]{1,128}")
_LONGEST_CALL_ID = 64
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_OUTPUTS = {f"{call}_output": call for call in _CALLS}
_CALLS_OF_OTHERS = {"caller", "extra_content", "thoughtSignature"}
_FILES = {"input_image": "image_url", "input_file": "file_data"}
_PHASES = (None, "commentary", "final_answer")
# Items that the client would have to answer, which no request of jpq does.
_WAITING = ("local_shell_call", "shell_call", "computer_call", "apply_patch_call")


def check_request(body: Mapping[str, Any]) -> None:
    """Assert that the API takes ``body``."""
    json.dumps(body)
    assert set(body) <= _FIELDS, f"unknown fields: {set(body) - _FIELDS}"
    assert isinstance(body["model"], str) and body["model"]
    assert "instructions" not in body or body["instructions"].strip()
    assert body["input"], "no input"
    for item in body["input"]:
        _check_item(item)
    _check_reasoning(body)
    _check_calls(body["input"])
    _check_tools(body)


def _check_item(item: Mapping[str, Any]) -> None:
    kind = item["type"]
    assert "thinking" not in kind and "tool_use" not in kind, f"{kind} is of another API"
    assert kind != "function_call" or not _CALLS_OF_OTHERS & set(item), "fields of another API"
    assert kind not in _WAITING and kind != "mcp_approval_request"
    if kind == "message":
        _check_message(item)
    elif kind in _CALLS:
        assert 0 < len(item["call_id"]) <= _LONGEST_CALL_ID
        assert _NAME.fullmatch(item["name"])
        assert isinstance(item[_CALLS[kind]], str)
        if kind == "function_call":
            assert isinstance(json.loads(item["arguments"]), dict)
        assert "id" not in item or item["id"]
    elif kind in _OUTPUTS:
        assert set(item) == {"type", "call_id", "output"}
        output = item["output"]
        if not isinstance(output, str):
            assert output, "an empty list of contents"
            for part in output:
                _check_part(part, "user")


def _check_message(item: Mapping[str, Any]) -> None:
    assert item["role"] in ("user", "assistant")
    assert item["content"], "an empty message"
    assert item.get("phase") in _PHASES
    assert item["role"] == "assistant" or set(item) == {"type", "role", "content"}
    for part in item["content"]:
        _check_part(part, item["role"])


def _check_part(part: Mapping[str, Any], role: str) -> None:
    if part["type"] in _FILES:
        assert role == "user"
        media_type, _, data = part[_FILES[part["type"]]].partition(";base64,")
        assert base64.b64decode(data, validate=True)
        assert (part["type"] == "input_file") == (media_type == "data:application/pdf")
        return
    if role == "user":
        assert part["type"] == "input_text"
    else:
        assert part["type"] in ("output_text", "refusal")
    text = part["refusal" if part["type"] == "refusal" else "text"]
    assert text.strip(), "a blank text"


def _check_reasoning(body: Mapping[str, Any]) -> None:
    """Reasoning is whole and followed by what it led to, and nothing has to be looked up."""
    items = body["input"]
    for item, following in zip(items, [*items[1:], {"type": "nothing", "role": "user"}]):
        if item["type"] == "reasoning":
            assert item["id"] and isinstance(item.get("summary", []), list)
            assert body.get("store") is not False or (
                item.get("encrypted_content") or item.get("content")
            ), "items are not persisted when store is false"
            assert following.get("role") != "user", "reasoning without its following item"
            assert following["type"] not in _OUTPUTS, "reasoning without its following item"
    asked = body.get("include", [])
    assert len(set(asked)) == len(asked)
    assert body.get("reasoning", {"effort": None}), "empty reasoning"


def _check_calls(items: Sequence[Mapping[str, Any]]) -> None:
    """Each call is answered once, in order, before anything else is said."""
    seen: Set[str] = set()
    waiting: List[Any] = []
    answering = False
    for item in items:
        kind = item["type"]
        if kind in _OUTPUTS:
            assert waiting, "No tool call found for function call output"
            assert waiting.pop(0) == (_OUTPUTS[kind], item["call_id"])
            answering = bool(waiting)
            continue
        assert not answering, "something stands between the outputs"
        if kind in _CALLS:
            assert item["call_id"] not in seen, "a call id is used twice"
            seen.add(item["call_id"])
            waiting.append((kind, item["call_id"]))
        assert item.get("role") != "user" or not waiting, "No tool output found for function call"
    assert not waiting, "No tool output found for function call"


def _check_tools(body: Mapping[str, Any]) -> None:
    tools = body.get("tools", [])
    names = [tool["name"] for tool in tools]
    assert len(set(names)) == len(names)
    for tool in tools:
        assert tool["type"] == "function" and _NAME.fullmatch(tool["name"])
        assert tool["parameters"]["type"] == "object"
        assert isinstance(tool["parameters"]["properties"], dict)
        assert not {"oneOf", "anyOf", "allOf", "enum", "not"} & set(tool["parameters"])
        if tool["strict"]:  # what the API insists on then
            assert tool["parameters"]["additionalProperties"] is False
            assert set(tool["parameters"]["required"]) == set(tool["parameters"]["properties"])
    choice = body.get("tool_choice")
    if isinstance(choice, dict):
        assert choice["type"] == "function" and choice["name"] in names
    elif choice is not None:
        assert tools and choice in ("auto", "required", "none")
