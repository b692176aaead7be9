"""The store under real processes: killed, waiting for each other, and out of room."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from typing import Any, Iterator, List

import pytest

from jpq.conversation.event import AssistantMessage, ChatRequest, Draft
from jpq.errors import BadInputError, ConversationBusyError
from jpq.store.library import Library
from jpq.store.lock import ConversationLock

WAIT_S = 60.0
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

HEAD = """
import os, resource, signal, sys
from jpq.conversation.event import AssistantMessage, ChatRequest, Draft
from jpq.errors import WriteError
from jpq.events.parts import Finished, MessageDelta, Part
from jpq.store.library import Library

def say(text):
    os.write(1, text.encode() + b"\\n")

library = Library(sys.argv[1])
"""


@pytest.fixture
def folder(tmp_path: Any) -> str:
    return os.path.join(str(tmp_path), "conversations")


@pytest.fixture
def children() -> Iterator[List[subprocess.Popen[bytes]]]:
    started: List[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


def run(children: List[Any], folder: str, *code: str) -> subprocess.Popen[bytes]:
    """A Python process that runs the pieces of ``code`` on the library in ``folder``."""
    process = subprocess.Popen(
        [sys.executable, "-c", HEAD + "".join(map(textwrap.dedent, code)), folder],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    children.append(process)
    return process


def lines(process: subprocess.Popen[bytes]) -> List[str]:
    """Everything the process prints until it ends, which it does by itself."""
    output = process.communicate(timeout=WAIT_S)[0]
    assert process.returncode == 0
    return output.decode().splitlines()


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
@pytest.mark.parametrize("after", [1, 2, 7, 30, 100, 250, 600])
def test_what_a_killed_process_had_shown_is_there(
    children: List[Any], folder: str, after: int
) -> None:
    """The child prints each piece after it was recorded, and commits every tenth cycle."""
    process = run(
        children,
        folder,
        """
        journal = library.create({"workspace": "/w"})
        say(journal.id)
        for cycle in range(1000):
            journal.begin_cycle()
            pieces = [f"<{cycle}.{piece}>" for piece in range(8)]
            for piece in pieces:
                journal.record([Part(0, MessageDelta(piece))])
                say(piece)
            journal.record([Finished("stop")])
            journal.commit([Draft(AssistantMessage("".join(pieces)))])
        """,
    )
    assert process.stdout is not None
    id = process.stdout.readline().decode().strip()
    shown = [process.stdout.readline() for _ in range(after)]
    process.send_signal(signal.SIGKILL)
    shown += process.stdout.read().splitlines(True)
    process.wait()
    screen = b"".join(shown).replace(b"\n", b"").decode()

    def stored(entries: Any) -> str:
        return "".join(e.event.text for e in entries if isinstance(e.event, AssistantMessage))

    library = Library(folder)
    saved = stored(library.read(id).stream.entries)
    assert saved.startswith(screen)
    assert len(saved) - len(screen) <= len("<999.7>"), "recorded at most one piece ahead"
    journal = library.open(id, 0, pytest.fail)
    assert stored(journal.stream.entries) == saved
    journal.close()
    assert stored(library.read(id).stream.entries) == saved


def test_a_second_process_waits_says_so_once_and_gives_up(children: List[Any], folder: str) -> None:
    holder = run(
        children,
        folder,
        """
        journal = library.create({"workspace": "/w"})
        journal.commit([Draft(ChatRequest("mine"))])
        say(journal.id)
        sys.stdin.read()
        journal.commit([Draft(ChatRequest("mine too"))])
        journal.close()
        """,
    )
    assert holder.stdout is not None and holder.stdin is not None
    id = holder.stdout.readline().decode().strip()
    library = Library(folder)
    notices: List[str] = []
    with pytest.raises(ConversationBusyError) as raised:
        library.open(id, 2.0, notices.append)  # far longer than one look takes
    assert len(notices) == 1 and "in use" in notices[0]
    assert raised.value.exit_code == 75 and raised.value.hint
    with pytest.raises(ConversationBusyError):
        library.open(id, 0, pytest.fail)
    assert len(library.read(id).stream.entries) == 1, "reading waits for nobody"

    def end_holder(seconds: float) -> None:
        if not holder.stdin.closed:
            holder.stdin.close()
        holder.wait(WAIT_S)

    journal = library.open(id, WAIT_S, notices.append, sleep=end_holder)
    journal.commit([Draft(AssistantMessage("yours"))])
    journal.close()
    texts = [entry.event[0] for entry in library.read(id).stream.entries]
    assert texts == ["mine", "mine too", "yours"]


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_killed_process_leaves_no_lock(children: List[Any], folder: str) -> None:
    holder = run(
        children,
        folder,
        """
        journal = library.create({"workspace": "/w"})
        journal.commit([Draft(ChatRequest("x"))])
        say(journal.id)
        sys.stdin.read()
        """,
    )
    assert holder.stdout is not None
    id = holder.stdout.readline().decode().strip()
    holder.kill()
    holder.wait()
    Library(folder).open(id, 0, pytest.fail).close()


def test_two_writers_never_interleave(children: List[Any], folder: str) -> None:
    journal = Library(folder).create({"workspace": "/w"})
    journal.commit([Draft(ChatRequest("x"))])
    journal.close()
    code = """
        for turn in range(15):
            journal = library.open(ID, 60, lambda notice: None, sleep=lambda seconds: None)
            journal.record([Part(0, MessageDelta("x"))])
            journal.commit([Draft(ChatRequest(f"{os.getpid()} {turn} {n}")) for n in range(3)])
            journal.close()
        """.replace("ID", repr(journal.id))
    writers = [run(children, folder, code) for _ in range(2)]
    for writer in writers:
        lines(writer)
    saved = Library(folder).read(journal.id)
    assert saved.notices == ()
    said = [entry.event.content.split() for entry in saved.stream.entries[1:]]
    assert len(said) == 90
    for start in range(0, 90, 3):
        turns = said[start : start + 3]
        assert len({(pid, turn) for pid, turn, _ in turns}) == 1
        assert [n for _, _, n in turns] == ["0", "1", "2"]


def test_a_tool_that_outlives_jpq_does_not_hold_the_lock(folder: str) -> None:
    library = Library(folder)
    journal = library.create({"workspace": "/w"})
    journal.commit([Draft(ChatRequest("x"))])
    tool = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"],
        stdin=subprocess.PIPE,
        close_fds=False,
    )
    try:
        journal.close()
        library.open(journal.id, 0, pytest.fail).close()
    finally:
        tool.communicate()


def test_a_conversation_removed_while_its_lock_was_waited_for(folder: str) -> None:
    library = Library(folder)
    journal = library.create({"workspace": "/w"})
    journal.commit([Draft(ChatRequest("x"))])
    waiting = ConversationLock(journal.folder)

    def remove_it(seconds: float) -> None:
        journal.close()
        library.remove(journal.id)

    with pytest.raises(BadInputError, match="removed"):
        waiting.acquire(30, lambda notice: None, sleep=remove_it)


FULL = """
        journal = library.create({"workspace": "/w"})
        journal.commit([Draft(ChatRequest("before"))])
        mark = journal.mark()
        say(journal.id)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
        failures = 0
        for piece in range(100):
            try:
                journal.record([Part(0, MessageDelta(f"<{piece}>"))])
            except WriteError as error:
                failures += 1
                reason = (error.message, error.where, int(error.exit_code))
        say(f"{failures > 0} {reason}")
        text = "".join(f"<{piece}>" for piece in range(100))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no RLIMIT_FSIZE")
@pytest.mark.parametrize("limit", [200, 203, 1000])
def test_no_room_while_the_answer_arrives(children: List[Any], folder: str, limit: int) -> None:
    """Old data whole, the system's reason told, and what fitted is there."""
    id, failed = lines(run(children, folder, f"room = {limit}", FULL))
    assert failed.startswith("True") and "File too large" in failed and "74" in failed
    assert os.path.join(folder, id, "inflight.jsonl") in failed
    first, partial = Library(folder).read(id).stream.entries
    assert first.event == ChatRequest("before")
    whole = "".join(f"<{piece}>" for piece in range(100))
    assert partial.event.text and whole.startswith(partial.event.text)


@pytest.mark.skipif(sys.platform == "win32", reason="no RLIMIT_FSIZE")
def test_no_room_to_commit(children: List[Any], folder: str) -> None:
    """The file is as before; once there is room the next commit writes everything."""
    code = """
        def size():
            return os.path.getsize(os.path.join(journal.folder, "events.jsonl"))
        before = size()
        for attempt in range(2):
            try:
                journal.commit([Draft(AssistantMessage(text))])
            except WriteError as error:
                say(f"{size() == before} {error.message}")
        say(str(len(journal.stream.entries)))
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        journal.commit([Draft(ChatRequest("after"))])
        journal.close()
        """
    id, _, first, second, count = lines(run(children, folder, "room = 400", FULL, code))
    assert first == second == "True Cannot save the conversation: File too large."
    assert count == "3"
    whole = "".join(f"<{piece}>" for piece in range(100))
    saved = Library(folder).read(id)
    events = [entry.event for entry in saved.stream.entries]
    answer = AssistantMessage(whole)
    assert events == [ChatRequest("before"), answer, answer, ChatRequest("after")]
    assert (saved.recovered, saved.notices) == (0, ())


@pytest.mark.skipif(sys.platform == "win32", reason="no RLIMIT_FSIZE")
def test_room_again_before_the_commit_loses_nothing(children: List[Any], folder: str) -> None:
    code = """
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        journal.record([Part(0, MessageDelta("<100>"))])
        os.kill(os.getpid(), signal.SIGKILL)
        """
    process = run(children, folder, "room = 500", FULL, code)
    id = process.communicate(timeout=WAIT_S)[0].decode().split()[0]
    whole = "".join(f"<{piece}>" for piece in range(101))
    assert Library(folder).read(id).stream.entries[-1].event == AssistantMessage(whole)


@pytest.mark.skipif(sys.platform == "win32", reason="no RLIMIT_FSIZE")
def test_no_room_for_what_a_killed_process_left(children: List[Any], folder: str) -> None:
    """The conversation opens all the same, and the failure is told by the next commit."""
    library = Library(folder)
    journal = library.create({"workspace": "/w"})
    journal.commit([Draft(ChatRequest("a"))])
    code = """
        from jpq.conversation.thread import build_thread
        journal = library.open(ID, 0, say)
        journal.record([Part(0, MessageDelta("x" * 300))])
        os.kill(os.getpid(), signal.SIGKILL)
        """.replace("ID", repr(journal.id))
    journal.close()
    run(children, folder, code).wait(WAIT_S)
    code = """
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, resource.RLIM_INFINITY))
        journal = library.open(ID, 0, say)
        say(journal.stream.entries[-1].event.text)
        try:
            journal.commit([Draft(ChatRequest("b"))])
        except WriteError as error:
            say(error.message)
        """.replace("ID", repr(journal.id))
    text, message = lines(run(children, folder, code))
    assert text == "x" * 300 and "File too large" in message
    found = [entry.event for entry in library.read(journal.id).stream.entries]
    assert found == [ChatRequest("a"), AssistantMessage("x" * 300)]
