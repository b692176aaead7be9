"""The rules that Google publishes for requests to the Gemini API, as assertions.

They are from the pages "Generating content" (reference: GenerateContentRequest, Content, Part,
GenerationConfig, Tool, Schema), "Function calling", "Thought signatures" and "Thinking" of the
Gemini API's documentation, and for ``anyOf`` from Vertex AI's.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any, Dict, List, Mapping, Sequence

_FIELDS = {
    "cachedContent", "contents", "generationConfig", "labels", "safetySettings", "serviceTier",
    "systemInstruction", "toolConfig", "tools",
}  # fmt: skip
_CONFIG_FIELDS = {
    "candidateCount", "enableEnhancedCivicAnswers", "frequencyPenalty", "logprobs",
    "maxOutputTokens", "mediaResolution", "presencePenalty", "responseJsonSchema",
    "responseLogprobs", "responseMimeType", "responseModalities", "responseSchema", "seed",
    "speechConfig", "stopSequences", "temperature", "thinkingConfig", "topK", "topP",
}  # fmt: skip
_DATA = {
    "codeExecutionResult", "executableCode", "fileData", "functionCall", "functionResponse",
    "inlineData", "text", "toolCall", "toolResponse",
}  # fmt: skip
_PART_FIELDS = _DATA | {
    "mediaResolution",
    "partMetadata",
    "thought",
    "thoughtSignature",
    "videoMetadata",
}
_SCHEMA_FIELDS = {
    "anyOf", "default", "description", "enum", "example", "format", "items", "maxItems",
    "maxLength", "maxProperties", "maximum", "minItems", "minLength", "minProperties", "minimum",
    "nullable", "pattern", "properties", "propertyOrdering", "required", "title", "type",
}  # fmt: skip
_MEDIA_TYPES = ("image/png", "image/jpeg", "image/webp", "application/pdf")
_TYPES = {"string", "number", "integer", "boolean", "array", "object"}
_NAME = re.compile("[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")


def check_request(body: Mapping[str, Any], *, signed_calls: bool = False) -> None:
    """Assert that the API takes ``body``; ``signed_calls`` says that its model is a Gemini 3."""
    json.dumps(body)
    assert set(body) <= _FIELDS, f"unknown fields: {set(body) - _FIELDS}"
    if "systemInstruction" in body:
        for part in body["systemInstruction"]["parts"]:
            assert part["text"].strip()
    config = body.get("generationConfig", {})
    assert set(config) <= _CONFIG_FIELDS, f"unknown options: {set(config) - _CONFIG_FIELDS}"
    thinking = config.get("thinkingConfig", {})
    assert not {"thinkingBudget", "thinkingLevel"} <= set(thinking), "a budget or a level"
    _check_tools(body)
    _check_contents(body["contents"], signed_calls)
    if signed_calls:
        _check_signatures(body["contents"])


def _check_contents(contents: Sequence[Mapping[str, Any]], signed_calls: bool) -> None:
    assert contents and contents[0]["role"] == "user", "the user begins"
    assert contents[-1]["role"] == "user", "the user is answered"
    waiting: List[Mapping[str, Any]] = []
    for content, before in zip(contents, [None, *contents]):
        assert set(content) == {"role", "parts"} and content["role"] in ("user", "model")
        assert before is None or before["role"] != content["role"], "the roles alternate"
        assert content["parts"], "a content without parts"
        for part in content["parts"]:
            _check_part(part, content["role"], signed_calls)
        kinds = ["functionResponse" in part for part in content["parts"]]
        assert kinds == sorted(kinds, reverse=True), "the responses come first"
        responses = [p["functionResponse"] for p in content["parts"] if "functionResponse" in p]
        _check_answers(waiting, responses)
        waiting = [p["functionCall"] for p in content["parts"] if "functionCall" in p]
    assert not waiting


def _check_part(part: Mapping[str, Any], role: str, signed_calls: bool) -> None:
    assert set(part) <= _PART_FIELDS, f"unknown fields of a part: {set(part) - _PART_FIELDS}"
    assert len(_DATA & set(part)) <= 1, "a part holds one thing"
    assert _DATA & set(part) or "thoughtSignature" in part, "an empty part"
    if "text" in part:
        assert isinstance(part["text"], str)
        assert part["text"].strip() or "thoughtSignature" in part, "a blank text"
    if "inlineData" in part and role == "user":
        _check_inline(part)
    call, response = part.get("functionCall"), part.get("functionResponse")
    if call is not None:
        assert role == "model" and set(call) <= {"name", "args", "id"}
        assert _NAME.fullmatch(call["name"]) and isinstance(call["args"], dict)
    if response is not None:
        assert role == "user" and set(response) <= {"name", "response", "id", "parts"}
        assert isinstance(response["response"], dict)
        assert "parts" not in response or (signed_calls and response["parts"])
        for inner in response.get("parts", ()):
            assert set(inner) == {"inlineData"}
            _check_inline(inner)


def _check_inline(part: Mapping[str, Any]) -> None:
    data = part["inlineData"]
    assert set(data) == {"mimeType", "data"} and data["mimeType"] in _MEDIA_TYPES
    assert base64.b64decode(data["data"], validate=True)


def _check_answers(
    calls: Sequence[Mapping[str, Any]], responses: Sequence[Mapping[str, Any]]
) -> None:
    """As many responses as calls, in their order, with their names and ids."""
    asked = [(call["name"], call.get("id")) for call in calls]
    assert [(r["name"], r.get("id")) for r in responses] == asked


def _check_signatures(contents: Sequence[Mapping[str, Any]]) -> None:
    """The first call of each step is signed."""
    for content in contents:
        calls = [part for part in content["parts"] if "functionCall" in part]
        assert not calls or calls[0].get("thoughtSignature"), "a step without a signature"


def _check_tools(body: Mapping[str, Any]) -> None:
    names = []
    for tool in body.get("tools", ()):
        for function in tool["functionDeclarations"]:
            assert set(function) <= {"name", "description", "parameters"}
            assert _NAME.fullmatch(function["name"])
            names.append(function["name"])
            if "parameters" in function:
                assert function["parameters"]["type"] == "object"
                assert function["parameters"]["properties"], "an object without properties"
                check_schema(function["parameters"])
    assert len(names) == len(set(names)), "two functions of one name"
    if "toolConfig" in body:
        config: Dict[str, Any] = body["toolConfig"]["functionCallingConfig"]
        assert config["mode"] in ("AUTO", "ANY", "NONE")
        if "allowedFunctionNames" in config:
            assert config["mode"] == "ANY" and set(config["allowedFunctionNames"]) <= set(names)


def check_schema(schema: Mapping[str, Any]) -> None:
    """Assert that ``schema`` keeps to the subset."""
    assert set(schema) <= _SCHEMA_FIELDS, f"not in the subset: {set(schema) - _SCHEMA_FIELDS}"
    if "anyOf" in schema:
        assert set(schema) == {"anyOf"}, "nothing stands beside anyOf"
        assert len(schema["anyOf"]) > 1
        for choice in schema["anyOf"]:
            check_schema(choice)
        return
    assert schema["type"] in _TYPES
    if "enum" in schema:
        assert schema["type"] == "string" and schema["enum"]
        assert all(isinstance(value, str) and value for value in schema["enum"])
    if schema["type"] == "array":
        check_schema(schema["items"])
    properties = schema.get("properties", {})
    assert set(schema.get("required", ())) <= set(properties)
    for inner in properties.values():
        check_schema(inner)
