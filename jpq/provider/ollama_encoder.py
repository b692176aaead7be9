"""Encodes a ProviderRequest for Ollama's chat API.

Facts are from the pages "Chat" (API reference), "Tool calling", "Thinking", "Structured
outputs" and "Modelfile" of Ollama's documentation.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence
from urllib.parse import urlsplit

from jpq.conversation.thread import (
    ASSISTANT,
    Origin,
    ThreadBlock,
    ThreadImage,
    ThreadOpaque,
    ThreadReasoning,
    ThreadToolCall,
    ThreadToolResult,
)
from jpq.provider.base import ProviderRequest, ProviderRow, ToolDefinition
from jpq.provider.wire_names import valid_name
from jpq.provider.wire_request import CONTINUE, refuse_own_fields, request_headers
from jpq.provider.wire_thread import (
    after_results,
    function_tool,
    joined_text,
    prepared,
    stop_words,
    wanted_schema,
)
from jpq.wire.message import HttpRequest

_PATH = "/api/chat"
# People paste the base URL of Ollama's imitation of OpenAI, or the whole address.
_PASTED = (_PATH, "/api", "/v1")

_OWN_FIELDS = ("model", "messages", "stream", "tools")
# Options that stand in the request itself; every other one is the model's.
_REQUEST_FIELDS = (
    "think",
    "format",
    "keep_alive",
    "logprobs",
    "top_logprobs",
    "truncate",
    "shift",
)
# Options of every API, which have another form here, or (the last one) none at all.
_TRANSLATED = (
    "max_tokens",
    "stop",
    "reasoning_effort",
    "reasoning_budget",
    "response_format",
    "parallel_tool_calls",
)


def encode(request: ProviderRequest, row: ProviderRow, key: Optional[str]) -> HttpRequest:
    """The HTTP request for ``request``. Raises ConfigError for an option that cannot be set."""
    refuse_own_fields(request.options, _OWN_FIELDS, row)
    request = prepared(request, row)
    body: Dict[str, Any] = {"model": request.model, "messages": _messages(request, row)}
    body.update(_request_fields(request.options))
    options = _model_options(request.options)
    if options:
        body["options"] = options
    tools = [function_tool(tool._replace(strict=False)) for tool in _offered(request)]
    if tools:
        body["tools"] = tools
    body["stream"] = request.stream
    return HttpRequest(api_url(row.base_url, _PATH), request_headers(request, row, key), body)


def api_url(base_url: str, path: str) -> str:
    """The URL of ``path`` (``/api/chat``), forgiving about what people write as base URL."""
    parts = urlsplit(base_url)
    base = parts.path.rstrip("/")
    for end in _PASTED:
        if base.endswith(end):
            base = base[: -len(end)]
            break
    return parts._replace(path=base + path).geturl()


# Options


def _request_fields(options: Mapping[str, Any]) -> Dict[str, Any]:
    fields: Dict[str, Any] = {}
    effort, budget = options.get("reasoning_effort"), options.get("reasoning_budget")
    if effort is not None:
        # Levels are for models that know them; to others any level means to think.
        fields["think"] = {"none": False, "minimal": "low"}.get(effort, effort)
    elif budget is not None:
        fields["think"] = budget != 0
    wanted, schema = wanted_schema(options)
    if wanted:
        fields["format"] = schema or "json"
    fields.update((n, options[n]) for n in _REQUEST_FIELDS if options.get(n) is not None)
    return fields


def _model_options(options: Mapping[str, Any]) -> Dict[str, Any]:
    """The model's parameters; ``options`` may hold a whole table of them."""
    taken = (*_REQUEST_FIELDS, *_TRANSLATED, "options")
    chosen = {n: value for n, value in options.items() if n not in taken and value is not None}
    if options.get("max_tokens") is not None:
        chosen["num_predict"] = options["max_tokens"]
    stop = stop_words(options)
    if stop:
        chosen["stop"] = stop
    table = options.get("options")
    return {**chosen, **table} if isinstance(table, dict) else chosen


# Tools


def _offered(request: ProviderRequest) -> Sequence[ToolDefinition]:
    """The tools to offer. The API has no tool choice, so a choice is what is left to choose."""
    choice = request.tool_choice
    if choice in (None, "auto", "required"):
        return request.tools
    if choice == "none":
        return ()
    return [tool for tool in request.tools if tool.name == choice]


# Messages


def _messages(request: ProviderRequest, row: ProviderRow) -> List[Dict[str, Any]]:
    thread = request.thread
    maker = Origin(row.name, request.model)
    encoded: List[Dict[str, Any]] = []
    if thread.system.strip():
        encoded.append({"role": "system", "content": thread.system})
    for message in thread.messages:
        if message.role == ASSISTANT:
            encoded.extend(_assistant(message.blocks, maker))
        else:
            encoded.extend(_user(message.blocks))
    is_open = thread.continues and encoded and encoded[-1]["role"] == ASSISTANT
    if is_open and not row.quirks.get("prefill", False):
        encoded.append({"role": "user", "content": CONTINUE})
    return encoded


def _user(blocks: Sequence[ThreadBlock]) -> Iterator[Dict[str, Any]]:
    """Results first, each a message of its own, as they must follow their calls at once."""
    for block in blocks:
        if isinstance(block, ThreadToolResult):
            yield {
                "role": "tool",
                "tool_name": valid_name(block.name),
                "tool_call_id": block.id,
                "content": block.content,
            }
    said = after_results(blocks)
    images = [block.data for block in said if isinstance(block, ThreadImage)]
    text = joined_text(said)
    if text or images:
        message: Dict[str, Any] = {"role": "user", "content": text}
        yield {**message, "images": images} if images else message


def _assistant(blocks: Sequence[ThreadBlock], maker: Origin) -> Iterator[Dict[str, Any]]:
    """What the model said; reasoning and pictures only where it was this model that did."""
    text = joined_text(blocks)
    calls = [block for block in blocks if isinstance(block, ThreadToolCall)]
    if not text and not calls:
        return  # reasoning alone is no message
    message: Dict[str, Any] = {"role": ASSISTANT, "content": text}
    own = [
        b for b in blocks if isinstance(b, (ThreadReasoning, ThreadOpaque)) and b.origin == maker
    ]
    thinking = [block.text for block in own if isinstance(block, ThreadReasoning) and block.text]
    if thinking:
        message["thinking"] = "\n\n".join(thinking)
    images = [image for block in own for image in _images(block)]
    if images:
        message["images"] = images
    if calls:
        message["tool_calls"] = [_call(number, call) for number, call in enumerate(calls)]
    yield message


def _images(block: ThreadBlock) -> Sequence[Any]:
    images = block.data.get("images") if isinstance(block, ThreadOpaque) else None
    return images if isinstance(images, list) else ()


def _call(number: int, call: ThreadToolCall) -> Dict[str, Any]:
    function = {"index": number, "name": valid_name(call.name), "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}
