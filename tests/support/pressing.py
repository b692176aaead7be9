"""Turns that stand still in any phase, on a real terminal, so that a test can press keys there."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from jpq.conversation.event import ChatRequest, Draft
from jpq.conversation.thread import build_thread
from jpq.interrupt.menus import MENUS, Place
from jpq.provider.base import ProviderRequest, ProviderRow, ToolDefinition
from jpq.provider.registry import load_api
from jpq.store.library import Library
from jpq.store.reading import SavedConversation
from tests.support import (
    validators_anthropic,
    validators_chat,
    validators_google,
    validators_ollama,
    validators_responses,
)
from tests.support.ptys import Child, environment, jpq
from tests.support.server import (
    DONE,
    FINISH,
    LAST_CHUNK,
    Pause,
    Server,
    Step,
    answer,
    chunk,
    delta,
    error,
    head,
    reply,
    sse,
)

PRESS = b"\x03"
MARK = {place: MENUS[place][-1].words.encode() + b"  [?] " for place in Place}
WAIT_S = 15.0
# Several turns of one phase stand still while the others are played.
PATIENCE_S = 100.0

# A tool that says something, tells each run in a file, and goes on once another file is there.
SLOW = """
[tools.slow]
description = "Takes its time"
command = [
    "sh", "-c", 'echo begun; echo "$1" >> runs; while [ ! -e go ]; do sleep 0.02; done; echo over',
    "_", "{n}",
]
parameters.n = { type = "integer", required = true }
display = { title = "Slow {n}" }
run = "unattended"

[tools.asks]
description = "Is asked about"
command = ["sh", "-c", 'echo "$1" >> runs; echo over', "_", "{n}"]
parameters.n = { type = "integer", required = true }
run = "ask"

[tools.shows]
description = "Shows its result first"
command = ["sh", "-c", 'echo "$1" >> runs; echo over', "_", "{n}"]
parameters.n = { type = "integer", required = true }
run = "unattended"
result = "ask"
"""

_CHECKS: Dict[str, Callable[[Any], None]] = {
    "openai-chat": validators_chat.check_request,
    "openai-responses": validators_responses.check_request,
    "anthropic": validators_anthropic.check_request,
    "google": validators_google.check_request,
    "ollama": validators_ollama.check_request,
}
_TOOL = ToolDefinition("slow", "Takes its time", {"type": "object", "properties": {"n": {}}})


class Scene(NamedTuple):
    """A phase to press keys in: the server's scripts, what is to be seen when it is reached
    (bytes on the terminal, or a number of runs of tools), and the menu that opens there."""

    scripts: Callable[[threading.Event], Sequence[Sequence[Step]]]
    seen: Any
    place: Place
    options: Tuple[str, ...] = ()


def events(*values: Any) -> List[Step]:
    """A streamed reply with these values that has not ended yet."""
    return [head(), *(chunk(event) for event in sse(*values))]


def rest(*values: Any) -> List[Step]:
    """How a reply that was begun ends."""
    return [*(chunk(event) for event in sse(*values, FINISH, DONE)), LAST_CHUNK]


def reasoning(text: str) -> Dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"reasoning_content": text}}]}


def calls(*named: Tuple[str, str], whole: bool = True) -> List[Any]:
    """Chunks with calls: pairs of a name and the arguments' JSON."""
    made = [
        {"index": n, "id": f"call_{n}", "function": {"name": name, "arguments": arguments}}
        for n, (name, arguments) in enumerate(named)
    ]
    body = {"choices": [{"index": 0, "delta": {"tool_calls": made}}]}
    if not whole:
        return [body]
    return [body, {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}]


def slow(count: int) -> List[Step]:
    """A whole reply that calls the slow tool so many times."""
    return reply(*calls(*(("slow", f'{{"n": {n}}}') for n in range(count))), DONE)


def _asking(tool: str) -> List[Step]:
    return reply(*calls((tool, '{"n": 0}')), DONE)


def _streaming(*values: Any) -> Callable[[threading.Event], Sequence[Sequence[Step]]]:
    def scripts(end: threading.Event) -> Sequence[Sequence[Step]]:
        begun = events(*values) if values else []
        ending = rest(delta(" and more.")) if begun else answer("Late.")
        return [[*begun, Pause(end, PATIENCE_S), *ending], answer("Fine.")]

    return scripts


def _then(*first: Step) -> Callable[[threading.Event], Sequence[Sequence[Step]]]:
    return lambda end: [list(first), answer("Fine.")]


_BUSY = error("503 Busy", b"{}", "application/json", "Retry-After: 40")
_QUESTION = reply(*calls(("ask_user", '{"question": "Which one?"}')), DONE)

SCENES: Dict[str, Scene] = {
    "before the first byte": Scene(_streaming(), None, Place.STREAMING),
    "text": Scene(_streaming(delta("Half an "), delta("answer")), b"answer", Place.STREAMING),
    "reasoning": Scene(_streaming(reasoning("Hmm, well")), b"Hmm, well", Place.STREAMING),
    "arguments of a call": Scene(
        _streaming(delta("I look."), *calls(("slow", '{"n'), whole=False)),
        b"I look.",
        Place.STREAMING,
    ),
    "backoff": Scene(_then(*_BUSY), b"Attempt 2 of", Place.BACKOFF),
    "one tool": Scene(_then(*slow(1)), 1, Place.TOOLS),
    "eight tools": Scene(_then(*slow(8)), 8, Place.TOOLS),
    "permission": Scene(_then(*_asking("asks")), b"[x] result mode [?] ", Place.TOOLS),
    "question": Scene(_then(*_QUESTION), b"Which one?\r\n>", Place.TOOLS, ("-t", "ask_user")),
    "result": Scene(_then(*_asking("shows")), b"[e]dit ", Place.TOOLS),
}


class Stage:
    """A home, a workspace in it, and the one conversation that is made there."""

    def __init__(self, folder: str, settings: str = "") -> None:
        os.makedirs(os.path.join(folder, "home"), exist_ok=True)
        self.folder = folder
        self.environ = {**environment(os.path.join(folder, "home")), "ENV": ""}
        self.end = threading.Event()
        with open(os.path.join(folder, "home", "config.toml"), "w", encoding="utf-8") as file:
            file.write(SLOW + settings)

    def start(self, server: Server, *options: str, terminal: bool = True) -> Child:
        """Ask ``go``."""
        return Child(self.argv(server, *options), self.environ, self.folder, terminal=terminal)

    def argv(self, server: Server, *options: str) -> List[str]:
        """What asks ``go``."""
        url = f"providers.custom.base_url={server.url}"
        return jpq("-m", "custom/test", "--set", url, *options, "go")

    def let_tools_go(self) -> None:
        with open(os.path.join(self.folder, "go"), "w", encoding="utf-8"):
            pass

    @property
    def runs(self) -> List[str]:
        """The runs of tools so far."""
        try:
            with open(os.path.join(self.folder, "runs"), encoding="utf-8") as file:
                return file.read().split()
        except FileNotFoundError:
            return []

    def wait_for(self, scene: Scene, child: Child, server: Server) -> None:
        """The turn has come to the phase."""
        if isinstance(scene.seen, int):
            wait_until(lambda: len(self.runs) >= scene.seen)
        elif scene.seen is not None:
            child.wait_for(scene.seen)
        wait_until(lambda: len(server.seen) > 0)

    @property
    def saved(self) -> Optional[SavedConversation]:
        """The conversation, if there is one."""
        library = Library(os.path.join(self.folder, "home", "data", "conversations"))
        ids = library.ids()
        return library.read(ids[0]) if ids else None

    def files(self) -> Dict[str, bytes]:
        """Every file of every conversation; one that goes while it is looked at is none."""
        found = {}
        top = os.path.join(self.folder, "home", "data", "conversations")
        for parent, folders, names in os.walk(top):
            # Which conversation was the last one is a note that nothing relies on.
            folders[:] = [folder for folder in folders if folder != ".last"]
            for name in names:
                path = os.path.join(parent, name)
                with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
                    found[os.path.relpath(path, top)] = file.read()
        return found


def check_next_turn(saved: SavedConversation) -> None:
    """Assert that every API takes the conversation with another question."""
    saved.stream.append(Draft(ChatRequest("And now?")))
    thread = build_thread(saved.stream.entries)
    for api, check in _CHECKS.items():
        url = "http://api.acme.test" if api == "ollama" else "https://api.acme.test/v1"
        row = ProviderRow("acme", api, url, quirks={})
        check(load_api(api).encode(ProviderRequest("m1", thread, (_TOOL,)), row, None).body)


def press(child: Child, mark: bytes) -> float:
    """Press Ctrl+C; seconds until ``mark``, of the menu, is on the terminal."""
    del child.output[:]
    pressed = time.monotonic()
    child.type(PRESS)
    child.wait_for(mark)
    return time.monotonic() - pressed


def wait_until(is_so: Callable[[], bool]) -> None:
    """Another process has come so far; nothing tells us but looking."""
    deadline = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.005)
