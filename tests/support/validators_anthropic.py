"""The rules that Anthropic publishes for requests to its Messages API, as assertions.

They are from the pages "Messages" (reference), "Define tools", "Handle tool calls",
"Extended thinking", "Adaptive thinking", "Vision", "PDF support" and "Prompt caching" of its
documentation, and from the types of its Python library.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any, Dict, Iterator, List, Mapping, Sequence, Set

_FIELDS = {
    "cache_control", "container", "inference_geo", "max_tokens", "messages", "metadata", "model",
    "output_config", "service_tier", "stop_sequences", "stream", "system", "temperature",
    "thinking", "tool_choice", "tools", "top_k", "top_p",
}  # fmt: skip
_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_ID = re.compile("[a-zA-Z0-9_-]+")
_NAME = re.compile("[a-zA-Z0-9_-]{1,128}")
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_MOST_CACHE_HINTS = 4
_CALLS_OF_OTHERS = {"status", "namespace", "extra_content", "thoughtSignature"}
_OF_RESPONSES = ("reasoning", "message", "function_call", "web_search_call")
_MEDIA_TYPES = {
    "image": ("image/png", "image/jpeg", "image/gif", "image/webp"),
    "document": ("application/pdf",),
}
_USER_BLOCKS = ("text", "image", "document", "tool_result")


def check_request(body: Mapping[str, Any], *, prefill: bool = False) -> None:
    """Assert that the API takes ``body``; ``prefill`` says that its model takes one."""
    json.dumps(body)
    assert set(body) <= _FIELDS, f"unknown fields: {set(body) - _FIELDS}"
    assert isinstance(body["model"], str) and body["model"]
    assert isinstance(body["max_tokens"], int) and body["max_tokens"] > 0
    for block in body.get("system", ()):
        assert block["type"] == "text" and block["text"].strip()
    messages = body["messages"]
    _check_roles(messages)
    for message in messages:
        assert message["content"], "an empty message"
        assert not message["content"][-1]["type"].endswith("thinking"), "reasoning at the end"
        for block in message["content"]:
            _check_block(block, message["role"])
    _check_calls(messages)
    running = _check_server_tools(messages)
    _check_end(body, prefill, running)
    _check_tools(body)
    _check_thinking(body)
    _check_cache_hints(body)


def _blocks(messages: Sequence[Mapping[str, Any]]) -> Iterator[Dict[str, Any]]:
    return (block for message in messages for block in message["content"])


def _check_roles(messages: Sequence[Mapping[str, Any]]) -> None:
    assert messages, "no messages"
    for number, message in enumerate(messages):
        assert message["role"] == ("assistant" if number % 2 else "user"), "roles must alternate"
        assert set(message) == {"role", "content"}


def _check_block(block: Mapping[str, Any], role: str) -> None:
    kind = block["type"]
    assert kind not in _OF_RESPONSES, f"{kind} is of another API"
    if role == "user":
        assert kind in _USER_BLOCKS
    else:
        assert kind not in ("tool_result", "image", "document")
    if kind == "text":
        assert block["text"].strip(), "a blank text block"
    elif kind == "thinking":
        assert isinstance(block["thinking"], str)
        assert block["signature"] and isinstance(block["signature"], str)
    elif kind == "redacted_thinking":
        assert block["data"]
    elif kind == "tool_use":
        assert not _CALLS_OF_OTHERS & set(block), "fields of another API"
        assert _ID.fullmatch(block["id"]) and _NAME.fullmatch(block["name"])
        assert isinstance(block["input"], dict)
    elif kind in ("image", "document"):
        source = block["source"]
        assert source["type"] == "base64" and base64.b64decode(source["data"], validate=True)
        assert source["media_type"] in _MEDIA_TYPES[kind]
    elif kind == "tool_result":
        _check_result(block)


def _check_result(block: Mapping[str, Any]) -> None:
    content = block.get("content")
    assert content or not block.get("is_error"), "an error result without content"
    if isinstance(content, list):
        assert content, "an empty list of contents"
        for part in content:
            assert part["type"] in ("text", "image", "document")
            _check_block(part, "user")
        kinds = {part["type"] for part in content}
        assert kinds == {"text"} or not block.get("is_error"), "errors are text only"
    else:
        assert content is None or content.strip()


def _check_calls(messages: Sequence[Mapping[str, Any]]) -> None:
    """Each call is answered once, in order, at the beginning of the next message."""
    seen: Set[str] = set()
    waiting: List[str] = []
    for message in messages:
        results = [b["tool_use_id"] for b in message["content"] if b["type"] == "tool_result"]
        assert results == waiting, f"calls {waiting} are answered by {results}"
        kinds = [b["type"] for b in message["content"]]
        assert kinds[: len(results)] == ["tool_result"] * len(results), "results come first"
        waiting = [b["id"] for b in message["content"] if b["type"] == "tool_use"]
        assert not seen.intersection(waiting) and len(set(waiting)) == len(waiting)
        seen.update(waiting)
    assert not waiting, f"calls {waiting} are not answered"


def _check_server_tools(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Each result follows its call; returns whether a call in the last answer still runs."""
    running: Set[str] = set()
    for block in _blocks(messages):
        if block["type"].endswith("_tool_use"):
            running.add(block["id"])
        elif block["type"].endswith("_tool_result"):
            assert block["tool_use_id"] in running, "a result of no call"
            running.remove(block["tool_use_id"])
    answers = [message for message in messages if message["role"] == "assistant"]
    last = {block.get("id") for block in (answers[-1]["content"] if answers else ())}
    assert running <= last, "a call of a server tool was never answered"
    return bool(running)


def _check_end(body: Mapping[str, Any], prefill: bool, running: bool) -> None:
    last = body["messages"][-1]
    if last["role"] == "user" or running:
        return
    if last["content"][-1]["type"] == "compaction":
        return  # "Compaction", after a pause: the messages end with what the model answered
    assert prefill, "the model takes no prefilled answer"
    assert body.get("thinking", {}).get("type") not in ("enabled", "adaptive")
    block = last["content"][-1]
    assert block["type"] != "text" or block["text"] == block["text"].rstrip()


def _check_tools(body: Mapping[str, Any]) -> None:
    tools = body.get("tools", [])
    names = [tool["name"] for tool in tools]
    assert len(set(names)) == len(names)
    for tool in tools:
        assert _NAME.fullmatch(tool["name"])
        schema = tool["input_schema"]
        assert schema["type"] == "object"
        assert not {"oneOf", "allOf", "anyOf"} & set(schema), "a choice at the top"
        assert all(map(_PROPERTY.fullmatch, schema.get("properties", ()))), "a property's name"
    if any(block["type"] == "tool_use" for block in _blocks(body["messages"])):
        assert tools, "calls without tools"
    choice = body.get("tool_choice")
    if choice is not None:
        assert tools, "a tool choice without tools"
        assert choice["type"] in ("auto", "any", "tool", "none")
        assert ("name" in choice) == (choice["type"] == "tool")
        assert choice["type"] != "none" or set(choice) == {"type"}


def _check_thinking(body: Mapping[str, Any]) -> None:
    thinking = body.get("thinking", {"type": "disabled"})
    if thinking["type"] == "enabled":
        assert 1024 <= thinking["budget_tokens"] < body["max_tokens"]
    else:
        assert "budget_tokens" not in thinking
    assert thinking["type"] in ("enabled", "disabled", "adaptive")
    forced = body.get("tool_choice", {}).get("type") in ("any", "tool")
    assert not forced or thinking["type"] == "disabled", "a call cannot be forced from reasoning"
    assert body.get("output_config", {}).get("effort", "low") in _EFFORTS


def _check_cache_hints(body: Mapping[str, Any]) -> None:
    blocks = [*body.get("tools", ()), *body.get("system", ()), *_blocks(body["messages"])]
    marked = [block for block in blocks if "cache_control" in block]
    assert len(marked) <= _MOST_CACHE_HINTS
    for block in marked:
        assert block["cache_control"]["type"] == "ephemeral"
        assert block.get("type") not in ("thinking", "redacted_thinking")
