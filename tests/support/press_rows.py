"""From the key to what it does, where one process is pressed once, or there is no menu."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from typing import Callable, Dict, Iterator, List

from jpq.conversation.event import ChatRequest, Draft
from jpq.interrupt.menus import Place
from jpq.store.library import Library
from tests.support.chatting import Desk
from tests.support.pressing import MARK, PRESS, Stage, calls, press, wait_until
from tests.support.ptys import Child, jpq
from tests.support.server import DONE, Pause, Server, answer, reply, unanswering
from tests.support.signalled import HELD

Row = Callable[[str, int], Iterator[float]]


def connecting(folder: str, presses: int) -> Iterator[float]:
    """The menu, while a connection is made."""
    stage = Stage(folder)
    with unanswering() as port:
        url = f"providers.custom.base_url=http://127.0.0.1:{port}/v1"
        patient = ("--set", "request.connect_timeout_s=60", "-v", "go")
        argv = jpq("-m", "custom/test", "--set", url, *patient)
        with Child(argv, stage.environ, folder, terminal=True) as child:
            child.wait_for(b"conversation ")
            for _ in range(presses):
                yield press(child, MARK[Place.STREAMING])
                del child.output[:]
                child.type(b"c")
                child.wait_for(b"\x1b[J")
            press(child, MARK[Place.STREAMING])
            child.type(b"s")
            assert child.end() == 0


def committing(folder: str, presses: int) -> Iterator[float]:
    """The menu, while the disk takes its time over the results of tools."""
    for number in range(presses):
        stage = Stage(os.path.join(folder, str(number)))
        stage.let_tools_go()
        stage.environ["JPQ_TEST_POINTS"] = os.path.join(stage.folder, "points")
        script = reply(*calls(("slow", '{"n": 1}')), DONE)
        with Server(script, answer("Fine.")) as server:
            url = f"providers.custom.base_url={server.url}"
            program = [sys.executable, "-m", "tests.support.signalled", "call:commit_left", "0"]
            argv = [*program, "-m", "custom/test", "--set", url, "go"]
            with Child(argv, stage.environ, stage.folder, terminal=True) as child:
                child.wait_for(HELD)
                yield press(child, MARK[Place.BETWEEN])
                child.type(b"c")
                child.wait_for(b"Fine.")
                assert child.end() == 0


def chat_input(folder: str, presses: int) -> Iterator[float]:
    """How to leave a chat, at its empty prompt."""
    with Server() as server, Desk(folder).chat(server) as child:
        for _ in range(presses):
            yield press(child, b"Ctrl+D leaves the chat.")
            child.wait_for(b"You:")
        child.type(b"\x04")
        assert child.end() == 0


def conversation_grep(folder: str, presses: int) -> Iterator[float]:
    """The end of a search that would take for ever."""
    stage = Stage(folder)
    library = Library(os.path.join(folder, "home", "data", "conversations"))
    journal = library.create({"title": "", "workspace": folder, "model": "custom/test"})
    journal.commit([Draft(ChatRequest("a" * 64 + "!"))])
    journal.close()
    argv = jpq("conversation", "grep", "(a+)+$")
    assert re.search("a+", "a"), "the pattern is one that Python tries in many ways"
    for _ in range(presses):
        with Child(argv, stage.environ, folder, terminal=True) as child:
            wait_until(lambda: _cpu_s(child.process.pid) > 0.5)
            yield _to_its_end(child)


def models_install(folder: str, presses: int) -> Iterator[float]:
    """The end of a download, and of pip."""
    stage = Stage(folder)
    stage.environ["PIP_CONFIG_FILE"] = os.devnull
    with Server(*[[Pause(stage.end)]] * presses) as index:
        stage.environ["PIP_INDEX_URL"] = f"http://127.0.0.1:{index.port}/simple"
        try:
            for number in range(presses):
                argv = jpq("models", "install", "smollm2")
                with Child(argv, stage.environ, folder, terminal=True) as child:
                    wait_until(lambda at=number: len(index.seen) > at)  # type: ignore[misc]
                    yield _to_its_end(child)
        finally:
            stage.end.set()
    models = os.path.join(folder, "home", "data", "models")
    assert not [name for _, _, names in os.walk(models) for name in names if "gguf" in name]


def _to_its_end(child: Child) -> float:
    pressed = time.monotonic()
    child.type(PRESS)
    assert child.end() == -signal.SIGINT, child.output
    taken = time.monotonic() - pressed
    assert b"Traceback" not in child.output
    return taken


def _cpu_s(pid: int) -> float:
    """How long a process has worked. Linux only."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[11]) / os.sysconf("SC_CLK_TCK")


ROWS: Dict[str, Row] = {
    "connecting": connecting,
    "committing": committing,
    "chat input (how to leave it)": chat_input,
    "`conversation grep` (the end)": conversation_grep,
    "`models install` (the end)": models_install,
}


def times_of(name: str, folder: str, presses: int) -> List[float]:
    """The seconds of each press."""
    return list(ROWS[name](folder, presses))
