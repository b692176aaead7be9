"""The library: creating, finding, listing and removing conversations."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from typing import Any, Iterator, List

import pytest

from jpq.conversation.event import AssistantMessage, ChatRequest, Draft, TurnEnd
from jpq.errors import BadInputError, ConversationBusyError, WriteError
from jpq.events.parts import Finished, MessageDelta, Part
from jpq.store import summary as summaries
from jpq.store.library import Library
from jpq.store.summary import Summary
from jpq.store.workspace import workspace_of

END = TurnEnd("complete", "stop", {}, "m")


class Clock:
    """Seconds since the epoch, one more at every look."""

    def __init__(self) -> None:
        self.now = 1777809600.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


@pytest.fixture
def folder(tmp_path: Any) -> str:
    return os.path.join(str(tmp_path), "data", "conversations")


@pytest.fixture
def library(folder: str) -> Library:
    return Library(folder, Clock())


def talk(library: Library, text: str, workspace: str = "/w", **about: Any) -> str:
    journal = library.create({"workspace": workspace, "model": "a/b", **about})
    journal.commit([Draft(ChatRequest(text)), Draft(AssistantMessage("ok")), Draft(END)])
    journal.close()
    return journal.id


def test_a_library_that_does_not_exist_is_empty(library: Library) -> None:
    assert library.ids() == [] and library.list() == []
    assert library.last("/w") is None


def test_ids_sort_by_time_and_make_a_path(library: Library) -> None:
    ids = [talk(library, "x") for _ in range(3)]
    assert library.ids() == ids == sorted(ids)
    assert all(id.isalnum() and id == id.lower() and len(id) == 11 for id in ids)


@pytest.mark.skipif(sys.platform == "win32", reason="file modes are POSIX")
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_files_are_private_whatever_the_umask(folder: str, umask: int) -> None:
    os.makedirs(os.path.dirname(folder))
    before = os.umask(umask)
    try:
        library = Library(folder)
        journal = library.create({"workspace": "/w"})
        journal.begin_cycle()
        journal.set_title("t")
        names = os.listdir(journal.folder)
        assert "inflight.jsonl" in names
        modes = {stat.S_IMODE(os.stat(os.path.join(journal.folder, n)).st_mode) for n in names}
        assert modes == {0o600}
        assert stat.S_IMODE(os.stat(journal.folder).st_mode) == 0o700
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        journal.close()
    finally:
        os.umask(before)


def test_the_last_conversation_of_a_workspace_is_the_one_written_last(library: Library) -> None:
    first, _, third = talk(library, "1"), talk(library, "2", "/other"), talk(library, "3")
    for age, id in enumerate((third, first)):
        os.utime(os.path.join(library.path(id), "events.jsonl"), (9 - age, 9 - age))
    assert library.last("/w") == third, "as noted"
    shutil.rmtree(os.path.join(os.path.dirname(library.path(first)), ".last"))
    assert library.last("/w") == third, "as the files say"
    with open(os.path.join(library.path(first), "inflight.jsonl"), "wb"):
        pass  # a turn that was killed counts as written
    assert library.last("/w") == first
    assert library.last("/none") is None


def test_list_says_what_each_conversation_is(library: Library) -> None:
    one = talk(library, "What is this?\nTell me " + "much " * 50)
    two = talk(library, "x", title="Titled")
    journal = library.open(one, 0, pytest.fail)
    journal.commit([Draft(ChatRequest('and "type":"chat_request" again'))])
    journal.close()
    rows = library.list()
    assert [row.id for row in rows] == [one, two]
    assert rows[1] == Summary(
        id=two,
        title="Titled",
        created_at=rows[1].created_at,
        updated_at=rows[1].updated_at,
        workspace="/w",
        model="a/b",
        turns=1,
        status="complete",
        size=rows[1].size,
    )
    assert rows[1].created_at < rows[1].updated_at
    assert (rows[0].turns, rows[0].status) == (2, "interrupted")
    assert rows[0].title is not None and rows[0].title.startswith("What is this? Tell me much")
    assert len(rows[0].title) == 60


def test_list_knows_what_a_killed_process_had_not_committed(library: Library) -> None:
    journal = library.open(talk(library, "x"), 0, pytest.fail)
    journal.commit([Draft(ChatRequest("y"))])
    journal.begin_cycle()
    journal.record([Part(0, MessageDelta("The whole answer."))])
    assert [(row.turns, row.status) for row in library.list()] == [(2, "interrupted")]
    journal.record([Finished("stop")])
    journal.close()
    assert [(row.turns, row.status) for row in library.list()] == [(2, "complete")]
    assert library.read(journal.id).recovered == 2


def test_list_reads_lines_that_others_wrote(library: Library) -> None:
    id = talk(library, "x")
    with open(os.path.join(library.path(id), "events.jsonl"), "ab") as file:
        file.write(b'{ "type": "chat_request", "timestamp": "2030-01-01T00:00:00.000Z" }\n')
        file.write(b'garbage\n{"type":"turn_end","status":"limited"}\n{"type":"new"}')
    (row,) = library.list()
    assert (row.turns, row.status, row.updated_at) == (2, "limited", "2030-01-01T00:00:00.000Z")


def test_damaged_and_foreign_folders(library: Library, folder: str) -> None:
    id = talk(library, "x")
    with open(os.path.join(library.path(id), "metadata.json"), "wb") as file:
        file.write(b"\0" * 40)
    os.mkdir(os.path.join(folder, "empty"))
    os.mkdir(os.path.join(folder, ".hidden"))
    with open(os.path.join(folder, "a-file"), "wb"):
        pass
    os.makedirs(os.path.join(folder, "odd", "events.jsonl"))
    (row,) = library.list()
    assert (row.id, row.title, row.workspace, row.turns) == (id, "x", "", 1)
    assert library.last("/w") is None


def test_list_parses_no_bodies(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    talk(library, "x", title="t")
    parsed: List[bytes] = []
    real = summaries.decode_entry
    monkeypatch.setattr(summaries, "decode_entry", lambda line: parsed.append(line) or real(line))
    library.list()
    assert len(parsed) == 1 and b"turn_end" in parsed[0]


def test_a_conversation_is_named_by_id_prefix_or_title(library: Library) -> None:
    one = talk(library, "x", title="Sky and sea")
    two = talk(library, "x", title="Sky")
    assert library.resolve(one) == one
    assert library.resolve(one[:-1]) == one
    assert library.resolve("sky") == two
    assert library.resolve("AND SEA") == one
    for text, problem in [("s", "more than one"), (one[:3], "more"), ("zz", "no"), ("", "no")]:
        with pytest.raises(BadInputError, match=problem):
            library.resolve(text)


@pytest.mark.parametrize("id", ["", "..", "../x", "nothing", "/etc"])
def test_what_is_no_conversation_cannot_be_opened(library: Library, id: str) -> None:
    for use in (library.read, library.remove, library.path):
        with pytest.raises(BadInputError):
            use(id)
    with pytest.raises(BadInputError):
        library.open(id, 0, pytest.fail)


def test_remove(library: Library, folder: str) -> None:
    kept, gone = talk(library, "x"), talk(library, "y")
    outputs = os.path.join(library.path(gone), "tool-output")
    os.mkdir(outputs)
    os.symlink(library.path(kept), os.path.join(outputs, "link"))
    os.rename(library.path(talk(library, "z")), os.path.join(folder, ".removed-z"))
    library.remove(gone)
    assert sorted(os.listdir(folder)) == [".last", kept]
    assert len(library.read(kept).stream.entries) == 3


def test_a_conversation_in_use_is_not_removed(library: Library) -> None:
    journal = library.create({"workspace": "/w"})
    journal.commit([Draft(ChatRequest("x"))])
    with pytest.raises(ConversationBusyError):
        library.remove(journal.id)
    journal.close()
    library.remove(journal.id)


@pytest.fixture
def read_only(folder: str) -> Iterator[str]:
    if sys.platform == "win32" or os.geteuid() == 0:
        # Root writes everywhere; a name below a file cannot be created by anybody.
        os.makedirs(os.path.dirname(folder))
        with open(folder, "wb"):
            pass
        yield folder
        return
    os.makedirs(folder)
    os.chmod(folder, 0o500)
    yield folder
    os.chmod(folder, 0o700)


def test_a_folder_that_cannot_be_written_is_named(read_only: str) -> None:
    with pytest.raises(WriteError) as raised:
        Library(read_only).create({"workspace": "/w"})
    assert raised.value.where == read_only
    assert raised.value.message and raised.value.hint


@pytest.mark.parametrize("mark", [".git", ".jpq"])
def test_workspace_is_the_nearest_marked_folder(tmp_path: Any, mark: str) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / mark).mkdir()
    (tmp_path / "a" / ".git").write_text("gitdir: elsewhere")
    assert workspace_of(str(deep)) == os.path.realpath(tmp_path / "a")
    assert workspace_of(str(tmp_path)) == os.path.realpath(tmp_path)


def test_without_a_mark_the_workspace_is_the_folder_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "lexists", lambda path: False)
    assert workspace_of("/usr/lib") == os.path.realpath("/usr/lib")


def test_what_was_just_read_is_not_read_again_unless_it_changed(library: Library) -> None:
    id = talk(library, "x")
    saved = library.read(id)
    journal = library.open(id, 0, pytest.fail)
    assert journal.stream is saved.stream
    journal.commit([Draft(ChatRequest("y"))])
    journal.close()
    for change in ("events", "inflight"):
        saved = library.read(id)
        other = Library(os.path.dirname(library.path(id))).open(id, 0, pytest.fail)
        if change == "events":
            other.commit([Draft(ChatRequest("z"))])
        else:
            other.begin_cycle()
        other.close()
        journal = library.open(id, 0, pytest.fail)
        assert journal.stream is not saved.stream
        assert journal.stream.entries[-1].event == ChatRequest("z")
        journal.close()
