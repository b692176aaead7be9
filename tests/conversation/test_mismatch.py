"""An answer that did not match its schema, in what the next request is made of."""

from __future__ import annotations

from typing import Any, List

from hypothesis import given
from hypothesis import strategies as st

from jpq.conversation.event import (
    AssistantMessage,
    AssistantReasoning,
    AssistantStructured,
    ChatRequest,
    Draft,
    ToolCall,
    ToolResponse,
    TurnEnd,
)
from jpq.conversation.stream import ConversationStream
from jpq.conversation.thread import UNFIT, ThreadText, build_thread

END = TurnEnd("error", "stop", {}, None)


def sent(*drafts: Draft, again: bool = False) -> List[Any]:
    """Role and texts of each message."""
    stream = ConversationStream()
    for draft in drafts:
        stream.append(draft)
    thread = build_thread(stream.entries, continue_last=again)
    assert not thread.continues or thread.messages[-1].role == "assistant"
    return [
        (message.role, [b.text for b in message.blocks if isinstance(b, ThreadText)])
        for message in thread.messages
    ]


def unfit(text: str, why: str = "no") -> Draft:
    return Draft(AssistantMessage(text), {"mismatch": why})


ASKED = Draft(ChatRequest("Who?"))


def test_the_complaint_stands_between_two_answers() -> None:
    assert sent(ASKED, unfit("a", "it is not JSON"), Draft(AssistantStructured({"b": 1}))) == [
        ("user", ["Who?"]),
        ("assistant", ["a"]),
        ("user", [UNFIT.format("it is not JSON")]),
        ("assistant", ['{"b": 1}']),
    ]


def test_the_complaint_is_the_last_word_where_an_answer_is_asked_for_again() -> None:
    for drafts in ([ASKED, unfit("a")], [ASKED, unfit("a"), Draft(END)]):
        assert sent(*drafts, again=True)[-1] == ("user", [UNFIT.format("no")])
        assert sent(*drafts)[-1] == ("assistant", ["a"])


def test_a_new_question_takes_its_place() -> None:
    assert sent(ASKED, unfit("a"), Draft(END), Draft(ChatRequest("And?")))[-1] == ("user", ["And?"])


def test_a_call_in_the_second_attempt_comes_after_the_complaint() -> None:
    call, told = Draft(ToolCall("c", "t", {})), Draft(ToolResponse("c", "x"))
    roles = [role for role, _ in sent(ASKED, unfit("a"), call, told)]
    assert roles == ["user", "assistant", "user", "assistant", "user"]


EVENTS = st.one_of(
    st.builds(ChatRequest, st.sampled_from(["q", " "])),
    st.builds(AssistantMessage, st.sampled_from(["a", "", " "])),
    st.builds(AssistantReasoning, st.sampled_from(["r", ""])),
    st.just(AssistantStructured([1])),
    st.builds(ToolCall, st.sampled_from("cd"), st.just("t"), st.just({})),
    st.builds(ToolResponse, st.sampled_from("cd"), st.just("x")),
    st.just(END),
)
MARKS = st.sampled_from([{}, {}, {"mismatch": "m"}, {"partial": True}, {"mismatch": ""}])


@given(st.lists(st.builds(Draft, EVENTS, MARKS), max_size=12), st.booleans())
def test_any_history_makes_a_thread_that_alternates(drafts: List[Draft], again: bool) -> None:
    messages = sent(*drafts, again=again)
    roles = [role for role, _ in messages]
    assert all(one != other for one, other in zip(roles, roles[1:]))
    assert roles[:1] in ([], ["user"])
    assert all(text.strip() for _, texts in messages for text in texts)
