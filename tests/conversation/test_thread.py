"""Threads: whatever was stored, what is sent follows the rules that every API has."""

from __future__ import annotations

from typing import Any, List

from hypothesis import given
from hypothesis import strategies as st

from jpq.conversation.event import (
    AssistantMessage,
    AssistantOpaque,
    AssistantReasoning,
    AssistantStructured,
    ChatRequest,
    ConfigDelta,
    Draft,
    Entry,
    ToolCall,
    ToolResponse,
    TurnEnd,
    Unknown,
)
from jpq.conversation.sanitize import NO_REQUEST, NOT_ANSWERED
from jpq.conversation.stream import ConversationStream
from jpq.conversation.thread import (
    ASSISTANT,
    USER,
    Message,
    Origin,
    Thread,
    ThreadOpaque,
    ThreadReasoning,
    ThreadText,
    ThreadToolCall,
    ThreadToolResult,
    build_thread,
)

MADE_BY = {"provider": "openai", "model": "gpt"}
ORIGIN = Origin("openai", "gpt")
PARTIAL = {**MADE_BY, "partial": True}
END = TurnEnd("complete", "stop", {}, None)


def entries(*events: Any) -> List[Entry]:
    """Entries of events, each alone or with its metadata in a pair."""
    stream = ConversationStream()
    for event in events:
        plain = isinstance(event, tuple) and type(event) is tuple
        stream.append(Draft(*event) if plain else Draft(event))
    return list(stream.entries)


def text(words: str, **more: Any) -> ThreadText:
    return ThreadText(words, ORIGIN, more)


def check_every_api_accepts(thread: Thread) -> None:
    """The rules that the APIs have in common."""
    open_calls: List[str] = []
    all_ids = set()
    for position, message in enumerate(thread.messages):
        assert message.role == (USER if position % 2 == 0 else ASSISTANT)
        assert message.blocks
        results = [b for b in message.blocks if isinstance(b, ThreadToolResult)]
        assert [result.id for result in results] == open_calls
        assert list(message.blocks[: len(results)]) == results, "results come first"
        open_calls = [b.id for b in message.blocks if isinstance(b, ThreadToolCall)]
        assert message.role == ASSISTANT or not open_calls
        assert not all_ids & set(open_calls) and len(set(open_calls)) == len(open_calls)
        all_ids |= set(open_calls)
        for block in message.blocks:
            assert not isinstance(block, ThreadText) or block.text.strip()
            assert not isinstance(block, ThreadToolCall) or (block.id and block.name)
        if message.role == ASSISTANT:
            assert not isinstance(message.blocks[-1], ThreadReasoning)
            said = any(isinstance(b, (ThreadText, ThreadToolCall)) for b in message.blocks)
            goes_on = thread.continues and message is thread.messages[-1]
            assert said or goes_on, "only its maker could be sent this message"
    assert not open_calls, "the last calls have no results"
    assert not thread.continues or thread.messages[-1].role == ASSISTANT


WORDS = st.sampled_from(["", " ", "\n", "a", "b ", " c"])
IDS = st.sampled_from(["", "1", "2", "1-2"])
ANY_EVENT = st.one_of(
    st.builds(ChatRequest, WORDS),
    st.builds(AssistantMessage, WORDS),
    st.builds(AssistantReasoning, WORDS),
    st.builds(AssistantStructured, st.just({"a": 1})),
    st.builds(AssistantOpaque, st.just({"type": "redacted"})),
    st.builds(ToolCall, IDS, WORDS, st.just({})),
    st.builds(lambda id: ToolCall(id, "greet", {"raw": "{"}, "{"), IDS),
    st.builds(ToolResponse, IDS, WORDS),
    st.just(ConfigDelta({})),
    st.just(Unknown("new")),
    st.just(END),
)
ANY_METADATA = st.fixed_dictionaries(
    {},
    optional={
        **{k: st.just(v) for k, v in PARTIAL.items()},
        "opaque": st.just({"s": 1}),
        "paused": st.just(True),
    },
)


@given(st.lists(st.tuples(ANY_EVENT, ANY_METADATA), max_size=12), st.booleans())
def test_any_sequence_is_accepted_by_every_api(events: List[Any], continue_last: bool) -> None:
    stored = entries(*events)
    thread = build_thread(stored, "sys", continue_last)
    check_every_api_accepts(thread)
    said = [e.event.content for e in stored if isinstance(e.event, ChatRequest)]
    sent = [
        b.text for m in thread.messages if m.role == USER for b in m.blocks if type(b) is ThreadText
    ]
    assert [t for t in said if t.strip()] == [t for t in sent if t != NO_REQUEST]
    answered = "".join(e.event.text for e in stored if isinstance(e.event, AssistantMessage))
    shown = "".join(
        b.text
        for m in thread.messages
        if m.role == ASSISTANT
        for b in m.blocks
        if type(b) is ThreadText
    )
    assert "".join(answered.split()) == "".join(shown.replace('{"a": 1}', "").split())


def test_plain_conversation() -> None:
    thread = build_thread(
        entries(ChatRequest("a"), (AssistantMessage("b"), MADE_BY), END, ChatRequest("c")), "sys"
    )
    assert thread == Thread(
        "sys",
        (
            Message(USER, (ThreadText("a"),)),
            Message(ASSISTANT, (text("b"),)),
            Message(USER, (ThreadText("c"),)),
        ),
    )


def test_no_entries() -> None:
    assert build_thread([], "sys", continue_last=True) == Thread("sys", ())


def test_results_follow_their_calls_in_request_order() -> None:
    thread = build_thread(
        entries(
            ChatRequest("a"),
            ToolCall("1", "x", {}),
            ToolCall("2", "y", {}),
            ToolCall("3", "z", {}),
            ToolResponse("2", "two"),
            ToolResponse("9", "of no call"),
            ToolResponse("1", "one", True),
            ToolResponse("1", "one again"),
            ChatRequest("b"),
        )
    )
    assert thread.messages[2] == Message(
        USER,
        (
            ThreadToolResult("1", "x", "one", True),
            ThreadToolResult("2", "y", "two", False),
            ThreadToolResult("3", "z", NOT_ANSWERED, True),
            ThreadText("b"),
        ),
    )


def test_an_id_that_comes_again_in_a_later_turn() -> None:
    turn = (ToolCall("1", "x", {}), ToolResponse("1", "r"), AssistantMessage("done"))
    thread = build_thread(entries(ChatRequest("a"), *turn, ChatRequest("b"), *turn))
    check_every_api_accepts(thread)
    results = [b for m in thread.messages for b in m.blocks if isinstance(b, ThreadToolResult)]
    assert [(r.id, r.content) for r in results] == [("1", "r"), ("1-2", "r")]


def test_cut_text_joins_what_goes_on_with_it() -> None:
    """Across the end of the turn, the reasoning of the next attempt, and a half-written call."""
    thread = build_thread(
        entries(
            ChatRequest("a"),
            (AssistantMessage("Hel"), PARTIAL),
            (ToolCall("1", "x", {"raw": "{"}, "{"), PARTIAL),
            END,
            (AssistantReasoning("hm"), {**MADE_BY, "opaque": {"signature": "s"}}),
            (AssistantMessage("lo "), PARTIAL),
            (AssistantMessage("you"), MADE_BY),
            (AssistantMessage("Another item"), MADE_BY),
        )
    )
    assert thread.messages[1].blocks == (
        ThreadReasoning("hm", ORIGIN, {"signature": "s"}),
        text("Hello you"),
        text("Another item"),
    )


def test_cut_text_does_not_join_across_a_request() -> None:
    stored = entries(
        ChatRequest("a"), (AssistantMessage("b"), PARTIAL), ChatRequest("c"), AssistantMessage("d")
    )
    assert [m.role for m in build_thread(stored).messages] == [USER, ASSISTANT, USER, ASSISTANT]


def test_continues_only_when_asked_and_possible() -> None:
    cut = entries(ChatRequest("a"), (AssistantMessage("b"), PARTIAL))
    assert build_thread(cut, continue_last=True).continues
    assert not build_thread(cut).continues
    nothing_came = entries(ChatRequest("a"), (AssistantReasoning("hm"), PARTIAL))
    thread = build_thread(nothing_came, continue_last=True)
    assert not thread.continues
    assert thread.messages == (Message(USER, (ThreadText("a"),)),)


def test_a_paused_answer_is_gone_on_with_although_it_says_nothing_yet() -> None:
    search = {"type": "server_tool_use", "id": "s1"}
    paused = (AssistantOpaque(search), {**MADE_BY, "paused": True})
    thought = (AssistantReasoning("hm"), {**MADE_BY, "opaque": {"signature": "s"}})
    asked = entries(ChatRequest("a"), thought, paused, TurnEnd("limited", "pause_turn", {}, None))
    thread = build_thread(asked, continue_last=True)
    assert thread.continues
    assert thread.messages[1].blocks == (
        ThreadReasoning("hm", ORIGIN, {"signature": "s"}),
        ThreadOpaque(search, ORIGIN),
    )
    assert [m.role for m in build_thread(asked).messages] == [USER]
    other = (AssistantOpaque({"type": "redacted"}), MADE_BY)
    assert not build_thread(entries(ChatRequest("a"), other), continue_last=True).continues


def test_opaque_blocks_keep_their_origin() -> None:
    thread = build_thread(
        entries(
            ChatRequest("a"),
            (AssistantOpaque({"type": "redacted", "data": "x"}), MADE_BY),
            (AssistantReasoning(""), {**MADE_BY, "opaque": {"signature": "s"}}),
            (AssistantMessage("b"), {**MADE_BY, "opaque": {"t": 1}}),
            (AssistantMessage(""), {**MADE_BY, "opaque": {"t": 2}}),
        )
    )
    assert thread.messages[1].blocks == (
        ThreadOpaque({"type": "redacted", "data": "x"}, ORIGIN),
        ThreadReasoning("", ORIGIN, {"signature": "s"}),
        text("b", t=1),
        ThreadOpaque({"t": 2}, ORIGIN),
    )


def test_what_another_model_goes_on_with_loses_the_first_ones_data() -> None:
    theirs = {"provider": "other", "model": "m", "partial": True, "opaque": {"signature": "s"}}
    thread = build_thread(
        entries(
            ChatRequest("a"),
            (AssistantMessage("Hel"), theirs),
            (AssistantMessage("lo"), {**MADE_BY, "opaque": {"t": 1}}),
        )
    )
    assert thread.messages[1].blocks == (text("Hello", t=1),)
