"""What a chat completion request says, quirk by quirk."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional, Tuple

import pytest
import requests
import responses

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
from jpq.provider.openai_chat import encode, make_decoder
from jpq.provider.openai_chat_encoder import CONTINUE
from jpq.provider.registry import resolve
from jpq.wire.message import HttpRequest
from tests.support import corpus
from tests.support.decoding import decode

MINE = Origin("acme", "m1")
QUESTION = Message("user", (ThreadText("Hello?"),))


def row(**quirks: Any) -> ProviderRow:
    return ProviderRow("acme", "openai-chat", "https://api.acme.test/v1", quirks=quirks)


def send(
    *messages: Message,
    to: Optional[ProviderRow] = None,
    system: str = "",
    continues: bool = False,
    key: Optional[str] = None,
    **request: Any,
) -> HttpRequest:
    thread = Thread(system, messages, continues)
    return encode(ProviderRequest("m1", thread, **request), to or row(), key)


def sent_messages(*messages: Message, **more: Any) -> List[Dict[str, Any]]:
    body = send(*messages, **more).body
    json.dumps(body)
    encoded: List[Dict[str, Any]] = body["messages"]
    return encoded


def assistant(*blocks: ThreadBlock) -> Message:
    return Message("assistant", blocks)


def tool_turn(*before: ThreadBlock) -> Tuple[Message, ...]:
    call = ThreadToolCall("c1", "greet", {"name": "Zoë"})
    return (
        QUESTION,
        assistant(*before, call),
        Message("user", (ThreadToolResult("c1", "greet", "hi", False),)),
    )


def test_the_smallest_request() -> None:
    request = send(QUESTION, key="sk-1")
    assert request.url == "https://api.acme.test/v1/chat/completions"
    assert request.headers == {"Accept": "text/event-stream", "Authorization": "Bearer sk-1"}
    assert request.body == {
        "model": "m1",
        "messages": [{"role": "user", "content": "Hello?"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_a_request_that_is_not_streamed() -> None:
    request = send(QUESTION, stream=False)
    assert request.headers == {"Accept": "application/json"}
    assert request.body["stream"] is False
    assert "stream_options" not in request.body


def test_usage_is_not_asked_for_where_that_is_refused() -> None:
    assert "stream_options" not in send(QUESTION, to=row(stream_options=False)).body


def test_headers_of_the_row_replace_ours() -> None:
    named = row(key_header="api-key")._replace(headers={"X-Org": "acme"})
    assert send(QUESTION, to=named, key="k").headers == {
        "Accept": "text/event-stream",
        "api-key": "k",
        "X-Org": "acme",
    }
    own = row()._replace(headers={"authorization": "Basic abc"})
    assert "Authorization" not in send(QUESTION, to=own, key="k").headers


@pytest.mark.parametrize("role", ["system", "developer"])
def test_the_system_prompt_has_the_role_the_row_names(role: str) -> None:
    sent = sent_messages(QUESTION, to=row(system_role=role), system="Be brief.")
    assert sent[0] == {"role": role, "content": "Be brief."}


def test_a_system_prompt_for_a_model_without_that_role_joins_the_question() -> None:
    sent = sent_messages(QUESTION, to=row(system_role="user"), system="Be brief.")
    assert sent == [{"role": "user", "content": "Be brief.\n\nHello?"}]


def test_a_tool_turn() -> None:
    tool = ToolDefinition("greet", "Greets", {"type": "object", "properties": {"name": {}}})
    bare = ToolDefinition("now", "", {})
    messages = (*tool_turn(ThreadText("I will.")), assistant(ThreadText("Done.")))
    body = send(*messages, tools=(tool, bare), tool_choice="greet").body
    assert body["messages"][1:] == [
        {
            "role": "assistant",
            "content": "I will.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "greet", "arguments": '{"name": "Zoë"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "hi"},
        {"role": "assistant", "content": "Done."},
    ]
    functions = [entry["function"] for entry in body["tools"]]
    assert [f["name"] for f in functions] == ["greet", "now"]
    assert functions[1]["parameters"] == {"type": "object", "properties": {}}
    assert body["tool_choice"] == {"type": "function", "function": {"name": "greet"}}


def test_a_strict_tool_says_so() -> None:
    loose, strict = ToolDefinition("now", "", {}), ToolDefinition("then", "", {}, True)
    tools = send(QUESTION, tools=(loose, strict)).body["tools"]
    assert [tool["function"].get("strict") for tool in tools] == [None, True]


@pytest.mark.parametrize("choice", ["auto", "required", "none"])
def test_tool_choice(choice: str) -> None:
    tool = ToolDefinition("now", "", {})
    assert send(QUESTION, tools=(tool,), tool_choice=choice).body["tool_choice"] == choice
    refused = send(QUESTION, tools=(tool,), tool_choice=choice, to=row(tool_choice=False))
    assert "tool_choice" not in refused.body
    assert "tool_choice" not in send(QUESTION, tool_choice=choice).body


def test_results_come_before_what_was_said_with_them() -> None:
    results = [ThreadToolResult(f"c{n}", "greet", "", False) for n in (1, 2)]
    calls = [ThreadToolCall(f"c{n}", "greet", {}) for n in (1, 2)]
    last = Message("user", (*results, ThreadText("Stop.")))
    sent = sent_messages(QUESTION, assistant(*calls), last)
    assert [m["role"] for m in sent] == ["user", "assistant", "tool", "tool", "user"]
    assert sent[1]["content"] is None


def test_an_answer_stands_between_results_and_a_question_where_that_is_insisted_on() -> None:
    stopped = Message("user", (*tool_turn()[-1].blocks, ThreadText("Stop.")))
    strict = row(answer_after_results=True)
    sent = sent_messages(*tool_turn()[:-1], stopped, to=strict)
    assert [m["role"] for m in sent] == ["user", "assistant", "tool", "assistant", "user"]
    assert sent[3] == {"role": "assistant", "content": "(no answer)"}
    reasoned = assistant(ThreadReasoning("hm", MINE))  # which is not sent
    sent = sent_messages(*tool_turn(), reasoned, QUESTION, to=strict)
    assert [m["role"] for m in sent] == ["user", "assistant", "tool", "assistant", "user"]


@pytest.mark.parametrize("prefill", [False, "prefix"])
def test_no_answer_is_made_up_where_there_is_one_or_none_is_due(prefill: Any) -> None:
    strict = row(answer_after_results=True, prefill=prefill)
    waiting = sent_messages(*tool_turn(), to=strict)
    assert [m["role"] for m in waiting] == ["user", "assistant", "tool"]
    cut = (*tool_turn(), assistant(ThreadText("It sai")))
    assert sent_messages(*cut, QUESTION, to=strict) == sent_messages(*cut, QUESTION)
    usual = sent_messages(*cut, continues=True, to=row(prefill=prefill))
    assert sent_messages(*cut, continues=True, to=strict) == usual


def test_a_message_of_reasoning_alone_is_not_sent_and_its_neighbours_are_joined() -> None:
    sent = sent_messages(QUESTION, assistant(ThreadReasoning("hm", MINE)), QUESTION)
    assert sent == [{"role": "user", "content": "Hello?\n\nHello?"}]


# Options


def test_options_are_sent_as_they_are() -> None:
    options = {"temperature": 0, "stop": ["x"], "seed": 1, "odd": {"a": 1}, "top_p": None}
    body = send(QUESTION, options={**options, "max_tokens": 5, "reasoning_effort": "low"}).body
    assert {k: body[k] for k in ("temperature", "stop", "seed", "odd", "max_tokens")} == {
        "temperature": 0,
        "stop": ["x"],
        "seed": 1,
        "odd": {"a": 1},
        "max_tokens": 5,
    }
    assert body["reasoning_effort"] == "low"
    assert "top_p" not in body


def test_the_output_limit_has_the_name_the_row_gives_it() -> None:
    named = row(max_tokens_field="max_completion_tokens")
    body = send(QUESTION, to=named, options={"max_tokens": 5}).body
    assert body["max_completion_tokens"] == 5 and "max_tokens" not in body


@pytest.mark.parametrize("name", ["model", "messages", "stream", "tools"])
def test_options_cannot_replace_what_jpq_fills_in(name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        send(QUESTION, options={name: 1})


# Reasoning and other data that only its maker gets back

DETAILS = [
    {"type": "reasoning.text", "text": "hm", "signature": "SIG==", "index": 0, "format": None},
    {"type": "reasoning.encrypted", "data": "A+/=", "id": "r1"},
]
SIGNED = ThreadReasoning("hm", MINE, {"reasoning_details": DETAILS[:1]})
SECRET = ThreadOpaque({"reasoning_details": DETAILS[1:]}, MINE)


def test_reasoning_is_not_sent_back_by_default() -> None:
    sent = sent_messages(*tool_turn(SIGNED, SECRET))
    assert set(sent[1]) == {"role", "content", "tool_calls"}


def test_reasoning_details_go_back_as_they_came() -> None:
    sent = sent_messages(*tool_turn(SIGNED, SECRET), to=row(reasoning_field="reasoning_details"))
    assert sent[1]["reasoning_details"] == DETAILS


@pytest.mark.parametrize("origin", [None, Origin("acme", "m2"), Origin("other", "m1")])
def test_nobody_gets_what_another_made(origin: Optional[Origin]) -> None:
    foreign = SIGNED._replace(origin=origin), SECRET._replace(origin=origin)
    for field in ("reasoning_details", "reasoning_content"):
        sent = sent_messages(*tool_turn(*foreign), to=row(reasoning_field=field))
        assert field not in sent[1]


def test_reasoning_goes_back_in_the_current_turn_only_unless_all_are_asked_for() -> None:
    thread = (*tool_turn(SIGNED), assistant(SIGNED, ThreadText("Hi.")), *tool_turn(SIGNED))
    last = sent_messages(*thread, to=row(reasoning_field="reasoning_content"))
    assert ["reasoning_content" in m for m in last if m["role"] == "assistant"] == [
        False,
        False,
        True,
    ]
    wants_all = row(reasoning_field="reasoning_content", reasoning_turns="all")
    sent = sent_messages(*thread, to=wants_all)
    assert [m["reasoning_content"] for m in sent if m["role"] == "assistant"] == ["hm"] * 3


def test_deepseek_gets_the_field_with_every_answer_whoever_made_it() -> None:
    mine = SIGNED._replace(origin=Origin("deepseek", "m1"))
    thread = (*tool_turn(mine), assistant(ThreadText("Done.")), *tool_turn(SIGNED))
    sent = sent_messages(*thread, to=resolve("deepseek", {}, {}))
    fields = [message["reasoning_content"] for message in sent if message["role"] == "assistant"]
    assert fields == ["hm", "", ""]


def test_signatures_beside_a_call_go_back_with_it() -> None:
    extra = {"google": {"thought_signature": "SIG"}}
    for origin, kept in ((MINE, True), (Origin("acme", "m2"), False)):
        call = ThreadToolCall("c1", "f", {}, origin, {"extra_content": extra})
        result = Message("user", (ThreadToolResult("c1", "f", "", False),))
        sent = sent_messages(QUESTION, assistant(call), result)
        assert (sent[1]["tool_calls"][0].get("extra_content") == extra) is kept


def test_a_recorded_signature_survives_the_round_trip() -> None:
    name = "pydantic__pydantic-ai/openrouter-chat/reasoning-signature.sse"
    recording = corpus.recording(name)
    response = decode(make_decoder(row()), [recording.body]).response
    block = response.blocks[0]
    reasoning = ThreadReasoning(response.reasoning, MINE, getattr(block, "metadata", {}))
    sent = sent_messages(*tool_turn(reasoning), to=row(reasoning_field="reasoning_details"))

    pieces = recording.expected["reasoning_details"]
    (detail,) = sent[1]["reasoning_details"]
    assert detail == {
        "type": "reasoning.text",
        "text": "".join(piece.get("text", "") for piece in pieces),
        "signature": pieces[-1]["signature"],
        "format": "anthropic-claude-v1",
        "index": 0,
    }


# Going on with an answer that was cut

CUT = (QUESTION, assistant(ThreadText("Once upon ")))


def test_going_on_is_asked_for_in_words() -> None:
    sent = sent_messages(*CUT, continues=True)
    assert sent[1:] == [
        {"role": "assistant", "content": "Once upon "},
        {"role": "user", "content": CONTINUE},
    ]


def test_or_the_answer_is_left_open_where_the_model_takes_that() -> None:
    sent = sent_messages(*CUT, continues=True, to=row(prefill=True))
    assert sent[-1] == {"role": "assistant", "content": "Once upon "}
    marked = sent_messages(*CUT, continues=True, to=row(prefill="prefix"))
    assert marked[-1] == {"role": "assistant", "content": "Once upon ", "prefix": True}
    whole = sent_messages(*CUT, continues=True, to=row(prefill=True), stream=False)
    assert whole[-1] == {"role": "user", "content": CONTINUE}


def test_there_is_nothing_to_go_on_with_when_only_reasoning_was_cut() -> None:
    sent = sent_messages(QUESTION, assistant(ThreadReasoning("hm", MINE)), continues=True)
    assert sent == [{"role": "user", "content": "Hello?"}]


@responses.activate
def test_the_request_is_one_that_requests_can_send() -> None:
    """The body is plain JSON and the headers are plain strings."""
    request = send(*tool_turn(ThreadText("é")), key="k", tools=(ToolDefinition("f", "", {}),))
    matcher = responses.matchers.json_params_matcher(json.loads(json.dumps(request.body)))
    responses.post(request.url, json={"ok": True}, match=[matcher])
    reply = requests.post(request.url, json=request.body, headers=dict(request.headers), timeout=5)
    assert reply.json() == {"ok": True}


def test_what_is_decoded_can_be_sent_again() -> None:
    """A tool turn from a recording becomes the next request with its ids and arguments."""
    body = corpus.recording("0xPlaygrounds__rig/deepseek-chat/tools-parallel.sse").body
    response = decode(make_decoder(row()), [body]).response
    calls = [ThreadToolCall(c.id, c.name, c.arguments, MINE) for c in response.tool_calls]
    results = [ThreadToolResult(c.id, c.name, "ok", False) for c in calls]
    sent = sent_messages(QUESTION, assistant(*calls), Message("user", tuple(results)))
    ids = [call["id"] for call in sent[1]["tool_calls"]]
    assert ids == [m["tool_call_id"] for m in sent[2:]] == [c.id for c in response.tool_calls]
    arguments = [json.loads(call["function"]["arguments"]) for call in sent[1]["tool_calls"]]
    assert arguments == [c.arguments for c in calls]


def test_nothing_is_said_about_parallel_calls_where_there_is_nothing_to_call() -> None:
    options = {"parallel_tool_calls": False}
    tool = ToolDefinition("greet", "", {})
    assert "parallel_tool_calls" not in send(QUESTION, options=options).body
    assert send(QUESTION, options=options, tools=(tool,)).body["parallel_tool_calls"] is False
