"""The in-flight file: every stream event comes back from its line."""

from __future__ import annotations

from typing import Any, List

import pytest

from jpq.conversation.entry import encode_entry, parse_json_line
from jpq.conversation.event import AssistantMessage, ChatRequest, Draft, Entry
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
