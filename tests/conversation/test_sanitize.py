"""sanitize: any sequence gets the structure that is sent, and a sound one stays as it is."""

from __future__ import annotations

from typing import Any, List

from hypothesis import given
from hypothesis import strategies as st

from jpq.conversation.event import (
    AssistantMessage,
    AssistantReasoning,
    ChatRequest,
    ConfigDelta,
    Draft,
    Entry,
    InquiryRequest,
    InquiryResponse,
    ToolCall,
    ToolResponse,
    TurnEnd,
    Unknown,
)
from jpq.conversation.sanitize import CUT_CALL, NO_ANSWER, NO_REQUEST, NOT_ANSWERED, sanitize
from jpq.conversation.stream import ConversationStream

END = TurnEnd("complete", "stop", {}, None)
CALL, OTHER = ToolCall("1", "x", {}), ToolCall("2", "y", {})
CUT = {"partial": True}


def entries(*events: Any) -> List[Entry]:
    stream = ConversationStream()
    for event in events:
        stream.append(Draft(*event) if type(event) is tuple else Draft(event))
    return list(stream.entries)


def repaired(*events: Any) -> List[Any]:
    return [entry.event for entry in sanitize(entries(*events)).entries]


IDS = st.sampled_from(["1", "2", ""])
ANY = st.tuples(
    st.one_of(
        st.builds(ChatRequest, st.sampled_from(["", "a"])),
        st.builds(AssistantMessage, st.sampled_from(["", "b"])),
        st.just(AssistantReasoning("hm")),
        st.builds(ToolCall, IDS, st.sampled_from(["x", " "]), st.just({})),
        st.builds(lambda id: ToolCall(id, "x", {"raw": "{"}, "{"), IDS),
        st.builds(ToolResponse, IDS, st.just("r")),
        st.builds(InquiryRequest, IDS, st.just("?")),
        st.builds(InquiryResponse, IDS, st.just("!")),
        st.sampled_from([END, ConfigDelta({}), Unknown("new")]),
    ),
    st.sampled_from([{}, CUT]),
)


@given(st.lists(ANY, max_size=14))
def test_any_sequence_becomes_sound_and_stays_so(events: List[Any]) -> None:
    stored = entries(*events)
    once = sanitize(stored)
    again = sanitize(once.entries)
    assert again.entries == once.entries and again.repairs == []
    assert (once.entries == stored) == (once.repairs == [])
    kept = [entry for entry in once.entries if entry.event_id]
    assert all(entry in stored for entry in kept), "what stays is as it was stored"
    aside = [repair.removed for repair in once.repairs if repair.removed and not repair.added]
    assert sorted(e.event_id for e in kept + aside) == sorted(e.event_id for e in stored)


@given(st.lists(ANY, max_size=14))
def test_every_call_has_one_result_right_behind_its_answer(events: List[Any]) -> None:
    waiting: List[str] = []
    for entry in sanitize(entries(*events)).entries:
        event = entry.event
        if isinstance(event, ToolCall):
            waiting.append(event.id)
        elif isinstance(event, ToolResponse):
            assert event.id == waiting.pop(0)
        elif isinstance(event, ChatRequest):
            assert waiting == []
    assert waiting == []


def test_a_sound_conversation_is_left_alone() -> None:
    stored = entries(
        ConfigDelta({"model": "m"}),
        ChatRequest("a"),
        AssistantMessage("b"),
        CALL,
        OTHER,
        InquiryRequest("q", "sure?"),
        InquiryResponse("q", "yes"),
        ToolResponse("1", "one"),
        Unknown("from a later version"),
        ToolResponse("2", "two"),
        (AssistantMessage("c"), CUT),
        TurnEnd("interrupted", None, {}, None),
        AssistantMessage("d"),
        END,
    )
    assert sanitize(stored) == (stored, [])


def test_a_missing_result_says_how_far_the_call_got() -> None:
    assert repaired(ChatRequest("a"), CALL, (OTHER, CUT), END, ChatRequest("b")) == [
        ChatRequest("a"),
        CALL,
        OTHER,
        ToolResponse("1", NOT_ANSWERED, True),
        ToolResponse("2", CUT_CALL, True),
        END,
        ChatRequest("b"),
    ]


def test_results_are_brought_into_request_order() -> None:
    found = sanitize(
        entries(ChatRequest("a"), CALL, OTHER, ToolResponse("2", "two"), ToolResponse("1", "one"))
    )
    assert [e.event for e in found.entries][-2:] == [
        ToolResponse("1", "one"),
        ToolResponse("2", "two"),
    ]
    assert [repair.reason for repair in found.repairs] == ["A result out of request order."]


def test_what_nothing_asked_for_is_set_aside() -> None:
    half = (ToolCall("3", "z", {"raw": "{"}, "{"), CUT)
    found = sanitize(
        entries(
            ChatRequest("a"),
            CALL,
            half,
            ToolResponse("1", "one"),
            ToolResponse("1", "again"),
            ToolResponse("3", "of the half call"),
            InquiryResponse("q", "to nothing"),
        )
    )
    assert [e.event for e in found.entries] == [ChatRequest("a"), CALL, ToolResponse("1", "one")]
    assert len(found.repairs) == 4 and all(r.removed and not r.added for r in found.repairs)


def test_an_answer_at_the_beginning_gets_a_request_and_a_question_its_answer() -> None:
    assert repaired(ConfigDelta({}), AssistantMessage("b"), InquiryRequest("q", "sure?")) == [
        ChatRequest(NO_REQUEST),
        ConfigDelta({}),
        AssistantMessage("b"),
        InquiryRequest("q", "sure?"),
        InquiryResponse("q", NO_ANSWER),
    ]
