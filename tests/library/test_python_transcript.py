"""jpq.Transcript: the events of a turn, of a provider, and any cut of them."""

from __future__ import annotations

from typing import Any, List

from hypothesis import given
from hypothesis import strategies as st

import jpq
from jpq.events import parts
from jpq.events import transcript as of_provider

PROVIDER = [
    parts.Started("m", "id-1"),
    parts.Part(0, parts.ReasoningDelta("hm")),
    parts.Flush(0, {"signature": "s"}),
    parts.Part(1, parts.MessageDelta("Hel")),
    parts.Part(1, parts.MessageDelta("lo")),
    parts.ToolCallStarted(2, "c", "add"),
    parts.ToolArgumentsDelta(2, '{"a": '),
    parts.ToolArgumentsDelta(2, "1}"),
    parts.Flush(3, {"signature": "of nothing"}),
    parts.Metered(jpq.Usage(1, 2)),
    parts.Finished(parts.STOP),
]

CYCLES: List[Any] = [
    jpq.ConversationOpened(None, "p/m"),
    jpq.StreamStart("m-1", "a"),
    jpq.ReasoningChunk("hm", 0),
    jpq.TextChunk("Let me see.", 1),
    jpq.ToolUseStart("c", "add"),
    jpq.ToolUse("c", "add", {"a": 1}),
    jpq.ToolStarted("c", "add"),
    jpq.ToolResult("c", "add", "2", False),
    jpq.Complete("tool_calls"),
    jpq.TokenUpdate(jpq.Usage(10, 5)),
    jpq.StreamStart("m-1", "b"),
    jpq.TextChunk("It is", 0),
    jpq.Notice("It was cut. Attempt 2 of 4 in 0.5 s."),
    jpq.StreamStart("m-2", "c"),
    jpq.TextChunk(" two.", 0),
    jpq.Complete("stop"),
    jpq.TokenUpdate(jpq.Usage(20, 5, 1)),
]
RESULT = jpq.Result("complete", "Let me see.\n\nIt is two.", "stop", jpq.Usage(30, 10, 1), 0.5, 0)


@given(st.integers(0, len(PROVIDER)))
def test_a_providers_events_fold_as_before(length: int) -> None:
    known, ours = of_provider.Transcript("asked"), jpq.Transcript("asked")
    for event in PROVIDER[:length]:
        known.feed(event)
        ours.feed(event)
    assert ours.finish() == known.finish()
    assert jpq.Transcript("asked").drain(PROVIDER[:length]) == known.finish()


def test_a_turn_of_two_cycles_is_one_response() -> None:
    response = jpq.Transcript().drain([*CYCLES, RESULT])
    assert response.text == RESULT.text and response.reasoning == "hm"
    assert [(call.id, call.name, call.arguments) for call in response.tool_calls] == [
        ("c", "add", {"a": 1})
    ]
    assert response.usage == RESULT.usage
    assert (response.model, response.message_id) == ("m-2", "c")
    assert response.is_complete and response.details["cost"] == 0.5
    assert [type(block).__name__ for block in response.blocks] == [
        "ReasoningBlock",
        "TextBlock",
        "ToolCallBlock",
        "TextBlock",
    ]


@given(st.integers(0, len(CYCLES)))
def test_any_beginning_of_a_turn_can_be_read(length: int) -> None:
    transcript = jpq.Transcript()
    for event in CYCLES[:length]:
        transcript.feed(event)
        assert transcript.finish() == transcript.finish()
    response = transcript.finish()
    assert RESULT.text.startswith(response.text)
    assert response.is_complete == (length >= 9)  # the first cycle has said how it ended
    if length:
        assert response.usage.input_tokens in (None, 10, 30)


def test_how_a_turn_ended_is_what_counts() -> None:
    for status, reason in (
        ("interrupted", "interrupted"),
        ("incomplete", "interrupted"),
        ("error", "error"),
        ("denied", "error"),
        ("limited", "length"),
        ("refused", "refusal"),
    ):
        result = RESULT._replace(status=status, finish_reason=reason, text="It")
        response = jpq.Transcript().drain([*CYCLES, result])
        assert (response.status, response.stop_reason, response.text) == (status, reason, "It")
        assert not response.is_complete
