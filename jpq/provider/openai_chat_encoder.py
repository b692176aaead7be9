"""Encodes a ProviderRequest as a chat completion."""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

from jpq.conversation.thread import (
    Origin,
    Thread,
    ThreadBlock,
    ThreadDocument,
    ThreadImage,
    ThreadOpaque,
    ThreadReasoning,
    ThreadText,
    ThreadToolCall,
    ThreadToolResult,
)
from jpq.provider.base import ProviderRequest, ProviderRow
from jpq.provider.endpoint import join
from jpq.provider.wire_names import CallIds, valid_name
from jpq.provider.wire_request import (
    CONTINUE,
    missing_option,
    refuse_own_fields,
    request_headers,
)
from jpq.provider.wire_thread import (
    after_results,
    data_url,
    function_tool,
    joined_text,
    prepared,
)
from jpq.wire.message import HttpRequest

_LONGEST_CALL_ID = 40  # OpenAI's own word: "Expected a string with maximum length 40"
_OWN_FIELDS = ("model", "messages", "stream", "tools")
_NO_ANSWER = "(no answer)"  # what stands for an answer that there is none of
# Options of every API, in the ``reasoning`` of servers that have one (OpenRouter).
_REASONING = {"reasoning_effort": "effort", "reasoning_budget": "max_tokens"}


def encode(request: ProviderRequest, row: ProviderRow, key: Optional[str]) -> HttpRequest:
    """The HTTP request for ``request``. Raises ConfigError for an option that cannot be set."""
    request = prepared(request, row)
    body: Dict[str, Any] = {"model": request.model, "messages": _messages(request, row)}
    body.update(_options(request.options, row))
    if not request.tools:
        body.pop("parallel_tool_calls", None)  # refused where there is nothing to call
    if request.tools:
        body["tools"] = [function_tool(tool) for tool in request.tools]
        if request.tool_choice and row.quirks.get("tool_choice", True):
            body["tool_choice"] = _tool_choice(request.tool_choice)
    body["stream"] = request.stream
    if request.stream and row.quirks.get("stream_options", True):
        body.setdefault("stream_options", {"include_usage": True})
    headers = request_headers(request, row, key)
    return HttpRequest(join(row.base_url, "/chat/completions"), headers, body)


def _options(options: Mapping[str, Any], row: ProviderRow) -> Iterator[Any]:
    refuse_own_fields(options, _OWN_FIELDS, row)
    as_object = bool(row.quirks.get("reasoning_object", False))
    reasoning: Dict[str, Any] = {}
    for name, value in options.items():
        if value is None:
            continue
        if name == "max_tokens":
            name = str(row.quirks.get("max_tokens_field", name))
        if as_object and name in _REASONING:
            reasoning[_REASONING[name]] = value
            continue
        if name == "reasoning_budget":
            raise missing_option(name, "chat", row)
        yield name, value
    if len(reasoning) > 1:
        del reasoning["effort"]  # one of the two is taken, and a budget says more
    if reasoning:
        given = options.get("reasoning")
        yield "reasoning", {**reasoning, **(given if isinstance(given, dict) else {})}


def _tool_choice(choice: str) -> Any:
    if choice in ("auto", "required", "none"):
        return choice
    return {"type": "function", "function": {"name": choice}}


def _messages(request: ProviderRequest, row: ProviderRow) -> List[Dict[str, Any]]:
    thread = request.thread
    role = str(row.quirks.get("system_role", "system"))
    encoded: List[Dict[str, Any]] = []
    if thread.system.strip():
        encoded.append({"role": role, "content": thread.system})
    reasoning = _ReasoningRule(thread, row, request.model)
    maker = Origin(row.name, request.model)
    ids = CallIds(longest=_LONGEST_CALL_ID, exact=row.quirks.get("call_id_length"))
    for number, message in enumerate(thread.messages):
        if message.role == "assistant":
            sent_back = reasoning.of(number, message.blocks)
            encoded.extend(_assistant(message.blocks, sent_back, maker, ids))
        else:
            encoded.extend(_user(message.blocks, ids, row))
    merged = _merged(encoded)
    if row.quirks.get("answer_after_results", False):
        merged = list(_answered(merged))
    if thread.continues and merged and merged[-1]["role"] == "assistant":
        # A reply that comes whole would begin with the open answer again (llama.cpp).
        prefill = row.quirks.get("prefill", False) if request.stream else False
        merged.extend(_continuation(merged[-1], prefill))
    return merged


def _user(
    blocks: Sequence[ThreadBlock], ids: CallIds, row: ProviderRow
) -> Iterator[Dict[str, Any]]:
    """Results first, each a message of its own, as they must follow their calls at once.

    They are text; what tools gave beside it is said after them, unless the row's quirk
    ``result_media`` says that it may stand in their ``content``.
    """
    within = row.quirks.get("result_media") == "content"
    for block in blocks:
        if isinstance(block, ThreadToolResult):
            content: Any = block.content
            if within and block.attached:
                own = [ThreadText(content)] if content.strip() else []
                content = [part for b in (*own, *block.attached) for part in _parts(b)]
            yield {"role": "tool", "tool_call_id": ids.of(block.id), "content": content}
    said = [*blocks] if within else after_results(blocks)
    if any(isinstance(block, (ThreadImage, ThreadDocument)) for block in said):
        yield {"role": "user", "content": [part for b in said for part in _parts(b)]}
        return
    text = joined_text(said)
    if text:
        yield {"role": "user", "content": text}


def _parts(block: ThreadBlock) -> Iterator[Dict[str, Any]]:
    """``block`` as part of a question that holds more than text ("Images and vision" and
    "File inputs" in OpenAI's documentation)."""
    if isinstance(block, ThreadText):
        yield {"type": "text", "text": block.text}
    elif isinstance(block, ThreadImage):
        yield {"type": "image_url", "image_url": {"url": data_url(block)}}
    elif isinstance(block, ThreadDocument):
        yield {"type": "file", "file": {"filename": block.name, "file_data": data_url(block)}}


def _assistant(
    blocks: Sequence[ThreadBlock], reasoning: Mapping[str, Any], maker: Origin, ids: CallIds
) -> Iterator[Dict[str, Any]]:
    text = joined_text(blocks)
    calls = [_call(block, maker, ids) for block in blocks if isinstance(block, ThreadToolCall)]
    if text or calls:  # reasoning alone is no message
        message: Dict[str, Any] = {"role": "assistant", "content": text or None, **reasoning}
        if calls:
            message["tool_calls"] = calls
        yield message


def _call(call: ThreadToolCall, maker: Origin, ids: CallIds) -> Dict[str, Any]:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    function = {"name": valid_name(call.name), "arguments": arguments}
    id = ids.of(call.id, own=call.origin == maker)
    encoded: Dict[str, Any] = {"id": id, "type": "function", "function": function}
    if call.origin == maker and "extra_content" in call.opaque:
        encoded["extra_content"] = call.opaque["extra_content"]  # Gemini's signatures
    return encoded


class _ReasoningRule:
    """Which reasoning goes back with which assistant message; none does by default.

    The quirk ``reasoning_field`` names the field it goes in, ``reasoning_turns`` says
    whether that is done in the current turn only (``last``) or in every one (``all``), and
    ``reasoning_always`` whether the field must be there even where there is none.
    Reasoning goes back to the provider and model that made it and to no other.
    """

    def __init__(self, thread: Thread, row: ProviderRow, model: str) -> None:
        self._field = row.quirks.get("reasoning_field")
        self._maker = Origin(row.name, model)
        self._always = bool(row.quirks.get("reasoning_always", False))
        self._first = 0
        if row.quirks.get("reasoning_turns", "last") != "all":
            asked = [
                n
                for n, m in enumerate(thread.messages)
                if m.role == "user" and _is_question(m.blocks)
            ]
            self._first = asked[-1] if asked else 0

    def of(self, number: int, blocks: Sequence[ThreadBlock]) -> Dict[str, Any]:
        """The fields that carry the reasoning of assistant message ``number``."""
        if not self._field or number < self._first:
            return {}
        mine = [block for block in blocks if self._is_mine(block)]
        if self._field == "reasoning_details":
            value: Any = [detail for block in mine for detail in _details(block)]
        else:
            texts = (block.text for block in mine if isinstance(block, ThreadReasoning))
            value = "\n\n".join(text for text in texts if text)
        return {str(self._field): value} if value or self._always else {}

    def _is_mine(self, block: ThreadBlock) -> bool:
        return isinstance(block, (ThreadReasoning, ThreadOpaque)) and block.origin == self._maker


def _is_question(blocks: Sequence[ThreadBlock]) -> bool:
    return any(isinstance(b, (ThreadText, ThreadImage, ThreadDocument)) for b in blocks)


def _details(block: ThreadBlock) -> Sequence[Any]:
    """The ``reasoning_details`` that came with ``block``."""
    opaque: Mapping[str, Any] = {}
    if isinstance(block, ThreadReasoning):
        opaque = block.opaque
    elif isinstance(block, ThreadOpaque):
        opaque = block.data
    details = opaque.get("reasoning_details")
    return details if isinstance(details, list) else ()


def _merged(messages: Sequence[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """The messages with neighbours of one role joined: some servers insist on alternation."""
    merged: List[Dict[str, Any]] = []
    for message in messages:
        last = merged[-1] if merged else {}
        if last.get("role") != message["role"] or message["role"] == "tool" or "tool_calls" in last:
            merged.append(message)
            continue
        merged[-1] = {**last, **message, "content": _both(last["content"], message["content"])}
    return merged


def _answered(messages: Sequence[Dict[str, Any]]) -> Iterator[Dict[str, Any]]:
    """The messages with an answer between results and the question that follows them.

    There is none where a turn ended with its results, and where what tools gave beside text
    is said after them.
    """
    before = ""
    for message in messages:
        if before == "tool" and message["role"] == "user":
            yield {"role": "assistant", "content": _NO_ANSWER}
        before = message["role"]
        yield message


def _both(first: Any, second: Any) -> Any:
    """Two contents as one: text, unless one of them is a list of parts."""
    if not isinstance(first, list) and not isinstance(second, list):
        return "\n\n".join(text for text in (first, second) if text) or None
    parts: List[Any] = []
    for content in (first, second):
        if isinstance(content, list):
            parts.extend(content)
        elif content:
            parts.append({"type": "text", "text": content})
    return parts


def _continuation(last: Dict[str, Any], prefill: Any) -> List[Dict[str, Any]]:
    """What asks for the rest of the cut answer ``last``: nothing where it may stand open."""
    if prefill == "prefix":
        last["prefix"] = True
    return [] if prefill else [{"role": "user", "content": CONTINUE}]
