"""What a request to the Gemini API says, and that it keeps the API's published rules."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.conversation.event import (
    AssistantMessage,
    AssistantOpaque,
    AssistantReasoning,
    ChatRequest,
    Draft,
    ToolCall,
    ToolResponse,
)
from jpq.conversation.stream import ConversationStream
from jpq.conversation.thread import (
    Message,
    Origin,
    Thread,
    ThreadBlock,
    ThreadOpaque,
    ThreadReasoning,
    ThreadText,
    ThreadToolCall,
    ThreadToolResult,
    build_thread,
)
from jpq.errors import ConfigError
from jpq.provider.base import ProviderRequest, ProviderRow, ToolDefinition
from jpq.provider.google import encode
from jpq.provider.google_contents import NOT_SIGNED
from jpq.provider.google_schema import reduce_schema
from jpq.provider.registry import resolve
from jpq.provider.wire_request import CONTINUE
from jpq.wire.message import HttpRequest
from tests.support.validators_google import check_request, check_schema

MINE, OTHER = Origin("acme", "m1"), Origin("acme", "m2")
QUESTION = Message("user", (ThreadText("Hello?"),))
TOOL = ToolDefinition("greet", "Greets", {"type": "object", "properties": {"name": {}}})


def row(base_url: str = "https://gemini.test/v1beta", **quirks: Any) -> ProviderRow:
    return ProviderRow("acme", "google", base_url, quirks=quirks)


def send(
    *messages: Message,
    to: Optional[ProviderRow] = None,
    system: str = "",
    key: Optional[str] = None,
    model: str = "m1",
    **request: Any,
) -> HttpRequest:
    thread = Thread(system, messages or (QUESTION,))
    sent = encode(ProviderRequest(model, thread, **request), to or row(), key)
    check_request(sent.body)
    return sent


def config(to: Optional[ProviderRow] = None, **given: Any) -> Mapping[str, Any]:
    found = send(to=to, options=given).body["generationConfig"]
    assert isinstance(found, dict)
    return found


def answer(*blocks: ThreadBlock) -> Message:
    return Message("assistant", blocks)


def parts(*blocks: ThreadBlock, **more: Any) -> List[Dict[str, Any]]:
    """What the answer with ``blocks`` is sent as, in the middle of a thread."""
    sent = send(QUESTION, answer(*blocks), QUESTION, **more).body["contents"][1]["parts"]
    assert isinstance(sent, list)
    return sent


def tool_turn(call: ThreadToolCall, is_error: bool = False) -> Tuple[Message, ...]:
    result = ThreadToolResult(call.id, call.name, "hi", is_error)
    return (QUESTION, answer(call), Message("user", (result,)))


# The request around the contents


def test_the_smallest_request() -> None:
    request = send(key="k-1")
    assert request.url == "https://gemini.test/v1beta/models/m1:streamGenerateContent?alt=sse"
    assert request.headers == {"Accept": "text/event-stream", "x-goog-api-key": "k-1"}
    assert request.body == {"contents": [{"role": "user", "parts": [{"text": "Hello?"}]}]}


def test_a_request_that_is_not_streamed() -> None:
    request = send(stream=False)
    assert request.url == "https://gemini.test/v1beta/models/m1:generateContent"
    assert request.headers == {"Accept": "application/json"}


@pytest.mark.parametrize(
    "written",
    [
        "https://gemini.test/v1beta",
        "https://gemini.test/v1beta/",
        "https://gemini.test/v1beta/models",
        "https://gemini.test/v1beta/models/gemini-pro:generateContent",
        "https://gemini.test/v1beta/models/gemini-pro:streamGenerateContent?alt=sse",
    ],
)
def test_base_urls_are_forgiven(written: str) -> None:
    wanted = "https://gemini.test/v1beta/models/m1:streamGenerateContent?alt=sse"
    assert send(to=row(written)).url == wanted


@pytest.mark.parametrize(
    "model, path",
    [
        ("models/gemini-x", "models/gemini-x"),
        ("tunedModels/mine", "tunedModels/mine"),
        ("a b?", "models/a%20b%3F"),
    ],
)
def test_the_model_is_part_of_the_url(model: str, path: str) -> None:
    assert f"/v1beta/{path}:stream" in send(model=model).url


def test_vertex_ai_is_another_base_url_and_a_token() -> None:
    base = "https://eu-aiplatform.test/v1/projects/p/locations/eu/publishers/google?key=a"
    request = send(to=row(base, key_header="Authorization"), key="token")
    assert request.url == base.replace("?", "/models/m1:streamGenerateContent?") + "&alt=sse"
    assert request.headers["Authorization"] == "Bearer token"


def test_the_built_in_row() -> None:
    assert resolve("google", {}, {}).key_env == "GEMINI_API_KEY"
    assert resolve("google", {}, {"GOOGLE_API_KEY": "k"}).key_env == "GOOGLE_API_KEY"
    both = {"GOOGLE_API_KEY": "k", "GEMINI_API_KEY": "k"}
    assert resolve("google", {}, both).key_env == "GEMINI_API_KEY"
    own = resolve("google", {"api_key_env": "MINE"}, {"GOOGLE_API_KEY": "k"})
    assert own.key_env == "MINE"
    bare = resolve("google", {}, {"GOOGLE_BASE_URL": "https://gemini.test"})
    assert bare.base_url == "https://gemini.test/v1beta"


def test_options_are_put_where_gemini_has_them() -> None:
    body = send(
        system="Be brief.",
        options={
            "max_tokens": 9,
            "stop": "x",
            "temperature": 0,
            "top_p": 0.5,
            "seed": None,
            "safetySettings": [],
            "generationConfig": {"topP": 1},
        },
    ).body
    assert body["generationConfig"] == {
        "maxOutputTokens": 9,
        "stopSequences": ["x"],
        "temperature": 0,
        "topP": 1,
    }
    assert body["safetySettings"] == []
    assert body["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    with pytest.raises(ConfigError):
        send(options={"contents": []})


@pytest.mark.parametrize(
    "effort, budget, level",
    [
        ("none", 0, "minimal"),
        ("low", 1024, "low"),
        ("medium", 8192, "medium"),
        ("max", 24576, "max"),
    ],
)
def test_reasoning_is_asked_for_by_effort(effort: str, budget: int, level: str) -> None:
    told = config(reasoning_effort=effort)["thinkingConfig"]
    assert told == {"thinkingLevel": level, "includeThoughts": effort != "none"}
    told = config(row(budget=("m*",)), reasoning_effort=effort)["thinkingConfig"]
    assert told == {"thinkingBudget": budget, "includeThoughts": budget != 0}


@pytest.mark.parametrize("none", [{"reasoning_effort": "none"}, {"reasoning_budget": 0}])
def test_a_model_that_always_reasons_does_so_as_little_as_it_can(none: Dict[str, Any]) -> None:
    always = row(always_reasons=("m*",), budget=("m*",))
    assert config(always, **none)["thinkingConfig"] == {
        "thinkingBudget": 128,
        "includeThoughts": False,
    }
    told = config(row(always_reasons=("m*",)), reasoning_effort="none")["thinkingConfig"]
    assert told == {"thinkingLevel": "low", "includeThoughts": False}


def test_reasoning_is_asked_for_by_budget_or_in_gemini_s_own_words() -> None:
    assert config(reasoning_budget=-1)["thinkingConfig"]["thinkingBudget"] == -1
    own = {"includeThoughts": True}
    assert config(reasoning_budget=1, thinkingConfig=own)["thinkingConfig"] == own


def test_structured_output() -> None:
    schema = {"type": "object", "properties": {"a": {"const": 1}}, "additionalProperties": False}
    told = config(response_format={"type": "json_schema", "json_schema": {"schema": schema}})
    assert told == {"responseMimeType": "application/json", "responseSchema": reduce_schema(schema)}
    told = config(response_format={"type": "json_object"})
    assert told == {"responseMimeType": "application/json"}
    assert "generationConfig" not in send(options={"response_format": {"type": "text"}}).body


@pytest.mark.parametrize(
    "choice, told",
    [
        ("auto", {"mode": "AUTO"}),
        ("required", {"mode": "ANY"}),
        ("none", {"mode": "NONE"}),
        ("greet", {"mode": "ANY", "allowedFunctionNames": ["greet"]}),
    ],
)
def test_tool_choice(choice: str, told: Any) -> None:
    body = send(tools=(TOOL,), tool_choice=choice).body
    assert body["toolConfig"] == {"functionCallingConfig": told}
    assert "toolConfig" not in send(tool_choice=choice).body


def test_tools() -> None:
    (declared,) = send(tools=(TOOL, ToolDefinition("now", "", {}))).body["tools"]
    greet, now = declared["functionDeclarations"]
    assert greet["parameters"] == {"type": "object", "properties": {"name": {"type": "string"}}}
    assert now == {"name": "now", "description": ""}


# The contents


def test_a_tool_turn() -> None:
    call = ThreadToolCall("c1", "greet", {"name": "Zoë"}, OTHER)
    for is_error in (False, True):
        sent = send(*tool_turn(call, is_error)).body["contents"]
        said = {"error" if is_error else "output": "hi"}
        assert sent[1:] == [
            {
                "role": "model",
                "parts": [{"functionCall": {"name": "greet", "args": {"name": "Zoë"}}}],
            },
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": "greet", "response": said}}],
            },
        ]


def test_a_call_goes_back_as_it_came_to_its_maker_only() -> None:
    opaque = {"id": "fc/1", "thoughtSignature": "s", "extra_content": {}}
    for origin, id in ((MINE, "fc/1"), (OTHER, None)):
        call = ThreadToolCall("fc/1-2", "greet", {}, origin, opaque)
        _, said, result = send(*tool_turn(call)).body["contents"]
        (part,) = said["parts"]
        assert part.get("thoughtSignature") == ("s" if origin == MINE else None)
        assert part["functionCall"].get("id") == id
        assert result["parts"][0]["functionResponse"].get("id") == id


def test_names_of_other_models_are_made_valid() -> None:
    for name, valid in (("a b/é", "a_b__"), ("1st", "_1st"), ("n" * 99, "n" * 64)):
        _, said, result = send(*tool_turn(ThreadToolCall("1", name, {}))).body["contents"]
        assert said["parts"][0]["functionCall"]["name"] == valid
        assert result["parts"][0]["functionResponse"]["name"] == valid


def test_a_step_without_a_signature_is_marked_where_that_is_needed() -> None:
    calls = [ThreadToolCall(id, "greet", {}, OTHER) for id in "12"]
    results = [ThreadToolResult(id, "greet", "hi", False) for id in "12"]
    thread = Thread("", (QUESTION, answer(*calls), Message("user", tuple(results))))
    for model, needed in (("gemini-3-pro", True), ("models/gemini-3", True), ("gemini-2.5", False)):
        to = resolve("google", {}, {})
        body = encode(ProviderRequest(model, thread), to, None).body
        check_request(body, signed_calls=needed)
        signatures = [part.get("thoughtSignature") for part in body["contents"][1]["parts"]]
        assert signatures == [NOT_SIGNED if needed else None, None]


def test_signed_text_goes_back_in_its_parts() -> None:
    kept = [{"text": "aa"}, {"text": "b", "thoughtSignature": "s"}, {"thoughtSignature": "t"}]
    opaque = {"parts": kept}
    assert parts(ThreadText("aab", MINE, opaque)) == kept
    assert parts(ThreadText("aab", OTHER, opaque)) == [{"text": "aab"}]
    assert parts(ThreadText("x aab", MINE, opaque)) == [{"text": "x "}, *kept]
    assert parts(ThreadText("changed", MINE, opaque)) == [{"text": "changed"}]
    blank = {"parts": [{"text": "\n"}, {"text": "", "thoughtSignature": "s"}]}
    text = ThreadText("a", MINE)
    assert parts(text, ThreadOpaque(blank, MINE)) == [{"text": "a"}, blank["parts"][1]]


def test_reasoning_goes_back_to_its_maker_only_and_if_it_is_signed() -> None:
    signed = {"text": "Hm.", "thought": True, "thoughtSignature": "s"}
    text, sent = ThreadText("a"), {"text": "a"}
    assert parts(ThreadReasoning("Hm.", MINE, {"parts": [signed]}), text) == [signed, sent]
    assert parts(ThreadReasoning("Hm.", OTHER, {"parts": [signed]}), text) == [sent]
    assert parts(ThreadReasoning("Hm.", MINE), text) == [sent]
    told = parts(ThreadReasoning("Hm.", OTHER), text, to=row(foreign_reasoning="text"))
    assert told == [{"text": "<thinking>Hm.</thinking>"}, sent]


def test_parts_of_the_provider_go_back_verbatim() -> None:
    code = {"executableCode": {"code": "1", "language": "PYTHON"}}
    text = ThreadText("a")
    assert parts(ThreadOpaque(code, MINE), text) == [code, {"text": "a"}]
    assert parts(ThreadOpaque(code, OTHER), text) == [{"text": "a"}]
    other_api = {"type": "thinking", "signature": "s"}
    assert parts(ThreadOpaque(other_api, MINE), text) == [{"text": "a"}]


def test_a_cut_answer_is_gone_on_with() -> None:
    thread = Thread("", (QUESTION, answer(ThreadText("Hel"))), True)
    asked = encode(ProviderRequest("m1", thread), row(), None).body
    check_request(asked)
    assert asked["contents"][-1] == {"role": "user", "parts": [{"text": CONTINUE}]}
    left_open = encode(ProviderRequest("m1", thread), row(prefill=True), None).body
    assert left_open["contents"] == asked["contents"][:-1]


WORDS = st.sampled_from(["", " ", "\n", "a", "b ", " c"])
IDS = st.sampled_from(["", "1", "a.b", "a:b"])
SIGNED = {"text": "", "thoughtSignature": "s"}
ANY_EVENT = st.one_of(
    st.builds(ChatRequest, WORDS),
    st.builds(AssistantMessage, WORDS),
    st.builds(AssistantReasoning, WORDS),
    st.builds(AssistantOpaque, st.sampled_from([SIGNED, {"inlineData": {}}, {"type": "x"}])),
    st.builds(ToolCall, IDS, st.sampled_from(["f", "g h", ""]), st.just({})),
    st.builds(ToolResponse, IDS, WORDS, st.booleans()),
)
OPAQUE = st.sampled_from(
    [
        {"id": "given", "thoughtSignature": "s"},
        {"thoughtSignature": "s"},
        {"parts": [{"text": "a"}, SIGNED]},
        {"parts": [{"text": "\n"}, SIGNED]},
        {"extra_content": {}, "type": "y"},
    ]
)
METADATA = st.fixed_dictionaries(
    {"provider": st.just("acme"), "model": st.sampled_from(["m1", "m2"])},
    optional={"partial": st.just(True), "opaque": OPAQUE},
)


@given(st.lists(st.tuples(ANY_EVENT, METADATA), max_size=12), st.booleans(), st.booleans())
def test_any_conversation_makes_a_valid_request(
    events: List[Any], continues: bool, signed: bool
) -> None:
    stream = ConversationStream()
    for event in [(ChatRequest("Hello?"), {}), *events]:
        stream.append(Draft(*event))
    thread = build_thread(list(stream.entries), "sys", continues)
    to = row(signed_calls=signed, foreign_reasoning="text")
    sent = encode(ProviderRequest("m1", thread, (TOOL,)), to, None)
    check_request(sent.body, signed_calls=signed)


# Schemas


@pytest.mark.parametrize(
    "schema, reduced",
    [
        ({"$schema": "x", "type": "integer", "exclusiveMinimum": 1}, {"type": "integer"}),
        ({"type": ["string", "null"]}, {"type": "string", "nullable": True}),
        (
            {"type": ["string", "integer"], "minLength": 1, "description": "d"},
            {
                "anyOf": [
                    {"description": "d", "type": "string", "minLength": 1},
                    {"description": "d", "type": "integer"},
                ]
            },
        ),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": "string", "nullable": True}),
        (
            {"oneOf": [{"anyOf": [{"type": "string"}, {"type": "number"}]}, {"type": "boolean"}]},
            {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]},
        ),
        ({"enum": ["a", "b", None]}, {"type": "string", "enum": ["a", "b"], "nullable": True}),
        ({"enum": [1, 2]}, {"type": "number", "description": "One of: 1, 2"}),
        ({"const": "k"}, {"type": "string", "enum": ["k"]}),
        ({"type": "string", "format": "email"}, {"type": "string"}),
        ({"type": "string", "format": "date-time"}, {"type": "string", "format": "date-time"}),
        ({"type": "array"}, {"type": "array", "items": {"type": "string"}}),
        (
            {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}]},
            {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "number"}]}},
        ),
        (
            {"properties": {"a": True}, "required": ["a", "gone"], "additionalProperties": False},
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        ),
        (
            {"$ref": "#/$defs/a~1b", "description": "d", "$defs": {"a/b": {"type": "number"}}},
            {"type": "number", "description": "d"},
        ),
        (
            {
                "allOf": [{"$ref": "#/$defs/a"}, {"required": ["b"]}],
                "properties": {"b": {"type": "string"}},
                "$defs": {"a": {"type": "object", "properties": {"a": {}}, "required": ["a"]}},
            },
            {
                "type": "object",
                "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                "required": ["a", "b"],
            },
        ),
        ({"$ref": "https://elsewhere.test/x"}, {"type": "string"}),
        ({}, {"type": "string"}),
    ],
)
def test_schemas_are_reduced(schema: Dict[str, Any], reduced: Dict[str, Any]) -> None:
    check_schema(reduce_schema(schema))
    assert reduce_schema(schema) == reduced


def test_a_schema_that_holds_itself_ends() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    reduced = reduce_schema({"$ref": "#/$defs/node", "$defs": {"node": node}})
    assert reduced == {"type": "object", "properties": {"next": {"type": "object"}}}
    for field in ("anyOf", "allOf", "oneOf"):
        check_schema(reduce_schema({field: [{"$ref": "#"}, {"$ref": "#"}]}))
    twice = {
        f"d{n}": {"properties": {k: {"$ref": f"#/$defs/d{n + 1}"} for k in "ab"}} for n in range(40)
    }
    check_schema(reduce_schema({"$ref": "#/$defs/d0", "$defs": twice}))


NAMES = st.sampled_from(["a", "b"])
SCHEMAS: Any = st.recursive(
    st.booleans() | st.fixed_dictionaries({"$ref": st.sampled_from(["#", "#/$defs/a", "x", 1])}),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "object", "array", ["number", "null"], "odd", 1]),
            "properties": st.dictionaries(NAMES, inner, max_size=2),
            "$defs": st.dictionaries(NAMES, inner, max_size=2),
            "required": st.lists(NAMES, unique=True),
            "items": inner | st.lists(inner, max_size=2),
            "anyOf": st.lists(inner, max_size=2),
            "oneOf": st.lists(inner, max_size=2),
            "allOf": st.lists(inner, max_size=2),
            "enum": st.lists(st.sampled_from(["a", "", 1, None, []]), max_size=2),
            "const": st.sampled_from(["a", 1, None]),
            "description": st.just("d"),
            "format": st.just("uri"),
        },
    ),
    max_leaves=6,
)


@given(SCHEMAS.filter(lambda schema: isinstance(schema, dict)))
def test_any_schema_is_reduced_to_the_subset(schema: Dict[str, Any]) -> None:
    check_schema(reduce_schema(schema))
