"""The seam of a continued answer: what is said again is taken out, and nothing else."""

from __future__ import annotations

from typing import List

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jpq.conversation.thread import Message, Thread, ThreadOpaque, ThreadText
from jpq.errors import ErrorKind, StreamError
from jpq.events.parts import (
    STOP,
    Finished,
    Flush,
    MessageDelta,
    Part,
    ReasoningDelta,
    Started,
    StreamEvent,
    ToolCallStarted,
)
from jpq.turn.seam import LONGEST, SHORTEST, Seam, joined, repetition
from tests.support.exchange import FakeExchange

# Few characters, so that texts often look alike; and words, so that they often qualify.
TEXT = st.one_of(
    st.text(alphabet="ab \n", max_size=60),
    st.lists(st.sampled_from(["the quick brown ", "fox jumps over ", "é漢 "]), max_size=8).map(
        "".join
    ),
    st.text(max_size=40),
)


def said(events: List[StreamEvent]) -> str:
    return "".join(
        event.payload.text
        for event in events
        if isinstance(event, Part) and isinstance(event.payload, MessageDelta)
    )


def through(cut: str, pieces: List[str]) -> str:
    seam = Seam(cut)
    passed = list(seam.pass_on([Started("m")]))
    for piece in pieces:
        passed += seam.pass_on([Part(0, MessageDelta(piece))])
    return said([*passed, *seam.end()])


def test_the_end_said_again_is_taken_out() -> None:
    cut = "The capital of France is Paris, and the capital of It"
    assert through(cut, ["the capital ", "of Italy is Rome."]) == "aly is Rome."
    assert through(cut, ["aly is Rome."]) == "aly is Rome."
    assert through(cut, [cut, "aly is Rome."]) == "aly is Rome."


@pytest.mark.parametrize(
    "cut,text",
    [
        ("if (a) {\n    b();\n    }\n    }\n", "    }\n    }\n}\n"),
        ("| --- | --- | --- | --- |\n", "| --- | --- | --- | --- |\n"),
        ("0, 0, 0, 0, 0, 0, 0, 0, 0, ", "0, 0, 0, 0, 0, 0, 0, 0, 0]"),
        ("ha ha ha ha ha ha ", "ha ha ha ha ha ha!"),
        ("The quick brown fox jumps", "the quick brown fox jumps over"),
        ("It is Paris", "Paris it is, as I said"),
    ],
)
def test_what_merely_looks_alike_is_kept(cut: str, text: str) -> None:
    assert through(cut, list(text)) == text


def test_other_events_end_the_wait_and_keep_their_order() -> None:
    cut = "Once upon a time there was a king"
    seam = Seam(cut)
    first = [
        Started("m"),
        Part(0, ReasoningDelta("hm")),
        Flush(0),
        Part(1, MessageDelta("Once upon")),
    ]
    assert list(seam.pass_on(first)) == first[:3], "it may be the beginning, said again"
    call, end = ToolCallStarted(2, "c", "f"), Finished(STOP)
    assert list(seam.pass_on([Flush(1), call, end])) == [
        Part(1, MessageDelta("Once upon")),
        Flush(1),
        call,
        end,
    ]
    assert list(seam.end()) == []


def test_an_attempt_that_only_repeats_leaves_its_index() -> None:
    cut = "Once upon a time there was a king"
    seam = Seam(cut)
    events = seam.pass_on([Part(0, MessageDelta(cut[-20:])), Flush(0, {"x": 1})])
    assert list(events) == [Part(0, MessageDelta("")), Flush(0, {"x": 1})]


def test_without_a_cut_answer_everything_passes_at_once() -> None:
    events = [Part(0, MessageDelta("The quick brown fox jumps"))]
    assert Seam("").pass_on(events) is events


@given(TEXT, TEXT, st.integers(0, 60))
@example("x" * LONGEST + "The quick brown fox jumps over", "!", 30)
def test_the_longest_exact_repetition_is_found_and_nothing_more(
    cut: str, rest: str, length: int
) -> None:
    text = cut[len(cut) - min(length, len(cut)) :] + rest
    found = repetition(cut, text, more=False)
    candidates = [
        n
        for n in range(SHORTEST, min(len(cut), len(text), LONGEST) + 1)
        if cut[len(cut) - n :] == text[:n] and len(set(text[:n]) - set(" \n")) >= 8
    ]
    assert found == max(candidates, default=0)


@given(TEXT, TEXT, st.integers(0, 60), st.lists(st.integers(1, 9), max_size=40))
def test_however_it_arrives_the_same_is_left(
    cut: str, rest: str, length: int, sizes: List[int]
) -> None:
    text = cut[len(cut) - min(length, len(cut)) :] + rest
    pieces, start = [], 0
    for size in sizes:
        pieces.append(text[start : start + size])
        start += size
    pieces.append(text[start:])
    left = through(cut, [piece for piece in pieces if piece])
    assert left == text[repetition(cut, text, more=False) or 0 :]
    assert text.endswith(left) and cut.endswith(text[: len(text) - len(left)])


def test_what_was_held_when_the_attempt_failed_comes_before_its_error() -> None:
    thread = Thread("", (Message("assistant", (ThreadText("Once upon a time, there"),)),), True)
    cut = StreamError(ErrorKind.CUT, "Cut.")
    exchange = joined(FakeExchange([Part(0, MessageDelta("Once ")), cut]), thread)
    events = exchange.events()
    assert next(events) == Part(0, MessageDelta("Once "))
    with pytest.raises(StreamError):
        next(events)


def test_only_a_continued_text_has_a_seam() -> None:
    exchange = FakeExchange([])
    answered = Message("assistant", (ThreadText("Done."),))
    assert joined(exchange, Thread("", (answered,))) is exchange
    call = Message("assistant", (ThreadText("x"), ThreadOpaque({"type": "server_tool_use"})))
    assert joined(exchange, Thread("", (call,), continues=True)) is exchange
