"""Overlays and compactions: what is sent changes, what is stored never does."""

from __future__ import annotations

from typing import Any, List

from hypothesis import given
from hypothesis import strategies as st

from jpq.conversation.effective import SHORT_RESULT, SUMMARY, compacted, effective
from jpq.conversation.entry import decode_entry, encode_entry
from jpq.conversation.event import (
    AssistantMessage,
    AssistantOpaque,
    AssistantReasoning,
    ChatRequest,
    Compaction,
    ConfigDelta,
    ConversationEvent,
    Draft,
    Entry,
    Overlay,
    ToolCall,
    ToolResponse,
)
from jpq.conversation.stream import ConversationStream
from jpq.conversation.thread import build_thread


def talk(*events: Any) -> ConversationStream:
    stream = ConversationStream({"model": "a/b"})
    for event in events:
        stream.append(Draft(*event) if type(event) is tuple else Draft(event))
    return stream


def sent(stream: ConversationStream) -> List[ConversationEvent]:
    return [entry.event for entry in compacted(effective(stream.entries))]


def add(stream: ConversationStream, event: ConversationEvent) -> str:
    return stream.append(Draft(event)).event_id


def test_an_overlay_amends_one_event_and_the_later_one_wins() -> None:
    stream = talk(ChatRequest("a"), AssistantMessage("b"))
    target = stream.entries[0].event_id
    first = add(stream, Overlay(target, {"content": "A", "author": "me"}))
    second = add(stream, Overlay(target, {"content": "B"}))
    entry = effective(stream.entries)[0]
    assert (entry.event, entry.event_id) == (ChatRequest("B"), target)
    assert b'"author":"me"' in encode_entry(entry)
    add(stream, Overlay(second, None))
    assert effective(stream.entries)[0].event == ChatRequest("A")
    add(stream, Overlay(first, None))
    assert effective(stream.entries)[0] == stream.entries[0]
    add(stream, Overlay(target, None))
    assert AssistantMessage("b") == effective(stream.entries)[0].event


def test_an_overlay_of_a_setting_changes_the_configuration() -> None:
    stream = talk(ConfigDelta({"system": "x"}))
    assert stream.config() == {"model": "a/b", "system": "x"}
    add(stream, Overlay(stream.entries[0].event_id, {"changes": {"system": "y"}}))
    assert stream.config()["system"] == "y"
    add(stream, Overlay(stream.entries[0].event_id, None))
    assert stream.config() == {"model": "a/b"}


def test_an_overlay_of_an_ambiguous_id_is_passed_over() -> None:
    stream = ConversationStream()
    for line in (
        b'{"event_id":"same","type":"chat_request","content":"a"}',
        b'{"event_id":"same","type":"chat_request","content":"b"}',
        b'{"event_id":"o","type":"overlay","target":"same","fields":null}',
        b'{"event_id":"c","type":"compaction","first":"same","last":"same","summary":""}',
    ):
        entry = decode_entry(line)
        assert entry is not None
        stream.adopt(entry)
    assert [e.event for e in effective(stream.entries)][:2] == [ChatRequest("a"), ChatRequest("b")]
    assert sent(stream)[:2] == [ChatRequest("a"), ChatRequest("b")]
    assert stream.entries[1].repeated_id == "same" != stream.entries[1].event_id


def test_a_summary_stands_in_for_its_range_until_it_is_taken_back() -> None:
    stream = talk(ChatRequest("a"), AssistantMessage("b"), ChatRequest("c"))
    ids = [entry.event_id for entry in stream.entries]
    compaction = add(stream, Compaction(ids[0], ids[1], "we said hello"))
    thread = build_thread(stream.entries)
    (message,) = thread.messages
    assert [b.text for b in message.blocks if hasattr(b, "text")] == [
        SUMMARY.format("we said hello"),
        "c",
    ]
    add(stream, Overlay(compaction, None))
    assert sent(stream)[:3] == [ChatRequest("a"), AssistantMessage("b"), ChatRequest("c")]


def test_a_newer_summary_takes_the_place_of_the_one_in_its_range() -> None:
    stream = talk(*(ChatRequest(word) for word in "abcd"))
    ids = [entry.event_id for entry in stream.entries]
    add(stream, Compaction(ids[0], ids[1], "ab"))
    add(stream, Compaction(ids[0], ids[2], "abc"))
    assert sent(stream)[:2] == [ChatRequest(SUMMARY.format("abc")), ChatRequest("d")]
    add(stream, Compaction(ids[2], ids[3], ""))
    assert sent(stream)[0] == ChatRequest(SUMMARY.format("abc")), "a and b are in it alone"


def test_reasoning_and_long_results_are_reduced_in_the_range_only() -> None:
    long = "x" * (SHORT_RESULT + 1)
    made_by = {"provider": "p", "model": "m", "opaque": {"signature": "s"}}
    turn = (
        ChatRequest("a"),
        (AssistantReasoning("hm"), made_by),
        AssistantOpaque({"type": "redacted"}),
        (ToolCall("1", "t", {}), made_by),
        ToolResponse("1", long),
    )
    stream = talk(*turn, *turn)
    ids = [entry.event_id for entry in stream.entries]
    add(stream, Compaction(ids[0], ids[4], None, drop_reasoning=True, shorten_results=True))
    request, call, result, *rest = compacted(effective(stream.entries))
    assert (request.event, call.event) == (ChatRequest("a"), ToolCall("1", "t", {}))
    assert call.metadata == {"provider": "p", "model": "m"}
    assert isinstance(result.event, ToolResponse) and len(result.event.content) < len(long)
    assert [entry.event for entry in rest[:5]] == [entry.event for entry in stream.entries[5:10]]


def test_a_tool_that_has_a_compact_summary_of_its_own_is_heard() -> None:
    stream = talk(
        ChatRequest("a"),
        ToolCall("1", "t", {}),
        (ToolResponse("1", "long"), {"compact": "3 files"}),
    )
    ids = [entry.event_id for entry in stream.entries]
    add(stream, Compaction(ids[0], ids[2], shorten_results=True))
    assert sent(stream)[2] == ToolResponse("1", "3 files")


def test_what_went_with_a_shortened_result_is_named() -> None:
    picture = {"name": "a.png", "media_type": "image/png", "content": "AAAA"}
    answered = (ToolResponse("1", "Look."), {"attachments": [picture]})
    stream = talk(ChatRequest("a"), ToolCall("1", "t", {}), answered)
    assert stream.entries[2].metadata["attachments"]
    ids = [entry.event_id for entry in stream.entries]
    add(stream, Compaction(ids[0], ids[2], shorten_results=True))
    *_, result, _ = compacted(effective(stream.entries))
    assert result.event == ToolResponse("1", "Look.\n(a.png is left out here.)")
    assert not result.metadata


PLACE = st.integers(0, 8)
ANY = st.one_of(
    st.builds(ChatRequest, st.sampled_from(["a", "b"])),
    st.just(AssistantMessage("m")),
    st.just(ToolCall("1", "t", {})),
    st.just(ToolResponse("1", "r")),
    st.tuples(st.just("overlay"), PLACE, st.sampled_from([None, {"content": "z"}, {"type": "q"}])),
    st.tuples(st.just("compaction"), PLACE, PLACE, st.sampled_from([None, "", "s"])),
)


@given(st.lists(ANY, max_size=10))
def test_whatever_is_amended_the_store_stays_and_the_thread_can_be_built(plan: List[Any]) -> None:
    stream = ConversationStream()
    for step in plan:
        ids = [entry.event_id for entry in stream.entries] or ["none"]
        if isinstance(step, tuple) and step[0] == "overlay":
            step = Overlay(ids[step[1] % len(ids)], step[2])
        elif isinstance(step, tuple) and step[0] == "compaction":
            step = Compaction(ids[step[1] % len(ids)], ids[step[2] % len(ids)], step[3], True, True)
        stream.append(Draft(step))
    before: List[Entry] = list(stream.entries)
    build_thread(stream.entries)
    assert stream.entries == before
