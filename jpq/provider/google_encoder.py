"""Encodes a ProviderRequest for the Gemini API, and for Vertex AI, which takes the same."""

from __future__ import annotations

import re
from typing import Any, Dict, Mapping, Optional
from urllib.parse import quote, urlsplit

from jpq.provider.base import ProviderRequest, ProviderRow, ToolDefinition
from jpq.provider.google_contents import encode_contents, text_content
from jpq.provider.google_schema import reduce_schema
from jpq.provider.wire_request import CONTINUE, applies, refuse_own_fields, request_headers
from jpq.provider.wire_thread import object_schema, prepared, stop_words, wanted_schema
from jpq.wire.message import HttpRequest

_OWN_FIELDS = ("model", "contents", "stream", "tools", "toolConfig", "systemInstruction")
# Options of every API, as Gemini calls them ("GenerationConfig" in the reference).
_NAMES = {
    "max_tokens": "maxOutputTokens",
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
}
# Options that stand beside generationConfig; every other one is put into it.
_BODY_FIELDS = ("safetySettings", "cachedContent", "labels", "serviceTier")
_TRANSLATED = (
    "stop",
    "reasoning_effort",
    "reasoning_budget",
    "response_format",
    "generationConfig",
)
# Efforts for models that are told a budget of tokens instead ("OpenAI compatibility").
_BUDGETS = {"none": 0, "minimal": 1_024, "low": 1_024, "medium": 8_192}
_LARGEST_BUDGET = 24_576
_SMALLEST_BUDGET = 128  # of models that cannot do without
_MODES = {"auto": "AUTO", "required": "ANY", "none": "NONE"}
_COLLECTIONS = ("models/", "tunedModels/", "publishers/", "projects/")
_MODELS_PATH = re.compile(r"/models(/[^/]*)?$")


def encode(request: ProviderRequest, row: ProviderRow, key: Optional[str]) -> HttpRequest:
    """The HTTP request for ``request``. Raises ConfigError for an option that cannot be set."""
    refuse_own_fields(request.options, _OWN_FIELDS, row)
    request = prepared(request, row)
    model = request.model.rpartition("/")[2]
    signed = applies(row.quirks.get("signed_calls", False), model)
    contents = encode_contents(request.thread, row, request.model, signed_calls=signed)
    prefill = applies(row.quirks.get("prefill", False), model)
    if contents and contents[-1]["role"] == "model" and not prefill:
        contents.append(text_content("user", CONTINUE))
    body: Dict[str, Any] = {"contents": contents}
    if request.thread.system.strip():
        body["systemInstruction"] = {"parts": [{"text": request.thread.system}]}
    if request.tools:
        body["tools"] = [{"functionDeclarations": [_tool(tool) for tool in request.tools]}]
        if request.tool_choice:
            body["toolConfig"] = {"functionCallingConfig": _tool_choice(request.tool_choice)}
    by_budget = applies(row.quirks.get("budget", False), model)
    always = applies(row.quirks.get("always_reasons", False), model)
    body.update(_options(request, by_budget, always))
    headers = request_headers(request, row, key, key_header="x-goog-api-key")
    return HttpRequest(_url(request, row), headers, body)


def _url(request: ProviderRequest, row: ProviderRow) -> str:
    """The model is part of the path; a base URL pasted with one is forgiven."""
    parts = urlsplit(row.base_url)
    base = _MODELS_PATH.sub("", parts.path.rstrip("/"))
    model = request.model
    resource = model if model.startswith(_COLLECTIONS) else f"models/{model}"
    method = "streamGenerateContent" if request.stream else "generateContent"
    query = [field for field in parts.query.split("&") if field and not field.startswith("alt=")]
    if request.stream:
        query.append("alt=sse")
    path = f"{base}/{quote(resource, safe='/@')}:{method}"
    return parts._replace(path=path, query="&".join(query), fragment="").geturl()


def _tool(tool: ToolDefinition) -> Dict[str, Any]:
    declared: Dict[str, Any] = {"name": tool.name, "description": tool.description}
    parameters = reduce_schema(object_schema(tool.parameters))
    if parameters.get("properties"):  # an object without any is refused by older models
        declared["parameters"] = parameters
    return declared


def _tool_choice(choice: str) -> Dict[str, Any]:
    if choice in _MODES:
        return {"mode": _MODES[choice]}
    return {"mode": "ANY", "allowedFunctionNames": [choice]}


def _options(request: ProviderRequest, by_budget: bool, always: bool) -> Dict[str, Any]:
    options = {name: value for name, value in request.options.items() if value is not None}
    fields = {name: options.pop(name) for name in _BODY_FIELDS if name in options}
    config: Dict[str, Any] = {}
    for name, value in options.items():
        if name not in _TRANSLATED and name != "parallel_tool_calls":
            config[_NAMES.get(name, name)] = value
    stop = stop_words(options)
    if stop:
        config["stopSequences"] = stop
    thinking = _thinking(options, by_budget, always)
    if thinking:
        config.setdefault("thinkingConfig", thinking)
    config.update(_response_format(options))
    given = options.get("generationConfig")
    if isinstance(given, dict):
        config.update(given)
    if config:
        fields["generationConfig"] = config
    return fields


def _thinking(options: Mapping[str, Any], by_budget: bool, always: bool) -> Dict[str, Any]:
    """What an effort or a budget of tokens means to the model ("Thinking").

    Models before Gemini 3 take a budget, later ones a level; a budget is taken by both.
    Thoughts are only sent where they are asked for.
    """
    effort, budget = options.get("reasoning_effort"), options.get("reasoning_budget")
    if effort is None and budget is None:
        return {}
    if budget is None and by_budget:
        budget = _BUDGETS.get(str(effort), _LARGEST_BUDGET)
    if budget is not None:
        least = _SMALLEST_BUDGET if always and by_budget else 0
        return {"thinkingBudget": budget or least, "includeThoughts": budget != 0}
    # These models always think; this is as little as they can.
    level = ("low" if always else "minimal") if effort in ("none", "minimal") else effort
    return {"thinkingLevel": level, "includeThoughts": effort != "none"}


def _response_format(options: Mapping[str, Any]) -> Dict[str, Any]:
    """The option ``response_format`` of chat completions, in Gemini's words."""
    wanted, schema = wanted_schema(options)
    if not wanted:
        return {}
    config: Dict[str, Any] = {"responseMimeType": "application/json"}
    if schema is not None:
        config["responseSchema"] = reduce_schema(schema)
    return config
