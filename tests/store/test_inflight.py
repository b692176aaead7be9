"""The in-flight file: every stream event comes back from its line."""

from __future__ import annotations

from typing import Any, List

import pytest

from jpq.conversation.entry import encode_entry, parse_json_line
from jpq.conversation.event import AssistantMessage, ChatRequest, Draft, Entry, TurnEnd
from jpq.conversation.thread import Origin
from jpq.events.parts import (
    Finished,
    Flush,
    KeepAlive,
    MessageDelta,
    Metered,
    Opaque,
    Part,
    ReasoningDelta,
    Started,
    ToolArgumentsDelta,
    ToolCallRequest,
    ToolCallStarted,
)
from jpq.events.usage import Usage
from jpq.store.inflight import (
    Recovery,
    decode_event,
    encode_commit,
    encode_events,
    encode_header,
    recover,
)

EVENTS = [
    Started("m", "id"),
    Started(),
    Part(0, MessageDelta("a\n\u2028\ud800")),
    Part(1, ReasoningDelta("hm")),
    ToolCallStarted(2, "1", "greet"),
    ToolArgumentsDelta(2, '{"a'),
    Part(2, ToolCallRequest("1", "greet", {"a": [1]})),
    Part(3, ToolCallRequest("1", "greet", {"raw": "{"}, "{")),
    Part(4, Opaque({"type": "x"})),
    Flush(4, {"signature": "s"}),
    Metered(Usage(input_tokens=3)),
    Finished("stop", {"native": "end_turn"}),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_comes_back_from_its_line(event: Any) -> None:
    line = encode_events([event])
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    assert decode_event(parse_json_line(line)) == event


def test_adjacent_text_is_one_line() -> None:
    parts = [Part(0, MessageDelta(text)) for text in "abc"]
    assert encode_events([*parts, KeepAlive()]) == b'["message",0,"abc"]\n'
    assert encode_events([KeepAlive()]) == b""


@pytest.mark.parametrize(
    "value",
    [
        [],
        ["new", 1],
        ["message"],
        ["usage", {"new_tokens": 1}],
        [7],
        ["flush"],
        ["message", [], "x"],
        ["message", 0, 7],
    ],
)
def test_what_another_version_wrote_is_passed_over(value: List[Any]) -> None:
    assert decode_event(value) is None


FIRST = Entry("aaaaaaa", "t", ChatRequest("a"))
ANSWER = Entry("bbbbbbb", "t", AssistantMessage("Hello"))
HELLO = encode_events([Part(0, MessageDelta("Hello"))])
PARTIAL = {"provider": "p", "model": "m", "partial": True}


def test_recorded_events_become_partial_drafts() -> None:
    data = encode_header("aaaaaaa", Origin("p", "m")) + HELLO
    assert recover(data, [FIRST]) == Recovery([], [Draft(AssistantMessage("Hello"), PARTIAL)])


def test_a_commit_that_did_not_reach_the_file_is_made_up_for() -> None:
    line = encode_entry(ANSWER)
    data = encode_header("aaaaaaa", None) + HELLO + encode_commit([line])
    assert recover(data, [FIRST]) == Recovery([ANSWER._replace(line=line)], [])
    assert recover(data, [FIRST, ANSWER]) == Recovery([], [])


def test_a_torn_commit_does_not_count() -> None:
    commit = encode_commit([encode_entry(ANSWER)])
    data = encode_header("aaaaaaa", Origin("p", "m")) + HELLO
    for length in range(len(commit) - 2):
        recovered = recover(data + commit[:length], [FIRST])
        assert recovered == Recovery([], [Draft(AssistantMessage("Hello"), PARTIAL)])


def test_what_is_committed_already_is_subtracted() -> None:
    """A disk that was too full for the commit line let the entry itself through."""
    data = encode_header("aaaaaaa", None) + HELLO
    assert recover(data, [FIRST, ANSWER]) == Recovery([], [])
    earlier = ANSWER._replace(event_id="ccccccc")
    assert recover(data, [earlier, FIRST]).drafts == [
        Draft(AssistantMessage("Hello"), {"partial": True})
    ]


def test_two_cycles_in_one_file() -> None:
    """The second began while the entries of the first could not be written."""
    data = (
        encode_header("aaaaaaa", None)
        + HELLO
        + encode_commit([encode_entry(ANSWER)])
        + encode_header("bbbbbbb", None)
        + HELLO
    )
    recovered = recover(data, [FIRST])
    assert [entry.event_id for entry in recovered.entries] == ["bbbbbbb"]
    assert recovered.drafts == [Draft(AssistantMessage("Hello"), {"partial": True})]


def died(*events: Any) -> bytes:
    """The file of a process that died after these events came, in answer to ``asked``."""
    return encode_header("asked01", None) + encode_events(events)


ASKED = Entry("asked01", "", ChatRequest("?"))
TEXT = Part(0, MessageDelta("Hi"))


@pytest.mark.parametrize(
    "reason, status",
    [("stop", "complete"), ("length", "limited"), ("content_filter", "filtered")],
)
def test_a_turn_that_died_after_its_provider_ended_it_has_ended(reason: str, status: str) -> None:
    recovery = recover(died(TEXT, Finished(reason)), [ASKED])
    end = TurnEnd(status, reason, {}, None)
    assert [draft.event for draft in recovery.drafts] == [AssistantMessage("Hi"), end]


@pytest.mark.parametrize(
    "events",
    [
        [TEXT],
        [TEXT, Finished("pause_turn")],
        [Finished("stop")],
        [TEXT, Part(1, ToolCallRequest("1", "greet", {})), Finished("tool_calls")],
    ],
)
def test_a_turn_that_died_before_it_was_over_has_no_end(events: List[Any]) -> None:
    drafts = recover(died(*events), [ASKED]).drafts
    assert not any(isinstance(draft.event, TurnEnd) for draft in drafts)


def test_a_turn_gets_one_end_however_often_it_is_recovered() -> None:
    data = died(TEXT, Finished("stop"))
    answer = Entry("answer1", "", AssistantMessage("Hi"))
    end = Entry("theend1", "", TurnEnd("complete", "stop", {}, None))
    committed = encode_commit([encode_entry(answer)])
    (only,) = recover(data + committed, [ASKED, answer]).drafts
    assert only.event == end.event
    assert recover(data + committed, [ASKED, answer, end]).drafts == []
    both = encode_commit([encode_entry(answer), encode_entry(end)])
    found = recover(data + committed + both, [ASKED])
    assert [entry.event for entry in found.entries] == [answer.event, end.event]
    assert found.drafts == []
