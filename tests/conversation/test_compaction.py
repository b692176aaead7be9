"""Compaction: which range, what the model is asked, and that it works in small windows."""

from __future__ import annotations

from typing import Any, List

import pytest

from jpq.conversation.compaction import (
    INSTRUCTIONS,
    PIECE_TOKENS,
    last_compaction,
    plan_compaction,
    summarize,
    undone,
)
from jpq.conversation.event import (
    AssistantMessage,
    AssistantReasoning,
    ChatRequest,
    Compaction,
    Draft,
    Overlay,
    ToolCall,
    ToolResponse,
)
from jpq.conversation.stream import ConversationStream
from jpq.conversation.thread import Message, Thread, ThreadText, build_thread
from jpq.conversation.tokens import estimate_tokens, tokens_of
from jpq.errors import ErrorKind, StreamError


def talk(*events: Any) -> ConversationStream:
    stream = ConversationStream()
    for event in events:
        stream.append(Draft(event))
    return stream


THREE = [event for n in "123" for event in (ChatRequest(f"q{n}"), AssistantMessage(f"a{n}"))]


def test_the_range_is_every_turn_but_the_last_ones() -> None:
    stream = talk(*THREE)
    ids = [entry.event_id for entry in stream.entries]
    assert plan_compaction(stream, 1) == Compaction(ids[0], ids[3])
    assert plan_compaction(stream, 0) == Compaction(ids[0], ids[5])
    assert plan_compaction(stream, 3) is None and plan_compaction(stream, 9) is None
    stream.append(Draft(Overlay(ids[3], None)))
    assert plan_compaction(stream, 1) == Compaction(ids[0], ids[2]), "what is hidden is no end"


def test_the_model_is_asked_with_what_is_sent_and_no_more() -> None:
    stream = talk(
        ChatRequest("find it"),
        AssistantReasoning("secret"),
        ToolCall("1", "grep", {"for": "x"}),
        ToolResponse("1", "y" * 5000),
        AssistantMessage("found"),
        ChatRequest("left alone"),
    )
    asked: List[str] = []
    plan = plan_compaction(stream, 1)
    assert plan is not None
    assert summarize(stream.entries, plan, lambda text: asked.append(text) or "S ") == "S"  # type: ignore[func-returns-value]
    (question,) = asked
    assert question.startswith(INSTRUCTIONS) and question.endswith("Assistant: found")
    assert 'User: find it\n\nAssistant calls grep: {"for": "x"}\n\nResult: yyy' in question
    assert "secret" not in question and "left alone" not in question and len(question) < 2000


def test_a_second_summary_builds_on_the_first() -> None:
    stream = talk(*THREE)
    first = plan_compaction(stream, 2)
    assert first is not None
    stream.append(Draft(first._replace(summary="SUM1")))
    asked: List[str] = []
    second = plan_compaction(stream, 1)
    assert second is not None
    summarize(stream.entries, second, lambda text: asked.append(text) or "SUM2")  # type: ignore[func-returns-value]
    assert "SUM1" in asked[0] and "q2" in asked[0]
    assert "q1" not in asked[0] and "q3" not in asked[0]
    stream.append(Draft(second._replace(summary="SUM2")))
    said = str(build_thread(stream.entries))
    assert "SUM2" in said and "SUM1" not in said and "q3" in said


def test_the_last_compaction_can_be_taken_back() -> None:
    stream = talk(*THREE)
    plan = plan_compaction(stream, 1)
    assert plan is not None and last_compaction(stream.entries) is None
    whole = build_thread(stream.entries)
    entry = stream.append(Draft(plan._replace(summary="short")))
    stream.append(Draft(plan._replace(summary="")))  # an edit, which is not one
    assert last_compaction(stream.entries) == entry
    stream.append(Draft(Overlay(stream.entries[-1].event_id, None)))
    stream.append(Draft(undone(entry)))
    assert last_compaction(stream.entries) is None
    assert build_thread(stream.entries) == whole


@pytest.mark.parametrize("window", [PIECE_TOKENS + 600, 2000, 700])
def test_a_conversation_that_is_too_long_is_summed_up_in_pieces(window: int) -> None:
    stream = talk(ChatRequest("w0rd\n" * 12_000), AssistantMessage("x" * 9000), ChatRequest("z"))
    plan = plan_compaction(stream, 1)
    assert plan is not None
    seen: List[str] = []

    def ask(question: str) -> str:
        if tokens_of(question) > window:
            raise StreamError(ErrorKind.CONTEXT_LENGTH, "too long")
        seen.append(question)
        return f"S{len(seen)}"

    summary = summarize(stream.entries, plan, ask)
    assert summary == f"S{len(seen)}"
    assert sum(text.count("w0rd") for text in seen) == 12_000, "every piece is read once"
    assert all(f"\n\nS{number}\n\n" in text for number, text in enumerate(seen[1:], 1))


def test_an_error_that_pieces_do_not_help_is_told() -> None:
    stream = talk(*THREE)
    plan = plan_compaction(stream, 1)
    assert plan is not None
    for kind in (ErrorKind.CONTEXT_LENGTH, ErrorKind.AUTH):

        def ask(question: str, kind: ErrorKind = kind) -> str:
            raise StreamError(kind, "no")

        with pytest.raises(StreamError, match="no"):
            summarize(stream.entries, plan, ask)


def test_the_estimate() -> None:
    assert (tokens_of(""), tokens_of("abcd"), tokens_of("abcde"), tokens_of("\u00e9\u00e9")) == (
        0,
        1,
        2,
        1,
    )
    thread = Thread("abcd", (Message("user", (ThreadText("abcd"), ThreadText("abcd"))),))
    assert estimate_tokens(thread) == 1 + 2 * (4 + 1)
