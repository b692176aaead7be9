"""What a request to the Messages API says, and that it keeps the API's published rules."""

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
from jpq.provider.anthropic import encode
from jpq.provider.base import ProviderRequest, ProviderRow, ToolDefinition
from jpq.provider.registry import resolve
from jpq.provider.wire_request import CONTINUE
from jpq.wire.message import HttpRequest
from tests.support.validators_anthropic import check_request

MINE = Origin("acme", "m1")
OTHER = Origin("acme", "m2")
QUESTION = Message("user", (ThreadText("Hello?"),))
CACHE = {"type": "ephemeral"}
TOOL = ToolDefinition("greet", "Greets", {"type": "object", "properties": {"name": {}}})


def row(**quirks: Any) -> ProviderRow:
    return ProviderRow("acme", "anthropic", "https://api.acme.test/v1", quirks=quirks)


def send(
    *messages: Message,
    to: Optional[ProviderRow] = None,
    system: str = "",
    continues: bool = False,
    key: Optional[str] = None,
    prefill: bool = False,
    **request: Any,
) -> HttpRequest:
    thread = Thread(system, messages or (QUESTION,), continues)
    sent = encode(ProviderRequest("m1", thread, **request), to or row(), key)
    check_request(sent.body, prefill=prefill)
    return sent


def options(to: Optional[ProviderRow] = None, **given: Any) -> Mapping[str, Any]:
    return send(to=to, options=given).body


def answer(*blocks: ThreadBlock) -> Message:
    return Message("assistant", blocks)


def content(*blocks: ThreadBlock, **more: Any) -> List[Dict[str, Any]]:
    """What the assistant message with ``blocks`` is sent as, in the middle of a thread."""
    sent = send(QUESTION, answer(*blocks), QUESTION, **more).body["messages"][1]["content"]
    assert isinstance(sent, list)
    return sent


def tool_turn(*before: ThreadBlock, id: str = "c1") -> Tuple[Message, ...]:
    call = ThreadToolCall(id, "greet", {"name": "Zoë"})
    result = ThreadToolResult(id, "greet", "hi", False)
    return (QUESTION, answer(*before, call), Message("user", (result,)))


def server_tool(id: str = "s1") -> Tuple[ThreadOpaque, ThreadOpaque]:
    use = {"type": "server_tool_use", "id": id, "name": "web_search", "input": {"q": 1}}
    result = {"type": "web_search_tool_result", "tool_use_id": id, "content": []}
    return ThreadOpaque(use, MINE), ThreadOpaque(result, MINE)


# The request around the messages


def test_the_smallest_request() -> None:
    request = send(key="sk-1")
    assert request.url == "https://api.acme.test/v1/messages"
    assert request.headers == {
        "Accept": "text/event-stream",
        "anthropic-version": "2023-06-01",
        "x-api-key": "sk-1",
    }
    assert request.body == {
        "model": "m1",
        "max_tokens": 16000,
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "Hello?", "cache_control": CACHE}],
            }
        ],
        "stream": True,
    }


def test_headers_of_the_row_replace_ours() -> None:
    named = row(key_header="Authorization")._replace(headers={"Anthropic-Version": "2030-01-01"})
    assert send(to=named, key="k", stream=False).headers == {
        "Accept": "application/json",
        "Authorization": "Bearer k",
        "Anthropic-Version": "2030-01-01",
    }


@pytest.mark.parametrize(
    "written",
    [
        "https://api.anthropic.com",
        "https://api.anthropic.com/",
        "https://api.anthropic.com/v1/",
        "api.anthropic.com/v1/messages",
    ],
)
def test_base_urls_are_forgiven(written: str) -> None:
    anthropic = resolve("anthropic", {}, {"ANTHROPIC_BASE_URL": written})
    assert send(to=anthropic).url == "https://api.anthropic.com/v1/messages"


def test_the_version_is_added_to_a_gateway_s_own_path() -> None:
    gateway = resolve("anthropic", {"base_url": "https://gw.test/api/anthropic/"}, {})
    assert send(to=gateway).url == "https://gw.test/api/anthropic/v1/messages"


def test_options_are_translated_or_passed_through() -> None:
    body = options(temperature=0.5, top_k=3, stop="END", max_tokens=10, metadata=None)
    assert (body["temperature"], body["top_k"], body["max_tokens"]) == (0.5, 3, 10)
    assert body["stop_sequences"] == ["END"]
    assert "metadata" not in body and "stop" not in body
    assert options(stop=["a", "b"])["stop_sequences"] == ["a", "b"]
    assert options(row(max_tokens=99))["max_tokens"] == 99
    with pytest.raises(ConfigError, match="system"):
        options(system="x")


def test_reasoning_is_asked_for_by_effort() -> None:
    body = options(reasoning_effort="high")
    assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert body["output_config"] == {"effort": "high"}
    assert options(reasoning_effort="minimal")["output_config"] == {"effort": "low"}
    assert options(reasoning_budget=2000)["output_config"] == {"effort": "low"}
    assert options(reasoning_budget=5000)["output_config"] == {"effort": "medium"}
    assert options(reasoning_budget=50_000)["output_config"] == {"effort": "high"}
    assert options(reasoning_effort="none")["thinking"] == {"type": "disabled"}
    assert options(reasoning_budget=0)["thinking"] == {"type": "disabled"}
    given = options(reasoning_effort="max", output_config={"format": {"type": "json_schema"}})
    assert given["output_config"] == {"effort": "max", "format": {"type": "json_schema"}}


def test_reasoning_is_asked_for_by_budget_where_the_model_wants_that() -> None:
    old = row(budget=["m0*", "m1*"])
    body = options(old, reasoning_effort="medium")
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 8192}
    assert body["max_tokens"] == 16000 + 8192
    assert "output_config" not in body
    assert options(old, reasoning_budget=5000)["thinking"]["budget_tokens"] == 5000
    assert options(old, reasoning_effort="high")["max_tokens"] == 32000
    assert options(old, reasoning_budget=2000, max_tokens=3000)["max_tokens"] == 3000


def test_a_model_that_always_reasons_does_so_as_little_as_it_can() -> None:
    always = row(always_reasons=["m*"])
    for none in ({"reasoning_effort": "none"}, {"reasoning_budget": 0}):
        body = options(always, **none)
        assert body["thinking"]["type"] == "adaptive" and body["output_config"] == {"effort": "low"}


def test_thinking_may_be_said_in_the_words_of_the_api() -> None:
    body = options(thinking={"type": "disabled"}, reasoning_effort="high")
    assert body["thinking"] == {"type": "disabled"}
    assert "output_config" not in body


@pytest.mark.parametrize(
    "choice, parallel, sent",
    [
        (None, None, None),
        ("auto", None, {"type": "auto"}),
        ("required", None, {"type": "any"}),
        ("none", False, {"type": "none"}),
        ("greet", None, {"type": "tool", "name": "greet"}),
        (None, False, {"type": "auto", "disable_parallel_tool_use": True}),
        ("required", False, {"type": "any", "disable_parallel_tool_use": True}),
        (None, True, {"type": "auto", "disable_parallel_tool_use": False}),
    ],
)
def test_tool_choice(choice: Optional[str], parallel: Optional[bool], sent: Any) -> None:
    given = {} if parallel is None else {"parallel_tool_calls": parallel}
    body = send(tools=(TOOL,), tool_choice=choice, options=given).body
    assert body.get("tool_choice") == sent


def test_who_is_made_to_call_a_tool_does_not_reason() -> None:
    asked = {"reasoning_effort": "high"}
    for to in (row(), row(budget=True)):
        assert "thinking" not in send(to=to, tools=(TOOL,), tool_choice="greet", options=asked).body
        assert "thinking" in send(to=to, tools=(TOOL,), tool_choice="auto", options=asked).body


def test_tools() -> None:
    bare = ToolDefinition("now", " ", {})
    assert send(tools=(TOOL, bare), system="x").body["tools"] == [
        {"name": "greet", "description": "Greets", "input_schema": TOOL.parameters},
        {"name": "now", "input_schema": {"type": "object"}},
    ]


def test_arguments_whose_names_the_api_refuses_are_named_in_words() -> None:
    properties = {"filter[id]": {"type": "string"}, "a.b": {"type": "string"}, "$top": {}}
    schema = {"type": "object", "properties": properties, "required": ["a.b", "$top"]}
    (tool,) = send(tools=(ToolDefinition("list", "Lists.", schema),)).body["tools"]
    assert tool["description"] == "Lists.\n\nIt also takes: filter[id], $top"
    assert tool["input_schema"] == {
        "type": "object",
        "properties": {"a.b": {"type": "string"}},
        "required": ["a.b"],
    }


def test_tools_that_were_called_are_named_where_none_is_offered() -> None:
    body = send(*tool_turn()).body
    assert [tool["name"] for tool in body["tools"]] == ["greet"]
    assert body["tool_choice"] == {"type": "none"}


def test_the_stable_prefix_is_marked_to_be_cached() -> None:
    def marked(**more: Any) -> List[str]:
        body = send(*tool_turn(), answer(ThreadText("Half an ans")), **more).body
        blocks = [*body["tools"], *body.get("system", ())]
        blocks += [block for message in body["messages"] for block in message["content"]]
        return [b.get("name") or b.get("text") or b["type"] for b in blocks if "cache_control" in b]

    assert marked(tools=(TOOL,), system="Be brief.") == ["Be brief.", "tool_result"]
    assert marked(tools=(TOOL,)) == ["greet", "tool_result"]
    assert marked(tools=(TOOL,), system="Be brief.", to=row(cache_hints=False)) == []


# What was said


def test_a_tool_turn() -> None:
    body = send(*tool_turn(ThreadText("I will.")), tools=(TOOL,)).body
    assert body["messages"][1:] == [
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I will."},
                {"type": "tool_use", "id": "c1", "name": "greet", "input": {"name": "Zoë"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "c1",
                    "content": "hi",
                    "cache_control": CACHE,
                }
            ],
        },
    ]


def test_a_result_without_words() -> None:
    def result(text: str, is_error: bool) -> Dict[str, Any]:
        turn = tool_turn()[:2]
        said = Message("user", (ThreadToolResult("c1", "greet", text, is_error),))
        (block,) = send(*turn, said, to=row(cache_hints=False)).body["messages"][2]["content"]
        return {k: v for k, v in block.items() if k not in ("type", "tool_use_id")}

    assert result(" ", False) == {}
    assert result("", True) == {"is_error": True, "content": "The tool failed without a message."}
    assert result("no", True) == {"is_error": True, "content": "no"}


def test_ids_and_names_of_other_models_are_made_valid() -> None:
    calls = [ThreadToolCall(id, "a b", {}) for id in ("f.a:0", "f_a:0", "f_a_0")]
    results = [ThreadToolResult(call.id, call.name, "x", False) for call in calls]
    sent = send(QUESTION, answer(*calls), Message("user", tuple(results))).body["messages"]
    assert [block["id"] for block in sent[1]["content"]] == ["f_a_0", "f_a_0-2", "f_a_0-3"]
    assert {block["name"] for block in sent[1]["content"]} == {"a_b"}


def test_reasoning_goes_back_to_its_maker_only() -> None:
    thought = {"signature": "sig", "form": "new"}
    redacted = {"type": "redacted_thinking", "data": "xyz"}
    mine = (ThreadReasoning("Hm.", MINE, thought), ThreadOpaque(redacted, MINE))
    theirs = (ThreadReasoning("Hm.", OTHER, thought), ThreadOpaque(redacted, OTHER))
    text = ThreadText("Hi")
    said = {"type": "text", "text": "Hi"}
    assert content(*mine, text) == [
        {"type": "thinking", "thinking": "Hm.", "signature": "sig", "form": "new"},
        redacted,
        said,
    ]
    assert content(*theirs, text) == [said]
    assert content(*theirs, text, to=row(foreign_reasoning="text")) == [
        {"type": "text", "text": "<thinking>Hm.</thinking>"},
        said,
    ]
    unsigned = ThreadReasoning("Hm.", MINE)
    assert content(unsigned, text) == [said]
    assert content(text, mine[1]) == [said], "reasoning cannot be the end of an answer"


def test_what_another_api_kept_is_not_sent() -> None:
    details = ThreadOpaque({"reasoning_details": [{}]}, MINE)
    assert content(details, ThreadText("Hi")) == [{"type": "text", "text": "Hi"}]


def test_cited_text_goes_back_as_the_blocks_it_came_as() -> None:
    blocks = [
        {"type": "text", "text": "It is "},
        {"type": "text", "text": "blue", "citations": [{"u": 1}]},
        {"type": "text", "text": "\n\n"},
        {"type": "text", "text": "."},
    ]
    text = ThreadText("It is blue\n\n.", MINE, {"blocks": blocks})
    assert content(text) == [
        blocks[0],
        {"type": "text", "text": "blue\n\n", "citations": [{"u": 1}]},
        blocks[3],
    ]
    plain = [{"type": "text", "text": "It is blue\n\n."}]
    assert content(text._replace(origin=OTHER)) == plain
    gone_on = text._replace(text="It is blue\n\n. And more.")
    assert content(gone_on) == [{"type": "text", "text": "It is blue\n\n. And more."}]


def test_server_tools_go_back_with_their_results() -> None:
    use, result = server_tool()
    text = ThreadText("Blue.")
    assert content(use, result, text) == [use.data, result.data, {"type": "text", "text": "Blue."}]
    assert content(use, text) == [{"type": "text", "text": "Blue."}], "a call without a result"
    assert content(result, text) == [{"type": "text", "text": "Blue."}], "a result without a call"


def test_a_server_tool_beside_a_call_may_give_its_result_later() -> None:
    use, result = server_tool()
    asked = tool_turn(use)
    assert send(*asked).body["messages"][1]["content"][0] == use.data
    answered = send(*asked, answer(result, ThreadText("Blue.")), QUESTION).body["messages"]
    assert answered[1]["content"][0] == use.data
    assert answered[3]["content"][0] == result.data


# Going on with an answer

HALF = (QUESTION, answer(ThreadText("Half an ")))


def test_a_cut_answer_is_gone_on_with_by_a_question() -> None:
    messages = send(*HALF, continues=True).body["messages"]
    assert messages[-1] == {"role": "user", "content": [{"type": "text", "text": CONTINUE}]}
    assert messages[0]["content"][0]["cache_control"] == CACHE


def test_a_cut_answer_stands_open_where_the_model_takes_that() -> None:
    old = row(prefill=["m1"], budget=True)
    messages = send(*HALF, continues=True, to=old, prefill=True).body["messages"]
    assert messages[-1]["content"] == [{"type": "text", "text": "Half an"}]
    thinking = {"reasoning_budget": 2000}
    assert (
        send(*HALF, continues=True, to=old, options=thinking).body["messages"][-1]["role"] == "user"
    )
    assert (
        send(*HALF, continues=True, to=row(prefill=["m2"])).body["messages"][-1]["role"] == "user"
    )


@pytest.mark.parametrize(
    "model, old",
    [
        ("claude-3-7-sonnet-20250219", True),
        ("claude-sonnet-4-20250514", True),
        ("claude-opus-4-1-20250805", True),
        ("claude-haiku-4-5", True),
        ("claude-opus-4-6", False),
        ("claude-sonnet-5", False),
    ],
)
def test_models_before_4_6_take_a_prefill_and_a_budget(model: str, old: bool) -> None:
    anthropic = resolve("anthropic", {}, {})
    cut = encode(ProviderRequest(model, Thread("", HALF, True)), anthropic, None).body
    assert (cut["messages"][-1]["role"] == "assistant") == old
    asked = ProviderRequest(model, Thread("", HALF, True), options={"reasoning_effort": "low"})
    thinking = encode(asked, anthropic, None).body["thinking"]
    assert thinking["type"] == ("enabled" if old else "adaptive")


def test_a_paused_turn_goes_back_as_it_is() -> None:
    use, _ = server_tool()
    paused = (QUESTION, answer(ThreadText("Let me see."), use))
    messages = send(*paused, continues=True).body["messages"]
    assert messages[-1]["content"] == [{"type": "text", "text": "Let me see."}, use.data]


def test_a_pause_after_a_summary_is_gone_on_with_as_it_is() -> None:
    summary = {"type": "compaction", "content": "They asked for tea."}
    messages = send(QUESTION, answer(ThreadOpaque(summary, MINE))).body["messages"]
    assert messages[1:] == [{"role": "assistant", "content": [summary]}]
