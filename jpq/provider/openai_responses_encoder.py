"""Encodes a ProviderRequest for the Responses API.

Nothing is stored at the provider: each request holds the whole conversation, and reasoning
comes encrypted and goes back with it.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

from jpq.provider.base import ProviderRequest, ProviderRow, ToolDefinition
from jpq.provider.endpoint import join
from jpq.provider.openai_responses_input import input_items
from jpq.provider.wire_request import (
    applies,
    missing_option,
    refuse_own_fields,
    request_headers,
)
from jpq.provider.wire_thread import object_schema, prepared
from jpq.wire.message import HttpRequest

_OWN_FIELDS = (
    "model",
    "input",
    "instructions",
    "tools",
    "tool_choice",
    "stream",
    "previous_response_id",
    "conversation",
)
# Options of every API, which have another form here.
_TRANSLATED = (
    "max_tokens",
    "reasoning_effort",
    "reasoning_summary",
    "response_format",
    "parallel_tool_calls",
    "include",
)
_MISSING = ("stop", "reasoning_budget")
_ENCRYPTED_REASONING = "reasoning.encrypted_content"


def encode(request: ProviderRequest, row: ProviderRow, key: Optional[str]) -> HttpRequest:
    """The HTTP request for ``request``. Raises ConfigError for an option that cannot be set."""
    refuse_own_fields(request.options, _OWN_FIELDS, row)
    request = prepared(request, row)
    options = {name: value for name, value in request.options.items() if value is not None}
    for name in _MISSING:
        if name in options:
            raise missing_option(name, "Responses", row)
    body: Dict[str, Any] = {"model": request.model, "input": input_items(request, row)}
    if request.thread.system.strip():
        body["instructions"] = request.thread.system
    body["store"] = False
    body.update((name, options[name]) for name in options if name not in _TRANSLATED)
    body.update(_translated(options))
    include = _include(options, row, request.model)
    if include:
        body["include"] = include
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        if "parallel_tool_calls" in options:
            body["parallel_tool_calls"] = options["parallel_tool_calls"]
        if request.tool_choice and row.quirks.get("tool_choice", True):
            body["tool_choice"] = _tool_choice(request.tool_choice)
    body["stream"] = request.stream
    headers = request_headers(request, row, key)
    return HttpRequest(join(row.base_url, "/responses"), headers, body)


def _translated(options: Mapping[str, Any]) -> Dict[str, Any]:
    """The options that other APIs call otherwise."""
    fields: Dict[str, Any] = {}
    if "max_tokens" in options:
        fields["max_output_tokens"] = options["max_tokens"]
    reasoning = _table(options.get("reasoning"))
    for name, field in (("reasoning_effort", "effort"), ("reasoning_summary", "summary")):
        if name in options:
            reasoning[field] = options[name]
    if reasoning:
        fields["reasoning"] = reasoning
    format = _table(options.get("response_format"))
    if format:
        # The chat API wraps name, schema and strictness once more.
        format.update(_table(format.pop("json_schema", None)))
        fields["text"] = {**_table(options.get("text")), "format": format}
    return fields


def _table(value: Any) -> Dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}


def _include(options: Mapping[str, Any], row: ProviderRow, model: str) -> List[Any]:
    """What to have in the answer. Models that do not reason refuse to be asked for it."""
    asked = options.get("include")
    include = list(asked) if isinstance(asked, (list, tuple)) else []
    unwilling = applies(row.quirks.get("no_reasoning", False), model)
    if not unwilling and _ENCRYPTED_REASONING not in include:
        include.append(_ENCRYPTED_REASONING)
    return include


def _tool(tool: ToolDefinition) -> Dict[str, Any]:
    encoded: Dict[str, Any] = {"type": "function", "name": tool.name}
    if tool.description.strip():
        encoded["description"] = tool.description
    encoded["parameters"] = {"properties": {}, **object_schema(tool.parameters)}
    # Unless told not to, the API insists on schemas without optional parameters.
    encoded["strict"] = tool.strict
    return encoded


def _tool_choice(choice: str) -> Any:
    if choice in ("auto", "required", "none"):
        return choice
    return {"type": "function", "name": choice}
