"""The stream: identity, turns, calls that wait, and the conversation's own configuration."""

from __future__ import annotations

import re
from typing import Any, List

import pytest

from jpq.conversation.cycle_fold import CycleFold
from jpq.conversation.event import (
    AssistantMessage,
    AssistantOpaque,
    AssistantReasoning,
    ChatRequest,
    ConfigDelta,
    Draft,
    Entry,
    ToolCall,
    ToolResponse,
    TurnEnd,
    Unknown,
)
from jpq.conversation.identity import base36, utc_timestamp
from jpq.conversation.sanitize import CUT_CALL
from jpq.conversation.stream import ConversationStream
from jpq.conversation.thread import Origin
from jpq.events.parts import (
    INTERRUPTED,
    STOP,
    Finished,
    Flush,
    MessageDelta,
    Opaque,
    Part,
    ReasoningDelta,
    Started,
    ToolArgumentsDelta,
    ToolCallRequest,
    ToolCallStarted,
)


def stream_of(*events: Any) -> ConversationStream:
    stream = ConversationStream()
    for event in events:
        stream.append(Draft(event))
    return stream


def test_an_entry_gets_its_id_and_time_when_it_is_inserted() -> None:
    stream = ConversationStream(clock=lambda: 1777809600.0005)
    entry = stream.append(Draft(ChatRequest("Hello")))
    assert re.fullmatch("[0-9a-z]{7}", entry.event_id)
    assert entry.timestamp == "2026-05-03T12:00:00.000Z"
    assert stream.last_event_id == entry.event_id


@pytest.mark.parametrize(
    "seconds,text",
    [(0, "1970-01-01T00:00:00.000Z"), (1.9999, "1970-01-01T00:00:01.999Z")],
)
def test_timestamps(seconds: float, text: str) -> None:
    assert utc_timestamp(seconds) == text


def test_base36() -> None:
    assert [base36(n, 2) for n in (0, 35, 36)] == ["00", "0z", "10"]


def test_ids_are_settled_the_same_way_at_every_reading() -> None:
    read = [
        Entry("aaaaaaa", "", ChatRequest("a"), line=b"1"),
        Entry("aaaaaaa", "", ChatRequest("b"), line=b"2"),
        Entry("", "", ChatRequest("c"), line=b"3"),
        Entry("", "", ChatRequest("c"), line=b"3"),
    ]
    settled = []
    for _ in range(2):
        stream = ConversationStream()
        settled.append([stream.adopt(entry).event_id for entry in read])
    assert settled[0] == settled[1]
    assert settled[0][0] == "aaaaaaa"
    assert len(set(settled[0])) == 4


def test_ids_of_what_was_taken_back_stay_used() -> None:
    stream = stream_of(ChatRequest("a"), ChatRequest("b"))
    retired = stream.entries[1].event_id
    stream.truncate(1)
    assert [entry.event for entry in stream.entries] == [ChatRequest("a")]
    assert stream.holds(retired)


def end(status: str) -> TurnEnd:
    return TurnEnd(status, "stop", {}, None)


@pytest.mark.parametrize(
    "events,status,unfinished",
    [
        ([], "interrupted", True),
        ([AssistantMessage("x")], "interrupted", True),
        ([AssistantMessage("x"), end("complete")], "complete", False),
        ([end("refused")], "refused", False),
        ([end("limited")], "limited", True),
        ([end("incomplete"), AssistantMessage("more")], "interrupted", True),
        ([end("incomplete"), AssistantMessage("more"), end("complete")], "complete", False),
        ([end("complete"), ConfigDelta({}), Unknown("new")], "complete", False),
    ],
)
def test_how_the_last_turn_stands(events: List[Any], status: str, unfinished: bool) -> None:
    turn = stream_of(ChatRequest("old"), ChatRequest("a"), *events).last_turn()
    assert turn is not None
    assert turn.entries[0].event == ChatRequest("a")
    assert (turn.status, turn.unfinished) == (status, unfinished)


def test_turns() -> None:
    stream = stream_of(ConfigDelta({}), ChatRequest("a"), end("complete"), ChatRequest("b"))
    assert [len(turn.entries) for turn in stream.turns()] == [2, 1]
    assert ConversationStream().last_turn() is None


def test_calls_that_wait_are_those_of_the_last_turn_in_order() -> None:
    one, two, three = (ToolCall(str(n), "x", {}) for n in (1, 2, 3))
    stream = stream_of(ChatRequest("a"), one, ChatRequest("b"), one, two, three)
    stream.append(Draft(ToolResponse("2", "r")))
    stream.append(Draft(ToolResponse("7", "of no call")))
    stream.append(Draft(ToolCall("8", "cut", {}), {"partial": True}))
    assert stream.unanswered_tool_calls() == [one, three]


def test_configuration_is_the_base_and_every_change_since() -> None:
    stream = ConversationStream({"model": "a/b", "system": "s"})
    stream.append(Draft(ConfigDelta({"model": "c/d", "options.temperature": 0})))
    stream.append(Draft(ConfigDelta({"system": None})))
    assert stream.config() == {"model": "c/d", "options.temperature": 0}


ORIGIN = Origin("openai", "asked")
ASKED = {"provider": "openai", "model": "asked"}
CYCLE = [
    Started("served"),
    Part(0, ReasoningDelta("hm")),
    Flush(0, {"signature": "s"}),
    Part(1, MessageDelta("Hel")),
    Part(1, MessageDelta("lo")),
    ToolCallStarted(2, "1", "greet"),
    ToolArgumentsDelta(2, '{"a":1}'),
    Part(2, ToolCallRequest("1", "greet", {"a": 1})),
    Part(3, Opaque({"type": "b"})),
    Part(4, MessageDelta("")),
]


def fold(*events: Any) -> List[Draft]:
    folded = CycleFold(ORIGIN)
    for event in events:
        folded.feed(event)
    return folded.drafts()


def test_a_finished_cycle_is_folded_whole() -> None:
    assert fold(*CYCLE, Finished(STOP)) == [
        Draft(AssistantReasoning("hm"), {**ASKED, "opaque": {"signature": "s"}}),
        Draft(AssistantMessage("Hello"), ASKED),
        Draft(ToolCall("1", "greet", {"a": 1}), ASKED),
        Draft(AssistantOpaque({"type": "b"}), ASKED),
    ]


def test_in_a_cut_cycle_a_whole_call_is_answered_as_not_run() -> None:
    drafts = fold(*CYCLE)
    assert [(type(d.event), "partial" in d.metadata) for d in drafts] == [
        (AssistantReasoning, False),
        (AssistantMessage, False),
        (ToolCall, False),
        (AssistantOpaque, False),
        (ToolResponse, False),
    ]
    assert drafts[-1].event == ToolResponse("1", CUT_CALL, is_error=True)


def test_the_text_that_a_cut_cycle_ends_with_is_partial_though_its_decoder_closed_it() -> None:
    text = [Part(0, MessageDelta("Hel")), Part(0, MessageDelta("lo")), Flush(0)]
    half_a_call = [ToolCallStarted(1, "1", "greet"), ToolArgumentsDelta(1, '{"a')]
    for cut in (text, [*text, *half_a_call], [*text, Finished(INTERRUPTED)]):
        (draft,) = fold(*cut)
        assert (draft.event, draft.metadata["partial"]) == (AssistantMessage("Hello"), True)


def test_a_call_that_was_still_being_written_is_left_out() -> None:
    assert fold(ToolCallStarted(0, "1", "greet"), ToolArgumentsDelta(0, '{"a')) == []


def test_blank_text_is_left_out() -> None:
    assert fold(Part(0, MessageDelta(" \n")), Part(1, ReasoningDelta("")), Finished(STOP)) == []


def test_blank_text_of_a_cut_cycle_is_kept_for_what_follows() -> None:
    drafts = fold(Part(0, ReasoningDelta(" ")), Part(1, MessageDelta(" ")))
    assert [draft.event for draft in drafts] == [AssistantMessage(" ")]
    assert drafts[0].metadata["partial"] is True
