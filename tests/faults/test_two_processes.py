"""Two jpq on one conversation: one writes, the other waits or says that it cannot."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any, Dict, Iterator, List

import pytest

from jpq.cli.conversation_text import as_json, as_text
from jpq.store.library import Library
from jpq.store.reading import SavedConversation
from tests.support.ptys import Child, environment, jpq, run
from tests.support.server import DONE, FINISH, Pause, Server, chunk, delta, head, sse

BUSY = 75


class Held:
    """A workspace whose only conversation a jpq writes, until ``end`` is set."""

    def __init__(self, folder: str, server: Server, end: threading.Event) -> None:
        self.folder = folder
        self.environ = environment(os.path.join(folder, "home"))
        self.server = server
        self.end = end
        self.child = Child(self.query("first"), self.environ, folder, terminal=False)

    def query(self, *arguments: str) -> List[str]:
        setting = f"providers.custom.base_url={self.server.url}"
        return jpq("-m", "custom/test", "--set", setting, *arguments)

    def run(self, *arguments: str) -> Child:
        return run(self.query(*arguments), self.environ, self.folder)

    def saved(self) -> SavedConversation:
        library = Library(os.path.join(self.folder, "home", "data", "conversations"))
        (id,) = library.ids()
        return library.read(id)

    def entries(self) -> List[Dict[str, Any]]:
        return list(as_json(self.saved())["entries"])


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Held]:
    end = threading.Event()
    half = [head(), *(chunk(event) for event in sse(delta("Half")))]
    rest = [*(chunk(event) for event in sse(delta(" and half."), FINISH, DONE)), b"0\r\n\r\n"]
    with Server([*half, Pause(end), *rest]) as server:
        held = Held(str(tmp_path), server, end)
        with held.child as child:
            child.wait_for(b"Half")
            yield held
            end.set()


def test_the_second_waits_says_so_and_gives_up(held: Held) -> None:
    second = held.run("--set", "conversation.lock_wait_s=0.2", "-c", "second")
    told = second.errors.decode()
    assert second.process.returncode == BUSY
    assert told.count("in use by another jpq; waiting up to 0.2 s") == 1
    assert len(told.splitlines()) <= 5 and "without -c" in told
    assert len(held.server.seen) == 1, "nothing was sent"
    held.end.set()
    assert held.child.end() == 0
    assert "Half and half." in as_text(held.saved())


def test_the_second_goes_on_when_the_first_is_done(held: Held) -> None:
    second = Child(held.query("-c", "second"), held.environ, held.folder, terminal=False)
    with second:
        second.wait_for(b"waiting up to 10 s", on_errors=True)
        held.end.set()
        assert (held.child.end(), second.end()) == (0, 0)
    kinds = [entry["type"] for entry in held.entries()]
    assert kinds == 2 * ["chat_request", "chat_response", "turn_end"], "one turn after the other"
    sent = held.server.seen[-1].json["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert sent[1]["content"] == "Half and half."


def test_a_kill_frees_the_conversation(held: Held) -> None:
    held.child.signal(signal.SIGKILL)
    assert held.child.end() == -signal.SIGKILL
    held.end.set()
    second = held.run("--set", "conversation.lock_wait_s=0", "-c", "second")
    assert (second.process.returncode, second.errors) == (0, b"")
    assert "You:\nfirst\n\nAssistant:\nHalf\n\nYou:\nsecond" in as_text(held.saved())


def test_what_is_in_use_is_not_removed(held: Held) -> None:
    id = held.saved().id
    removal = run(jpq("conversation", "rm", id), held.environ, held.folder)
    assert removal.process.returncode == BUSY
    assert b"in use" in removal.errors
    held.end.set()
    assert held.child.end() == 0
    assert "Half and half." in as_text(held.saved())


def test_reading_waits_for_nobody(held: Held) -> None:
    shown = run(jpq("conversation", "show"), held.environ, held.folder)
    assert (shown.process.returncode, b"Half" in shown.output) == (0, True)
