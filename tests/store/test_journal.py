"""The journal: record, commit, take back, kill in any order; nothing is lost or doubled."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Any, Dict, Iterator, List

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jpq.conversation.event import (
    AssistantMessage,
    AssistantReasoning,
    ChatRequest,
    ConversationEvent,
    Draft,
    ToolResponse,
)
from jpq.conversation.thread import Origin
from jpq.events.parts import Finished, MessageDelta, Part, ReasoningDelta
from jpq.store.journal import FileJournal, Journal
from jpq.store.library import Library
from jpq.store.memory import MemoryJournal

ABOUT = {"workspace": "/w", "model": "openai/gpt", "title": None}


@pytest.fixture
def library(tmp_path: Any) -> Library:
    return Library(os.path.join(str(tmp_path), "conversations"))


def said(text: str) -> List[Any]:
    return [Part(0, MessageDelta(text))]


def opened(library: Library, id: str) -> FileJournal:
    return library.open(id, 0, pytest.fail)


def events_of(journal: Journal) -> List[ConversationEvent]:
    return [entry.event for entry in journal.stream.entries]


def killed(journal: FileJournal) -> Library:
    """The library as a SIGKILL now would leave it: a copy of what is on the disk."""
    folder = os.path.dirname(journal.folder)
    copy = tempfile.mkdtemp(dir=os.path.dirname(folder))
    left = shutil.copytree(folder, os.path.join(copy, "conversations"))
    journal.close()
    return Library(left)


def content(journal: FileJournal, name: str = "events.jsonl") -> bytes:
    with open(os.path.join(journal.folder, name), "rb") as file:
        return file.read()


def test_a_conversation_is_found_again(library: Library) -> None:
    journal = library.create(ABOUT, {"model": "openai/gpt"})
    journal.begin_cycle(Origin("openai", "gpt"))
    journal.record(said("Hel"))
    journal.commit([Draft(ChatRequest("a")), Draft(AssistantMessage("Hello"))])
    assert not os.path.exists(os.path.join(journal.folder, "inflight.jsonl"))
    journal.close()
    journal.close()
    saved = library.read(journal.id)
    assert [entry.event for entry in saved.stream.entries] == events_of(journal)
    assert [e.event_id for e in saved.stream.entries] == [
        e.event_id for e in journal.stream.entries
    ]
    assert saved.stream.config() == {"model": "openai/gpt"}
    assert (saved.metadata["model"], saved.metadata["schema"]) == ("openai/gpt", 1)
    assert (saved.recovered, saved.notices) == (0, ())


def test_reading_shows_what_runs_and_writes_nothing(library: Library) -> None:
    journal = library.create(ABOUT)
    journal.commit([Draft(ChatRequest("a"))])
    journal.begin_cycle(Origin("openai", "gpt"))
    journal.record(said("Hel"))
    journal.record(said("lo"))
    before = {name: content(journal, name) for name in os.listdir(journal.folder)}
    saved = library.read(journal.id)
    last = saved.stream.entries[-1]
    assert last.event == AssistantMessage("Hello")
    assert last.metadata == {"provider": "openai", "model": "gpt", "partial": True}
    assert saved.recovered == 1
    assert {name: content(journal, name) for name in os.listdir(journal.folder)} == before
    journal.close()


def test_the_next_writer_commits_what_was_recorded(library: Library) -> None:
    journal = library.create(ABOUT)
    journal.record(said("Hello"))
    library = killed(journal)
    for _ in range(2):
        journal = opened(library, journal.id)
        assert events_of(journal) == [AssistantMessage("Hello")]
        assert sorted(os.listdir(journal.folder)) == [
            "base_config.json",
            "events.jsonl",
            "lock",
            "metadata.json",
        ]
        journal.close()


def test_recovery_that_is_killed_after_its_commit_doubles_nothing(library: Library) -> None:
    """The same text twice is two answers, and each is recovered once."""
    journal = library.create(ABOUT)
    journal.commit([Draft(ChatRequest("a")), Draft(AssistantMessage("Hello"))])
    journal.record(said("Hello"))
    inflight = content(journal, "inflight.jsonl")
    journal.close()
    journal = opened(library, journal.id)
    assert events_of(journal)[1:] == [AssistantMessage("Hello")] * 2
    with open(os.path.join(journal.folder, "inflight.jsonl"), "wb") as file:
        file.write(inflight)  # as if it had not come to removing it
    journal.close()
    assert events_of(library.read(journal.id))[1:] == [AssistantMessage("Hello")] * 2


def test_discarded_text_is_gone(library: Library) -> None:
    journal = library.create(ABOUT)
    journal.commit([Draft(ChatRequest("a"))])
    journal.record(said("Hello"))
    journal.discard_inflight()
    assert len(killed(journal).read(journal.id).stream.entries) == 1


def test_abort_leaves_the_file_as_it_was(library: Library) -> None:
    journal = library.create(ABOUT)
    journal.commit([Draft(ChatRequest("a"))])
    journal.close()
    with open(os.path.join(journal.folder, "events.jsonl"), "ab") as file:
        file.write(b'{"torn')
    journal = library.open(journal.id, 0, lambda notice: None)
    before = content(journal)
    mark = journal.mark()
    journal.commit([Draft(ChatRequest("b"))])
    journal.record(said("Hel"))
    journal.commit([Draft(AssistantMessage("Hello"))])
    journal.record(said("more"))
    journal.rollback(mark)
    assert content(journal) == before
    assert events_of(journal) == [ChatRequest("a")]
    journal.close()
    assert len(library.read(journal.id).stream.entries) == 1


def test_a_new_conversation_in_which_nothing_was_said_leaves_no_trace(library: Library) -> None:
    journal = library.create(ABOUT)
    mark = journal.mark()
    journal.commit([Draft(ChatRequest("a"))])
    journal.rollback(mark)
    journal.close()
    assert library.ids() == []
    assert not os.path.exists(journal.folder)


def test_nothing_is_appended_onto_a_broken_tail(library: Library) -> None:
    journal = library.create(ABOUT)
    journal.commit([Draft(ChatRequest("a")), Draft(ChatRequest("b"))])
    journal.close()
    path = os.path.join(journal.folder, "events.jsonl")
    os.truncate(path, os.path.getsize(path) - 9)
    broken = content(journal)
    notices: List[str] = []
    journal = library.open(journal.id, 0, notices.append)
    assert len(notices) == 1 and "1 line of" in notices[0]
    journal.commit([Draft(ChatRequest("c"))])
    assert content(journal).startswith(broken + b"\n{")
    journal.close()
    assert events_of(library.read(journal.id)) == [ChatRequest("a"), ChatRequest("c")]


def test_a_whole_last_line_without_its_end_counts(library: Library) -> None:
    journal = library.create(ABOUT)
    journal.commit([Draft(ChatRequest("a"))])
    journal.close()
    path = os.path.join(journal.folder, "events.jsonl")
    os.truncate(path, os.path.getsize(path) - 1)
    journal = opened(library, journal.id)
    journal.commit([Draft(ChatRequest("b"))])
    assert events_of(journal) == [ChatRequest("a"), ChatRequest("b")]
    journal.close()
    assert events_of(library.read(journal.id)) == [ChatRequest("a"), ChatRequest("b")]


def test_other_lines_stay_as_they_are(library: Library) -> None:
    journal = library.create(ABOUT)
    journal.commit([Draft(ChatRequest("a"))])
    journal.close()
    foreign = b'\0\0\0\n{"type":"new","x":[1, 2]}\n\n{"event_id":7}\nnot json\n'
    with open(os.path.join(journal.folder, "events.jsonl"), "ab") as file:
        file.write(foreign)
    journal = library.open(journal.id, 0, lambda notice: None)
    before = content(journal)
    journal.commit([Draft(ChatRequest("b"))])
    assert content(journal).startswith(before) and foreign in before
    journal.close()


def test_the_title_changes_and_unknown_metadata_stays(library: Library) -> None:
    journal = library.create({**ABOUT, "mood": "good"})
    journal.set_title("T\u00e9")
    assert journal.metadata["title"] == "T\u00e9"
    journal.commit([Draft(ChatRequest("a"))])
    journal.close()
    metadata = library.read(journal.id).metadata
    assert (metadata["title"], metadata["mood"]) == ("T\u00e9", "good")
    assert not [name for name in os.listdir(journal.folder) if name.endswith(".tmp")]


def test_memory_journal_keeps_the_same_conversation_without_files() -> None:
    journal: Journal = MemoryJournal()
    journal.commit([Draft(ChatRequest("a"))])
    mark = journal.mark()
    journal.begin_cycle()
    journal.record(said("Hel"))
    journal.discard_inflight()
    journal.commit([Draft(AssistantMessage("Hello"))])
    journal.set_title("T")
    assert journal.metadata["title"] == "T"
    assert journal.unanswered_tool_calls() == []
    journal.rollback(mark)
    journal.close()
    assert events_of(journal) == [ChatRequest("a")]
    assert journal.id is None and journal.folder is None


def test_file_journal_is_a_journal(library: Library) -> None:
    journal: Journal = library.create(ABOUT)
    assert journal.unanswered_tool_calls() == []
    journal.close()


TEXTS = st.text(min_size=1, max_size=5)
STEP = st.one_of(
    st.tuples(st.just("record"), TEXTS),
    st.tuples(st.just("reason"), TEXTS),
    st.tuples(st.just("commit"), TEXTS),
    st.sampled_from([("cycle", ""), ("discard", ""), ("kill", ""), ("reopen", ""), ("abort", "")]),
)


class Model:
    """What a conversation must hold: entries, and the cycle that is not committed."""

    def __init__(self) -> None:
        self.committed: List[ConversationEvent] = []
        self.cycles: List[Dict[int, str]] = []

    def record(self, index: int, text: str) -> None:
        self.cycles = self.cycles or [{}]
        self.cycles[-1][index] = self.cycles[-1].get(index, "") + text

    def everything(self) -> List[ConversationEvent]:
        kinds = {0: AssistantReasoning, 1: AssistantMessage}
        recorded = [
            kinds[i](c[i]) for c in self.cycles for i in sorted(c) if i == 1 or c[i].strip()
        ]
        return self.committed + recorded


@settings(max_examples=50)
@given(st.lists(STEP, max_size=14))
def test_any_history_is_found_again(steps: List[Any]) -> None:
    """Kills at any step; after each the conversation is what was recorded until then."""
    home = tempfile.mkdtemp()
    try:
        library = Library(os.path.join(home, "conversations"))
        journal = library.create(ABOUT)
        journal.commit([Draft(ChatRequest("first"))])
        mark = journal.mark()
        model = Model()
        model.committed = [ChatRequest("first")]
        marked = list(model.committed)
        for word, text in steps:
            if word == "record":
                journal.record([Part(1, MessageDelta(text))])
                model.record(1, text)
            elif word == "reason":
                journal.record([Part(0, ReasoningDelta(text))])
                model.record(0, text)
            elif word == "commit":
                journal.commit([Draft(ToolResponse("1", text)), Draft(ChatRequest(text))])
                model.committed += [ToolResponse("1", text), ChatRequest(text)]
                model.cycles = []
            elif word == "cycle":
                journal.begin_cycle(Origin("p", "m"))
                model.cycles.append({})
            elif word == "discard":
                journal.discard_inflight()
                model.cycles = []
            elif word == "abort":
                journal.rollback(mark)
                model.committed, model.cycles = list(marked), []
            else:
                if word == "kill":
                    library = killed(journal)
                else:
                    journal.close()
                assert events_of(library.read(journal.id)) == model.everything()
                journal = opened(library, journal.id)
                model.committed, model.cycles = model.everything(), []
                assert events_of(journal) == model.committed
                mark, marked = journal.mark(), list(model.committed)
        assert events_of(killed(journal).read(journal.id)) == model.everything()
    finally:
        shutil.rmtree(home)


@pytest.fixture
def two_files(library: Library) -> Iterator[FileJournal]:
    """A conversation with two entries, and a commit of two more that was killed half-way."""
    journal = library.create(ABOUT)
    journal.commit([Draft(ChatRequest("a")), Draft(AssistantMessage("b"))])
    journal.begin_cycle(Origin("p", "m"))
    journal.record(said("Hel"))
    journal.record(said("lo"))
    journal.record([Finished("stop")])
    inflight = content(journal, "inflight.jsonl")
    journal.commit([Draft(AssistantMessage("Hello")), Draft(ToolResponse("1", "r" * 30))])
    line = b",".join(content(journal).splitlines()[2:])
    with open(os.path.join(journal.folder, "inflight.jsonl"), "wb") as file:
        file.write(inflight + b'{"commit":[' + line + b"]}\n")
    journal.close()
    yield journal


def test_events_cut_anywhere_after_the_commit_line_lose_nothing(
    library: Library, two_files: FileJournal
) -> None:
    path = os.path.join(two_files.folder, "events.jsonl")
    inflight = content(two_files, "inflight.jsonl")
    whole = content(two_files)
    committed_before = len(b"".join(whole.splitlines(True)[:2]))
    everything = [
        ChatRequest("a"),
        AssistantMessage("b"),
        AssistantMessage("Hello"),
        ToolResponse("1", "r" * 30),
    ]
    for length in range(committed_before, len(whole) + 1, 2):
        with open(path, "wb") as file:
            file.write(whole[:length])
        with open(os.path.join(two_files.folder, "inflight.jsonl"), "wb") as file:
            file.write(inflight)
        assert events_of(library.read(two_files.id)) == everything, length
        journal = library.open(two_files.id, 0, lambda notice: None)
        journal.close()
        assert events_of(library.read(two_files.id)) == everything, length


def test_inflight_cut_anywhere_shows_what_came_before_the_cut(
    library: Library, two_files: FileJournal
) -> None:
    events = b"".join(content(two_files).splitlines(True)[:2])
    inflight = content(two_files, "inflight.jsonl")
    lengths = []
    for length in range(len(inflight) + 1):
        with open(os.path.join(two_files.folder, "events.jsonl"), "wb") as file:
            file.write(events)
        with open(os.path.join(two_files.folder, "inflight.jsonl"), "wb") as file:
            file.write(inflight[:length])
        recovered = events_of(library.read(two_files.id))[2:]
        lengths.append(sum(len(str(event)) for event in recovered))
        journal = opened(library, two_files.id)
        assert events_of(journal)[2:] == recovered
        journal.close()
        assert events_of(library.read(two_files.id))[2:] == recovered
    assert lengths == sorted(lengths), "a longer file never shows less"
    assert recovered == [AssistantMessage("Hello"), ToolResponse("1", "r" * 30)]


def test_events_cut_anywhere_without_an_inflight_file(
    library: Library, two_files: FileJournal
) -> None:
    os.unlink(os.path.join(two_files.folder, "inflight.jsonl"))
    whole = content(two_files)
    for length in range(len(whole) + 1):
        with open(os.path.join(two_files.folder, "events.jsonl"), "wb") as file:
            file.write(whole[:length])
        saved = library.read(two_files.id)
        lines = whole[:length].split(b"\n")
        torn = bool(lines[-1]) and not lines[-1].endswith(b"}")
        assert len(saved.stream.entries) >= whole[:length].count(b"\n")
        assert len(saved.notices) <= 1 and bool(saved.notices) >= torn
