"""Files as crashes, other programs and later versions leave them."""

from __future__ import annotations

import errno
import json
import os
import shutil
from typing import Any, Dict, List

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.conversation.event import AssistantMessage, ChatRequest, Draft
from jpq.errors import BadInputError, ConversationBusyError, WriteError
from jpq.events.parts import MessageDelta, Part
from jpq.store.journal import FileJournal
from jpq.store.library import Library
from jpq.store.lock import ConversationLock
from jpq.store.reading import read_conversation

ABOUT = {"workspace": "/w", "model": "openai/gpt", "title": None}
LINE = '{{"event_id":"{}","type":"chat_request","content":"{}"}}'
ONE, TWO = LINE.format("aaaaaaa", "one").encode(), LINE.format("bbbbbbb", "two").encode()


@pytest.fixture
def library(tmp_path: Any) -> Library:
    return Library(os.path.join(str(tmp_path), "conversations"))


def talk(library: Library, *words: str) -> FileJournal:
    journal = library.create(ABOUT)
    journal.commit([Draft(ChatRequest(word)) for word in words])
    journal.close()
    return journal


def path(journal: FileJournal, name: str = "events.jsonl") -> str:
    return os.path.join(journal.folder, name)


def put(where: str, data: bytes) -> None:
    with open(where, "wb") as file:
        file.write(data)


def content(where: str) -> bytes:
    with open(where, "rb") as file:
        return file.read()


def asked(library: Library, id: str) -> List[str]:
    events = (entry.event for entry in library.read(id).stream.entries)
    return [event.content for event in events if isinstance(event, ChatRequest)]


@pytest.mark.parametrize(
    ("data", "found", "notices"),
    [
        (b"", [], 0),
        (b"\xef\xbb\xbf" + ONE + b"\r\n" + TWO + b"\r\n", ["one", "two"], 0),
        (ONE + b"\n" + bytes(4096) + TWO + b"\n", ["one", "two"], 0),
        (ONE + b"\n" + TWO + bytes(512), ["one", "two"], 0),
        (ONE + b"\n" + bytes(512) + b"\n" + TWO, ["one", "two"], 1),
        (bytes(8192), [], 1),
        (ONE + b"\n" + TWO[:40], ["one"], 1),
        (ONE + b"\n" + TWO[:40] + b"\n" + TWO, ["one", "two"], 1),
        (b"PK\x03\x04 not ours\n" + ONE, ["one"], 1),
        (b"[1]\n2\nnull\n" + ONE, ["one"], 1),
        (b'{"a":' * 5000 + b"\n" + ONE, ["one"], 1),
    ],
)
def test_what_a_crash_leaves(library: Library, data: bytes, found: List[str], notices: int) -> None:
    journal = talk(library)
    journal = talk(library, "x")
    put(path(journal), data)
    assert asked(library, journal.id) == found
    told: List[str] = []
    again = library.open(journal.id, 0, told.append)
    again.commit([Draft(ChatRequest("after"))])
    again.close()
    assert len(told) == notices
    assert asked(library, journal.id) == [*found, "after"]
    assert content(path(journal)).startswith(data), "nothing is lost but by a repair"


@given(st.binary(max_size=60), st.binary(max_size=30))
def test_any_bytes_can_be_read_and_written_behind(
    tmp_path_factory: Any, data: bytes, flight: bytes
) -> None:
    library = Library(str(tmp_path_factory.mktemp("store")))
    journal = talk(library, "x")
    put(path(journal), ONE + b"\n" + data)
    put(path(journal, "inflight.jsonl"), flight)
    before = asked(library, journal.id)
    again = library.open(journal.id, 0, lambda notice: None)
    again.commit([Draft(ChatRequest("after"))])
    again.close()
    assert asked(library, journal.id) == [*before, "after"] and "one" in before
    shutil.rmtree(journal.folder)


def test_an_event_file_that_is_none_does_not_hang_anybody(library: Library) -> None:
    journal = talk(library, "x")
    os.unlink(path(journal))
    os.mkfifo(path(journal))
    with pytest.raises(BadInputError, match="not a regular file"):
        library.read(journal.id)
    other = talk(library, "y")
    assert [(row.id, row.problem) for row in library.list()] == [
        (other.id, ""),
        (journal.id, "It is not a regular file"),
    ]


@pytest.mark.parametrize(
    ("data", "flight", "problem"),
    [
        (ONE + b"\n" + TWO + b"\n", None, ""),
        (ONE + b"\n" + TWO, None, ""),
        (b"", None, ""),
        (ONE + b"\n" + TWO[:30], None, "1 line of events.jsonl cannot be read"),
        (
            TWO[:30] + b"\n" + ONE + bytes(9) + b"\nx",
            None,
            "2 lines of events.jsonl cannot be read",
        ),
        (ONE + b"\n" + TWO[:30], b'{"commit":[' + TWO + b"]}\n", ""),
    ],
)
def test_list_names_what_is_damaged(
    library: Library, data: bytes, flight: Any, problem: str
) -> None:
    journal = talk(library, "x")
    put(path(journal), data)
    if flight is not None:
        put(path(journal, "inflight.jsonl"), flight)
    (row,) = library.list()
    assert (row.problem, row.size > 0) == (problem, True)
    put(path(journal, "metadata.json"), b"{")
    assert library.list()[0].problem == (problem or "metadata.json cannot be read")


def test_a_newer_version_is_read_and_loses_nothing(library: Library) -> None:
    journal = talk(library, "x")
    metadata = b'{"schema":7,"workspace":"/w","n":1.50e+1,"title":"old" , "new":[ 1 ]}\n'
    put(path(journal, "metadata.json"), metadata)
    line = b'{"event_id":"ccccccc","type":"chat_request","content":"y","n":1.50e+1,"new":{ }}\n'
    unknown = b'{"event_id":"ddddddd","type":"hologram","n":2.0e0 }\n'
    put(path(journal), line + unknown)
    flight = b'{"commit":[{"event_id":"eeeeeee","type":"new","n":3.0e0}]}\n["hum",0,"x"]\n'
    put(path(journal, "inflight.jsonl"), flight)
    assert "newer jpq (schema 7)" in library.read(journal.id).notices[0]
    again = library.open(journal.id, 0, lambda notice: None)
    again.commit([Draft(AssistantMessage("z"))])
    again.set_title("New")
    again.close()
    data = content(path(journal))
    assert data.startswith(line + unknown + b'{"event_id":"eeeeeee","type":"new","n":3.0e0}\n')
    assert content(path(journal, "metadata.json")) == metadata.replace(b'"old"', b'"New"')
    assert content(path(journal, "inflight.jsonl.damaged")) == flight


def test_damaged_metadata_is_kept_when_a_title_is_given(library: Library) -> None:
    journal = talk(library, "x")
    for number in range(2):
        put(path(journal, "metadata.json"), b'{"title": "ol')
        again = library.open(journal.id, 0, pytest.fail)
        again.set_title(f"New {number}")
        again.close()
    assert json.loads(content(path(journal, "metadata.json"))) == {"title": "New 1"}
    assert content(path(journal, "metadata.json.damaged")) == b'{"title": "ol'
    assert content(path(journal, "metadata.json.2.damaged")) == b'{"title": "ol'


def test_a_conversation_that_is_removed_while_in_use_is_told(library: Library) -> None:
    journal = library.create(ABOUT)
    journal.commit([Draft(ChatRequest("x"))])
    journal.record([Part(0, MessageDelta("hel"))])
    shutil.rmtree(journal.folder)
    journal.record([Part(0, MessageDelta("lo"))])
    with pytest.raises(WriteError, match="removed while it was in use"):
        journal.commit([Draft(AssistantMessage("hello"))])
    journal.close()
    assert not os.path.exists(journal.folder), "what a person removed does not come back"


def test_a_clock_that_goes_back_changes_neither_order_nor_which_is_last(tmp_path: Any) -> None:
    now = [1_800_000_000.0]
    library = Library(os.path.join(str(tmp_path), "conversations"), clock=lambda: now[0])
    first = library.create(ABOUT)
    first.commit([Draft(ChatRequest("a"))])
    now[0] = 5.0
    first.commit([Draft(ChatRequest("b"))])
    first.close()
    times = [entry.timestamp for entry in library.read(first.id).stream.entries]
    assert times == sorted(times)
    second = library.create(ABOUT)
    second.commit([Draft(ChatRequest("c"))])
    second.close()
    os.utime(path(second), (5, 5))
    assert library.last("/w") == second.id
    now[0] = -5.0
    library.create(ABOUT).close()


class NoLocks:
    """A file system that has none, as the kernel says it."""

    def __init__(self, code: int) -> None:
        self.code = code

    def __call__(self, descriptor: int) -> None:
        raise OSError(self.code, os.strerror(self.code))


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_one_writer_at_a_time_without_the_kernels_locks(library: Library, code: int) -> None:
    folder = talk(library, "x").folder
    first, second = (ConversationLock(folder, NoLocks(code)) for _ in range(2))
    first.acquire(0, pytest.fail)
    with pytest.raises(ConversationBusyError) as busy:
        second.acquire(0, pytest.fail)
    assert f"process {os.getpid()}" in busy.value.where
    first.release()
    second.acquire(0, pytest.fail)
    second.release()
    assert "lock.owner" not in os.listdir(folder)


@pytest.mark.parametrize(
    ("change", "free"),
    [
        ({"process": 2**22 + 1}, True),  # above any number a process has
        ({"started": "1"}, True),  # the number belongs to another process by now
        ({"host": "elsewhere", "process": 2**22 + 1}, False),
        ({}, False),
    ],
)
def test_the_owner_file_of_a_process_that_is_gone(
    library: Library, change: Dict[str, Any], free: bool
) -> None:
    folder = talk(library, "x").folder
    lock = ConversationLock(folder, NoLocks(errno.ENOLCK))
    lock.acquire(0, pytest.fail)
    owner = os.path.join(folder, "lock.owner")
    put(owner, json.dumps({**json.loads(content(owner)), **change}).encode())
    other = ConversationLock(folder, NoLocks(errno.ENOLCK))
    if free:
        other.acquire(0, pytest.fail)
        other.release()
    else:
        with pytest.raises(ConversationBusyError):
            other.acquire(0, pytest.fail)
    lock.release()


def test_reading_needs_no_lock_and_no_permission_to_write(library: Library) -> None:
    journal = talk(library, "x")
    before = {name: content(path(journal, name)) for name in os.listdir(journal.folder)}
    assert len(read_conversation(journal.folder).stream.entries) == 1
    assert {name: content(path(journal, name)) for name in os.listdir(journal.folder)} == before
