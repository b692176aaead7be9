"""What a request to Ollama says, and that it keeps the API's published rules."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.conversation.cycle_fold import CycleFold
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
from jpq.provider import ndjson
from jpq.provider.base import ProviderRequest, ProviderRow, ToolDefinition
from jpq.provider.http import HttpProvider
from jpq.provider.ollama import encode, make_decoder
from jpq.provider.registry import load_api, resolve
from jpq.provider.wire_request import CONTINUE
from jpq.wire.message import HttpRequest
from tests.support import corpus
from tests.support.decoding import collect, decode
from tests.support.server import LAST_CHUNK, Server, chunk, head
from tests.support.validators_ollama import check_request

MINE = Origin("ollama", "m1")
OTHER = Origin("openai", "m1")
QUESTION = Message("user", (ThreadText("Hello?"),))
ROW = resolve("ollama", {}, {})
TOOL = ToolDefinition("greet", "Greets", {"type": "object", "properties": {"name": {}}})


def send(
    *messages: Message,
    to: ProviderRow = ROW,
    system: str = "",
    continues: bool = False,
    key: Optional[str] = None,
    **request: Any,
) -> HttpRequest:
    thread = Thread(system, messages, continues)
    sent = encode(ProviderRequest("m1", thread, **request), to, key)
    check_request(sent.body)
    return sent


def sent_messages(*messages: Message, **more: Any) -> List[Dict[str, Any]]:
    encoded: List[Dict[str, Any]] = send(*messages, **more).body["messages"]
    return encoded


def assistant(*blocks: ThreadBlock) -> Message:
    return Message("assistant", blocks)


def tool_turn(*before: ThreadBlock) -> Tuple[Message, ...]:
    call = ThreadToolCall("c1", "greet", {"name": "Zoë"})
    result = ThreadToolResult("c1", "greet", "hi", False)
    return (QUESTION, assistant(*before, call), Message("user", (result,)))


def test_the_smallest_request() -> None:
    request = send(QUESTION)
    assert request.url == "http://127.0.0.1:11434/api/chat"
    assert "Authorization" not in request.headers
    assert request.body == {
        "model": "m1",
        "messages": [{"role": "user", "content": "Hello?"}],
        "stream": True,
    }


def test_a_key_is_sent_to_those_who_want_one() -> None:
    assert send(QUESTION, key="k").headers["Authorization"] == "Bearer k"


@pytest.mark.parametrize(
    "written,meant",
    [
        ("box", "http://box:11434"),
        ("box:1234", "http://box:1234"),
        (":1234", "http://127.0.0.1:1234"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("http://0.0.0.0:11434", "http://127.0.0.1:11434"),
        ("::1", "http://[::1]:11434"),
        ("[::]:80", "http://[::1]:80"),
        ("http://box:11434/", "http://box:11434"),
        ("https://ollama.com", "https://ollama.com"),
        ("http://box:11434/v1", "http://box:11434"),
        ("http://box:11434/v1/", "http://box:11434"),
        ("http://box:11434/v1/chat/completions", "http://box:11434"),
        ("http://box:11434/api", "http://box:11434"),
        ("http://box:11434/api/chat", "http://box:11434"),
        ("http://gate.test/ollama", "http://gate.test/ollama"),
    ],
)
def test_the_address_is_understood_however_it_is_written(written: str, meant: str) -> None:
    for row in (
        resolve("ollama", {}, {"OLLAMA_HOST": written}),
        resolve("ollama", {"base_url": written}, {}),
    ):
        assert send(QUESTION, to=row).url == meant + "/api/chat"


def test_a_provider_of_ones_own_needs_no_path() -> None:
    row = resolve("box", {"api": "ollama", "base_url": "http://box:9000"}, {})
    assert send(QUESTION, to=row).url == "http://box:9000/api/chat"


def test_a_tool_turn() -> None:
    body = send(*tool_turn(ThreadText("I will.")), system="Be brief.", tools=(TOOL,)).body
    function = {"index": 0, "name": "greet", "arguments": {"name": "Zoë"}}
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello?"},
        {
            "role": "assistant",
            "content": "I will.",
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_name": "greet", "tool_call_id": "c1", "content": "hi"},
    ]
    assert [tool["function"]["name"] for tool in body["tools"]] == ["greet"]
    (bare,) = send(QUESTION, tools=(ToolDefinition("now", "", {}),)).body["tools"]
    assert bare["function"]["parameters"] == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    "choice,offered",
    [
        (None, ["greet", "now"]),
        ("auto", ["greet", "now"]),
        ("required", ["greet", "now"]),
        ("none", []),
        ("now", ["now"]),
    ],
)
def test_a_tool_choice_decides_what_is_offered(choice: Optional[str], offered: List[str]) -> None:
    tools = (TOOL, ToolDefinition("now", "", {}))
    body = send(QUESTION, tools=tools, tool_choice=choice).body
    assert [tool["function"]["name"] for tool in body.get("tools", [])] == offered


# Options


def test_options_of_the_model_and_of_the_request() -> None:
    options = {
        "temperature": 0,
        "max_tokens": 5,
        "stop": "END",
        "num_ctx": 4096,
        "top_k": None,
        "parallel_tool_calls": False,
        "keep_alive": "10m",
        "think": "high",
        "format": "json",
    }
    body = send(QUESTION, options=options).body
    assert body["options"] == {
        "temperature": 0,
        "num_predict": 5,
        "stop": ["END"],
        "num_ctx": 4096,
    }
    assert (body["keep_alive"], body["think"], body["format"]) == ("10m", "high", "json")


def test_a_table_of_options_is_laid_over_the_others() -> None:
    options = {"temperature": 0, "max_tokens": 5, "options": {"num_predict": 9, "seed": 1}}
    sent = send(QUESTION, options=options).body["options"]
    assert sent == {"temperature": 0, "num_predict": 9, "seed": 1}


@pytest.mark.parametrize(
    "options,think",
    [
        ({}, None),
        ({"reasoning_effort": "none"}, False),
        ({"reasoning_effort": "minimal"}, "low"),
        ({"reasoning_effort": "high"}, "high"),
        ({"reasoning_budget": 0}, False),
        ({"reasoning_budget": 4096}, True),
        ({"reasoning_effort": "high", "think": False}, False),
    ],
)
def test_how_much_to_reason(options: Dict[str, Any], think: Any) -> None:
    assert send(QUESTION, options=options).body.get("think") == think


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}


@pytest.mark.parametrize(
    "options,wanted",
    [
        ({"format": SCHEMA}, SCHEMA),
        ({"response_format": {"type": "json_object"}}, "json"),
        ({"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}}, SCHEMA),
        ({"response_format": {"type": "text"}}, None),
        ({"response_format": "text"}, None),
    ],
)
def test_the_form_of_the_answer(options: Dict[str, Any], wanted: Any) -> None:
    body = send(QUESTION, options=options).body
    assert body.get("format") == wanted and "response_format" not in body.get("options", {})


@pytest.mark.parametrize("name", ["model", "messages", "stream", "tools"])
def test_options_cannot_replace_what_jpq_fills_in(name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        send(QUESTION, options={name: 1})


# What only its maker gets back


def test_reasoning_and_pictures_go_back_to_the_model_that_made_them_only() -> None:
    for origin, kept in (
        (MINE, True),
        (OTHER, False),
        (None, False),
        (Origin("ollama", "m2"), False),
    ):
        before = (ThreadReasoning("hm", origin), ThreadOpaque({"images": ["aGk="]}, origin))
        sent = sent_messages(*tool_turn(*before))[1]
        assert (sent.get("thinking") == "hm", sent.get("images") == ["aGk="]) == (kept, kept)
        assert set(sent) - {"thinking", "images"} == {"role", "content", "tool_calls"}


def test_a_message_of_reasoning_alone_is_not_sent() -> None:
    assert len(sent_messages(QUESTION, assistant(ThreadReasoning("hm", MINE)), QUESTION)) == 2


# Going on with an answer that was cut

CUT = (QUESTION, assistant(ThreadText("Once upon ")))


def test_a_cut_answer_is_left_open() -> None:
    sent = sent_messages(*CUT, continues=True)
    assert sent[-1] == {"role": "assistant", "content": "Once upon "}


def test_or_going_on_is_asked_for_in_words_where_the_row_says_so() -> None:
    row = resolve("ollama", {"quirks": {"prefill": False}}, {})
    sent = sent_messages(*CUT, continues=True, to=row)
    assert sent[-1] == {"role": "user", "content": CONTINUE}


# Round trips


@pytest.mark.parametrize(
    "name",
    [n for n in corpus.cases(corpus.stream_names("ollama")) if n is None or "tool" in n],
)
def test_a_recorded_tool_turn_becomes_the_next_request(name: str) -> None:
    fold = CycleFold(MINE)
    body = corpus.recording(name).body
    events = decode(make_decoder(ROW), [body], ndjson.messages).events
    for event in events:
        fold.feed(event)
    stream = ConversationStream()
    stream.append(Draft(ChatRequest("Do it.")))
    for draft in fold.drafts():
        stream.append(draft)
    calls = stream.unanswered_tool_calls()
    for call in calls:
        stream.append(Draft(ToolResponse(call.id, f"did {call.name}")))

    thread = build_thread(stream.entries, "Be brief.")
    sent = sent_messages(*thread.messages, system=thread.system, tools=(TOOL,))

    response = fold.response()
    asked = sent[2]
    assert asked["content"] == response.text
    assert asked.get("thinking", "") == response.reasoning
    assert [c["id"] for c in asked["tool_calls"]] == [c.id for c in response.tool_calls]
    assert [c["function"]["arguments"] for c in asked["tool_calls"]] == [c.arguments for c in calls]
    assert [m["content"] for m in sent[3:]] == [f"did {c.name}" for c in calls]


def test_a_turn_over_the_wire() -> None:
    """The request arrives as it should, and the lines of the reply come back as events."""
    lines = [
        {"model": "m1", "message": {"role": "assistant", "content": "Hel"}, "done": False},
        {"model": "m1", "message": {"role": "assistant", "content": "lo"}, "done": False},
        {"model": "m1", "message": {"role": "assistant", "content": ""}, "done": True,
         "done_reason": "stop", "prompt_eval_count": 5, "eval_count": 2},
    ]  # fmt: skip
    body = [chunk(json.dumps(value).encode() + b"\n") for value in lines]
    with Server([head("application/x-ndjson"), *body, LAST_CHUNK]) as server:
        row = resolve("ollama", {}, {"OLLAMA_HOST": f"127.0.0.1:{server.port}"})
        provider = HttpProvider(row, load_api(row.api))
        request = ProviderRequest("m1", Thread("", (QUESTION,)))
        decoded = collect(provider.exchange(request).events())
        provider.close()
    assert (decoded.response.text, decoded.error) == ("Hello", None)
    assert decoded.response.is_complete and decoded.response.usage[:2] == (5, 2)
    (seen,) = server.seen
    assert seen.path == "/api/chat"
    check_request(seen.json)


def test_a_recorded_refusal_over_the_wire() -> None:
    body = corpus.read("http-errors", "ollama", "404.body")
    answer = [head("application/json", "404 Not Found"), chunk(body), LAST_CHUNK]
    with Server(answer) as server:
        row = ROW._replace(base_url=f"http://127.0.0.1:{server.port}")
        provider = HttpProvider(row, load_api(row.api))
        error = collect(
            provider.exchange(ProviderRequest("x", Thread("", (QUESTION,)))).events()
        ).error
        provider.close()
    assert error is not None and error.kind.word == "not_found"
    assert "model 'nonexistent-model:latest' not found" in error.message
    assert "/api/chat" in error.where


# Whatever was said

TEXTS = st.sampled_from(["", " ", "a", "b\n"])
IDS = st.sampled_from(["", "1", "2"])
ANY_EVENT = st.one_of(
    st.builds(ChatRequest, TEXTS),
    st.builds(AssistantMessage, TEXTS),
    st.builds(AssistantReasoning, TEXTS),
    st.builds(AssistantOpaque, st.sampled_from([{"images": ["aGk="]}, {"images": 1}, {"x": 1}])),
    st.builds(ToolCall, IDS, TEXTS, st.just({"x": 1})),
    st.builds(ToolResponse, IDS, TEXTS),
)
ANY_METADATA = st.one_of(
    st.just({}),
    st.builds(Origin._asdict, st.sampled_from([MINE, OTHER])),
    st.just({"partial": True}),
)


@given(st.lists(st.builds(Draft, ANY_EVENT, ANY_METADATA), max_size=12), st.booleans(), TEXTS)
def test_any_conversation_makes_a_valid_request(
    drafts: List[Draft], continues: bool, system: str
) -> None:
    stream = ConversationStream()
    for draft in (*drafts, Draft(ChatRequest("Go."))) if not continues else drafts:
        stream.append(draft)
    thread = build_thread(stream.entries, system, continues)
    if thread.messages:
        for row in (ROW, ROW._replace(quirks={})):
            check_request(encode(ProviderRequest("m1", thread, (TOOL,)), row, None).body)
