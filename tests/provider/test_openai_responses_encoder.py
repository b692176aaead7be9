"""What a request to the Responses API says, and that it keeps the API's published rules."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple

import pytest

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
)
from jpq.errors import ConfigError
from jpq.provider.base import ProviderRequest, ProviderRow, ToolDefinition
from jpq.provider.openai_responses import encode
from jpq.provider.registry import load_api, resolve
from jpq.provider.wire_request import CONTINUE
from jpq.wire.message import HttpRequest
from tests.support.validators_responses import check_request

MINE = Origin("acme", "m1")
OTHER = Origin("acme", "m2")
QUESTION = Message("user", (ThreadText("Hello?"),))
ASKED = {
    "type": "message",
    "role": "user",
    "content": [{"type": "input_text", "text": "Hello?"}],
}
TOOL = ToolDefinition("greet", "Greets", {"type": "object", "properties": {"name": {}}})
SECRET = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "A+/="}
SHOWN = {**SECRET, "summary": [{"type": "summary_text", "text": "hm"}]}


def row(**quirks: Any) -> ProviderRow:
    return ProviderRow("acme", "openai-responses", "https://api.acme.test/v1", quirks=quirks)


def send(
    *messages: Message,
    to: Optional[ProviderRow] = None,
    system: str = "",
    continues: bool = False,
    key: Optional[str] = None,
    model: str = "m1",
    **request: Any,
) -> HttpRequest:
    thread = Thread(system, messages or (QUESTION,), continues)
    sent = encode(ProviderRequest(model, thread, **request), to or row(), key)
    check_request(sent.body)
    return sent


def options(to: Optional[ProviderRow] = None, **given: Any) -> Mapping[str, Any]:
    return send(to=to, options=given).body


def answer(*blocks: ThreadBlock) -> Message:
    return Message("assistant", blocks)


def items(*blocks: ThreadBlock, **more: Any) -> List[Dict[str, Any]]:
    """What the assistant message with ``blocks`` is sent as, in the middle of a thread."""
    sent = send(QUESTION, answer(*blocks), QUESTION, **more).body["input"]
    assert sent[0] == sent[-1] == ASKED
    return list(sent[1:-1])


def said(text: str, **more: Any) -> Dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "content": content, **more}


def tool_turn(*before: ThreadBlock, id: str = "c1", **call: Any) -> Tuple[Message, ...]:
    made = ThreadToolCall(id, "greet", {"name": "Zoë"})._replace(**call)
    result = ThreadToolResult(id, made.name, "hi", False)
    return (QUESTION, answer(*before, made), Message("user", (result,)))


# The request around the input


def test_the_smallest_request() -> None:
    request = send(key="sk-1")
    assert request.url == "https://api.acme.test/v1/responses"
    assert request.headers == {"Accept": "text/event-stream", "Authorization": "Bearer sk-1"}
    assert request.body == {
        "model": "m1",
        "input": [ASKED],
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "stream": True,
    }


def test_a_request_that_is_not_streamed() -> None:
    request = send(stream=False)
    assert request.headers == {"Accept": "application/json"}
    assert request.body["stream"] is False


@pytest.mark.parametrize("written", ["https://api.openai.com", "api.openai.com/v1/responses"])
def test_urls_that_people_write(written: str) -> None:
    url = send(to=resolve("openai", {"base_url": written}, {})).url
    assert url.endswith("//api.openai.com/v1/responses")


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://box.openai.azure.com/",
        "box.openai.azure.com",
        "https://box.openai.azure.com/openai",
        "https://box.openai.azure.com/openai/v1/",
        "https://box.openai.azure.com/openai/v1/responses",
    ],
)
def test_azure_has_a_host_for_each_person_and_a_header_of_its_own(endpoint: str) -> None:
    azure = resolve("azure", {}, {"AZURE_OPENAI_ENDPOINT": endpoint})
    request = send(to=azure, key="k", model="gpt-4o")
    assert request.url == "https://box.openai.azure.com/openai/v1/responses"
    assert request.headers == {"Accept": "text/event-stream", "api-key": "k"}
    assert "include" not in request.body
    with pytest.raises(ConfigError, match="no base_url"):
        resolve("azure", {}, {})


def test_the_chat_api_of_openai_remains() -> None:
    assert resolve("openai", {}, {}).api == "openai-responses"
    chat = resolve("openai", {"api": "openai-chat"}, {})
    assert load_api(chat.api).FRAMING == "sse"
    thread = Thread("", (QUESTION,))
    sent = load_api(chat.api).encode(ProviderRequest("m1", thread), chat, None)
    assert sent.url == "https://api.openai.com/v1/chat/completions"


def test_the_system_prompt_is_the_instructions() -> None:
    assert send(system="Be brief.").body["instructions"] == "Be brief."
    assert "instructions" not in send(system=" \n").body


def test_tools_and_their_choice() -> None:
    bare = ToolDefinition("now", "", {})
    body = send(tools=(TOOL, bare), tool_choice="greet").body
    assert body["tools"] == [
        {
            "type": "function",
            "name": "greet",
            "description": "Greets",
            "parameters": {"type": "object", "properties": {"name": {}}},
            "strict": False,
        },
        {
            "type": "function",
            "name": "now",
            "parameters": {"type": "object", "properties": {}},
            "strict": False,
        },
    ]
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
        "additionalProperties": False,
    }
    strict = send(tools=(ToolDefinition("greet", "", schema, True),)).body["tools"]
    assert [tool["strict"] for tool in strict] == [True]
    assert body["tool_choice"] == {"type": "function", "name": "greet"}
    for choice in ("auto", "required", "none"):
        assert send(tools=(TOOL,), tool_choice=choice).body["tool_choice"] == choice
    assert "tool_choice" not in send(tool_choice="none").body
    refusing = row(tool_choice=False)
    assert "tool_choice" not in send(tools=(TOOL,), tool_choice="none", to=refusing).body


def test_parallel_calls_are_spoken_of_where_there_are_tools() -> None:
    given = {"parallel_tool_calls": False}
    assert send(tools=(TOOL,), options=given).body["parallel_tool_calls"] is False
    assert "parallel_tool_calls" not in options(parallel_tool_calls=False)


def test_options() -> None:
    body = options(max_tokens=5, temperature=0, top_p=None, truncation="auto")
    assert body["max_output_tokens"] == 5 and "max_tokens" not in body
    assert body["temperature"] == 0 and body["truncation"] == "auto"
    assert "top_p" not in body
    assert options(store=True)["store"] is True


def test_reasoning_options() -> None:
    assert options(reasoning_effort="low")["reasoning"] == {"effort": "low"}
    both = options(reasoning_effort="low", reasoning_summary="auto", reasoning={"effort": "x"})
    assert both["reasoning"] == {"effort": "low", "summary": "auto"}
    assert not {"reasoning_effort", "reasoning_summary"} & set(both)


def test_a_response_format_of_the_chat_api_is_translated() -> None:
    schema = {"name": "n", "schema": {"type": "object"}, "strict": True}
    given = {"type": "json_schema", "json_schema": schema}
    body = options(response_format=given, text={"verbosity": "low"})
    assert body["text"] == {"verbosity": "low", "format": {"type": "json_schema", **schema}}
    assert options(response_format={"type": "json_object"})["text"] == {
        "format": {"type": "json_object"}
    }


@pytest.mark.parametrize("model", ["gpt-4o-mini", "gpt-4.1", "gpt-5-chat-latest", "gpt-3.5-turbo"])
def test_models_that_do_not_reason_are_not_asked_for_reasoning(model: str) -> None:
    openai = resolve("openai", {}, {})
    assert "include" not in send(to=openai, model=model).body
    kept = send(to=openai, model=model, options={"include": ["file_search_call.results"]}).body
    assert kept["include"] == ["file_search_call.results"]


@pytest.mark.parametrize("model", ["o3", "o4-mini", "gpt-5", "gpt-5-mini", "gpt-5.3-codex", "x"])
def test_every_other_model_is(model: str) -> None:
    openai = resolve("openai", {}, {})
    given = {"include": ["reasoning.encrypted_content"]}
    assert send(to=openai, model=model, options=given).body["include"] == given["include"]
    assert send(to=openai, model=model).body["include"] == given["include"]


@pytest.mark.parametrize(
    "name", ["model", "input", "instructions", "stream", "tools", "previous_response_id"]
)
def test_options_cannot_replace_what_jpq_fills_in(name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        options(**{name: 1})


@pytest.mark.parametrize(
    ("name", "advice"), [("stop", "providers.acme.api"), ("reasoning_budget", "reasoning_effort")]
)
def test_options_that_the_api_has_nothing_for(name: str, advice: str) -> None:
    with pytest.raises(ConfigError, match=name) as caught:
        options(**{name: 1})
    assert advice in caught.value.hint


# Messages and calls


def test_a_tool_turn() -> None:
    sent = send(*tool_turn(ThreadText("I will.")), answer(ThreadText("Done.")), QUESTION)
    assert sent.body["input"] == [
        ASKED,
        said("I will."),
        {
            "type": "function_call",
            "call_id": "c1",
            "name": "greet",
            "arguments": '{"name": "Zoë"}',
        },
        {"type": "function_call_output", "call_id": "c1", "output": "hi"},
        said("Done."),
        ASKED,
    ]


def test_results_come_before_what_the_person_says_next() -> None:
    question, made, results = tool_turn()
    more = Message("user", (ThreadText("And?"), *results.blocks, ThreadText("Well?")))
    sent = send(question, made, more).body["input"]
    assert [item["type"] for item in sent[2:]] == ["function_call_output", "message"]
    assert [part["text"] for part in sent[-1]["content"]] == ["And?", "Well?"]


def test_what_the_maker_knows_its_items_by_goes_back_to_it() -> None:
    own = {"id": "msg_1", "phase": "commentary"}
    assert items(ThreadText("a", MINE, own)) == [
        said("a", id="msg_1", status="completed", phase="commentary")
    ]
    assert items(ThreadText("a", OTHER, own)) == items(ThreadText("a", None, own)) == [said("a")]
    for origin, kept in ((MINE, {"id": "fc_1", "namespace": "n"}), (OTHER, {})):
        turn = tool_turn(origin=origin, opaque={"id": "fc_1", "namespace": "n"})
        made = send(*turn).body["input"][1]
        expected = {"type": "function_call", "call_id": "c1", "name": "greet"}
        assert made == {**expected, "arguments": '{"name": "Zoë"}', **kept}


def test_a_refusal_goes_back_as_one() -> None:
    (sent,) = items(ThreadText("No.", MINE, {"refused": True}))
    assert sent["content"] == [{"type": "refusal", "refusal": "No."}]


def test_a_call_of_a_custom_tool_and_its_output() -> None:
    made = {"arguments": {"raw": "SELECT"}, "opaque": {"type": "custom_tool_call", "id": "ct"}}
    call, output = send(*tool_turn(origin=MINE, **made)).body["input"][1:]
    expected = {"type": "custom_tool_call", "id": "ct", "call_id": "c1", "name": "greet"}
    assert call == {**expected, "input": "SELECT"}
    assert output == {"type": "custom_tool_call_output", "call_id": "c1", "output": "hi"}
    call, output = send(*tool_turn(origin=OTHER, **made)).body["input"][1:]
    assert call["type"] == "function_call" and call["arguments"] == '{"raw": "SELECT"}'
    assert output["type"] == "function_call_output"


def test_ids_and_names_of_other_apis_are_made_to_fit() -> None:
    long = "call_" + "x" * 100
    turns = (*tool_turn(id=long + "1"), *tool_turn(id=long + "2", name="my tool.v2"))
    sent = send(*turns).body["input"]
    ids = [item["call_id"] for item in sent if "call_id" in item]
    assert ids[0] == ids[1] != ids[2] == ids[3]
    assert {len(id) for id in ids} == {64}
    assert [item["name"] for item in sent if "name" in item] == ["greet", "my_tool_v2"]


def test_the_rest_of_a_cut_answer_is_asked_for() -> None:
    cut = answer(ThreadText("Once upon"))
    *before, asked = send(QUESTION, cut, continues=True).body["input"]
    assert before == [ASKED, said("Once upon")]
    assert asked["role"] == "user" and asked["content"][0]["text"] == CONTINUE
    opened = send(QUESTION, cut, continues=True, to=row(prefill=True)).body["input"]
    assert opened == [ASKED, said("Once upon")]
    whole = send(QUESTION, cut, continues=True, to=row(prefill=True), stream=False).body["input"]
    assert whole == [ASKED, said("Once upon"), asked]


# What only its maker gets back


def test_reasoning_goes_back_whole() -> None:
    secret = ThreadOpaque(SECRET, MINE)
    shown = ThreadReasoning("hm", MINE, {"item": SHOWN})
    placed = ThreadReasoning("", MINE, {"item": SECRET})
    assert items(secret, ThreadText("a")) == [SECRET, said("a")]
    assert items(shown, ThreadText("a")) == [SHOWN, said("a")]
    assert items(placed, ThreadText("a")) == [SECRET, said("a")]
    sent = send(*tool_turn(secret, ThreadText("a"), shown)).body["input"]
    assert sent[1:4] == [SECRET, said("a"), SHOWN]


@pytest.mark.parametrize("origin", [None, OTHER, Origin("other", "m1")])
def test_nobody_gets_what_another_made(origin: Optional[Origin]) -> None:
    secret = ThreadOpaque(SECRET, origin)
    shown = ThreadReasoning("hm", origin, {"item": SHOWN})
    assert items(secret, shown, ThreadText("a")) == [said("a")]
    asked_for = row(foreign_reasoning="text")
    assert items(shown, ThreadText("a"), to=asked_for) == [
        said("<thinking>hm</thinking>"),
        said("a"),
    ]


def test_reasoning_without_its_item_or_without_what_it_led_to_stays() -> None:
    assert items(ThreadReasoning("hm", MINE), ThreadText("a")) == [said("a")]
    after = ThreadReasoning("hm", MINE, {"item": SHOWN})
    foreign = ThreadOpaque({"type": "web_search_call"}, OTHER)
    assert items(ThreadText("a"), after, foreign) == [said("a")]


def test_items_of_the_providers_own_tools_go_back_unless_they_want_an_answer() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "action": {}}
    unanswered = ({"type": "local_shell_call", "call_id": "c"}, {"type": "mcp_approval_request"})
    blocks = [ThreadOpaque(data, MINE) for data in (search, *unanswered, {"odd": 1})]
    assert items(*blocks, ThreadText("a")) == [search, said("a")]
