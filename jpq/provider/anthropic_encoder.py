"""Encodes a ProviderRequest for the Messages API."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, Optional, Sequence

from jpq.conversation.thread import Thread, ThreadToolCall
from jpq.provider.anthropic_messages import CACHE, encode_messages
from jpq.provider.base import ProviderRequest, ProviderRow, ToolDefinition
from jpq.provider.endpoint import has_version, join
from jpq.provider.wire_names import valid_name
from jpq.provider.wire_request import applies, refuse_own_fields, request_headers
from jpq.provider.wire_thread import object_schema, prepared, stop_words, wanted_schema
from jpq.wire.message import HttpRequest

VERSION = "2023-06-01"  # of the API, which has had no other since

# The API wants to be told a limit. This one is room for a long answer, and with the largest
# budget below it stays within the 32,000 tokens that the smallest current model may write.
MAX_TOKENS = 16_000

# Tokens to reason with, for models that are not told an effort but a budget.
_BUDGETS = {"minimal": 1_024, "low": 2_048, "medium": 8_192}
_LARGEST_BUDGET = 16_000
_SMALLEST_BUDGET = 1_024

_OWN_FIELDS = ("model", "messages", "stream", "tools", "system", "tool_choice")
# Options of every API, which have another form here.
_TRANSLATED = (
    "max_tokens",
    "stop",
    "reasoning_effort",
    "reasoning_budget",
    "parallel_tool_calls",
    "response_format",
)
_PROPERTY = re.compile("[a-zA-Z0-9_.-]{1,64}")
_CHOICES = {"auto": "auto", "required": "any", "none": "none"}


def encode(request: ProviderRequest, row: ProviderRow, key: Optional[str]) -> HttpRequest:
    """The HTTP request for ``request``. Raises ConfigError for an option that cannot be set."""
    refuse_own_fields(request.options, _OWN_FIELDS, row)
    request = prepared(request, row)
    hints = bool(row.quirks.get("cache_hints", True))
    body: Dict[str, Any] = {"model": request.model}
    body.update(_options(request, row))
    tools = _tools(request)
    if tools:
        body["tools"] = tools
        choice = _tool_choice(request)
        if choice:
            body["tool_choice"] = choice
            if choice["type"] in ("any", "tool") and "thinking" not in request.options:
                body.pop("thinking", None)  # the API refuses to force a call from who reasons
    system = _system(request.thread, hints)
    if system:
        body["system"] = system
    elif tools and hints:
        tools[-1]["cache_control"] = CACHE
    # A prefilled answer cannot be reasoned about any more: the API refuses both at once.
    reasons = body.get("thinking", {}).get("type") in ("enabled", "adaptive")
    prefill = not reasons and applies(row.quirks.get("prefill", False), request.model)
    body["messages"] = encode_messages(request, row, prefill=prefill, cache_hints=hints)
    body["stream"] = request.stream
    headers = request_headers(
        request, row, key, key_header="x-api-key", extra={"anthropic-version": VERSION}
    )
    # Gateways write their base URLs for clients that add the version themselves.
    resource = "/messages" if has_version(row.base_url) else "/v1/messages"
    return HttpRequest(join(row.base_url, resource), headers, body)


def _options(request: ProviderRequest, row: ProviderRow) -> Dict[str, Any]:
    """The model's options; those that the API calls as other APIs do are passed through."""
    options = {name: value for name, value in request.options.items() if value is not None}
    fields = {name: value for name, value in options.items() if name not in _TRANSLATED}
    fields["max_tokens"] = row.quirks.get("max_tokens", MAX_TOKENS)
    stop = stop_words(options)
    if stop:
        fields["stop_sequences"] = stop
    _, schema = wanted_schema(options)
    if schema is not None:
        # "Structured outputs" in Anthropic's documentation; JSON of any shape is not offered.
        fields["output_config"] = {
            "format": {"type": "json_schema", "schema": schema},
            **_table(options.get("output_config")),
        }
    if "thinking" not in options:
        always = applies(row.quirks.get("always_reasons", False), request.model)
        if always and _wants_none(options):
            options = {**options, "reasoning_effort": "low", "reasoning_budget": None}
        _add_reasoning(fields, options, applies(row.quirks.get("budget", False), request.model))
    if "max_tokens" in options:
        fields["max_tokens"] = options["max_tokens"]
    return fields


def _add_reasoning(fields: Dict[str, Any], options: Mapping[str, Any], has_budget: bool) -> None:
    """What ``reasoning_effort`` or ``reasoning_budget`` (tokens) means to the model.

    Models before 4.6 take a budget and later ones an effort ("Adaptive thinking" and
    "Migration guide" in Anthropic's documentation); either is translated to the other.
    """
    effort, budget = options.get("reasoning_effort"), options.get("reasoning_budget")
    if _wants_none(options):
        fields["thinking"] = {"type": "disabled"}
    elif effort is None and budget is None:
        return
    elif has_budget:
        tokens = _BUDGETS.get(str(effort), _LARGEST_BUDGET) if budget is None else budget
        fields["thinking"] = {"type": "enabled", "budget_tokens": tokens}
        if isinstance(tokens, int):
            # The reasoning counts towards the limit, which must be larger than the budget.
            fields["max_tokens"] += max(tokens, _SMALLEST_BUDGET)
    else:
        word = _effort_of(budget) if effort is None else effort
        # Unless asked for it, the newest models send signatures without any text.
        fields["thinking"] = {"type": "adaptive", "display": "summarized"}
        config = _table(fields.get("output_config"))
        fields["output_config"] = {"effort": "low" if word == "minimal" else word, **config}


def _wants_none(options: Mapping[str, Any]) -> bool:
    return options.get("reasoning_effort") == "none" or options.get("reasoning_budget") == 0


def _table(value: Any) -> Dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}


def _effort_of(budget: Any) -> str:
    """The effort that a budget of so many tokens stands for."""
    tokens = budget if isinstance(budget, int) else _LARGEST_BUDGET
    return next((effort for effort, most in _BUDGETS.items() if tokens <= most), "high")


def _system(thread: Thread, hints: bool) -> List[Dict[str, Any]]:
    """The system prompt. The hint on it covers the tools, which come before it."""
    if not thread.system.strip():
        return []
    block: Dict[str, Any] = {"type": "text", "text": thread.system}
    return [{**block, "cache_control": CACHE} if hints else block]


def _tools(request: ProviderRequest) -> List[Dict[str, Any]]:
    """The tools on offer. The API wants to know those that were called even where none is."""
    if request.tools:
        return [_tool(tool) for tool in request.tools]
    return [{"name": name, "input_schema": {"type": "object"}} for name in _called(request.thread)]


def _called(thread: Thread) -> Sequence[str]:
    """The names of the tools called in ``thread``, each once."""
    blocks = (block for message in thread.messages for block in message.blocks)
    names = (valid_name(block.name) for block in blocks if isinstance(block, ThreadToolCall))
    return list(dict.fromkeys(names))


def _tool(tool: ToolDefinition) -> Dict[str, Any]:
    schema = object_schema(tool.parameters)
    told, description = _takes(schema), tool.description
    if told is not schema:
        others = [name for name in schema["properties"] if name not in told["properties"]]
        description = f"{description}\n\nIt also takes: {', '.join(others)}".strip()
    encoded: Dict[str, Any] = {"name": tool.name}
    if description.strip():
        encoded["description"] = description
    encoded["input_schema"] = told
    return encoded


def _takes(schema: Dict[str, Any]) -> Dict[str, Any]:
    """``schema`` without properties whose names the API refuses, and the whole request with
    them ("Property keys should match pattern")."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or all(map(_PROPERTY.fullmatch, properties)):
        return schema
    kept = {name: value for name, value in properties.items() if _PROPERTY.fullmatch(name)}
    required = schema.get("required")
    names = [name for name in required if name in kept] if isinstance(required, list) else []
    return {**schema, "properties": kept, "required": names}


def _tool_choice(request: ProviderRequest) -> Dict[str, Any]:
    """How tools may be called; {} where the API's own default is meant."""
    if not request.tools:
        return {"type": "none"}
    parallel = request.options.get("parallel_tool_calls")
    choice: Dict[str, Any] = {}
    if request.tool_choice in _CHOICES:
        choice = {"type": _CHOICES[request.tool_choice]}
    elif request.tool_choice:
        choice = {"type": "tool", "name": request.tool_choice}
    if parallel is not None and choice.get("type") != "none":
        choice = {"type": "auto", **choice, "disable_parallel_tool_use": not parallel}
    return choice
