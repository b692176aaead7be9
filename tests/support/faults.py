"""Kinds of fault, the moments of a turn at which they come, and one turn that one of them hits.

Every word of an answer has a number of its own, so that a word that is missing, that comes
twice or in the wrong place shows.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import signal
import sys
import threading
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

from jpq.cli.conversation_text import as_text
from jpq.conversation.event import AssistantMessage, ChatRequest, Draft, TurnEnd
from jpq.store.library import Library
from jpq.store.reading import INFLIGHT, SavedConversation
from tests.support import validators_chat
from tests.support.pressing import wait_until
from tests.support.ptys import Child, environment, jpq, run
from tests.support.server import (
    DONE,
    DROP,
    FINISH,
    LAST_CHUNK,
    USAGE,
    Pause,
    Server,
    Step,
    Tell,
    answer,
    chunk,
    delta,
    error,
    head,
    sse,
)

WORDS = 15
_A_THIRD = 5
_WAIT_S = 15.0
_POLL_S = 0.01
_ROOM = 40  # bytes of a commit that still fit

MOMENTS = (
    "before headers",
    "headers",
    "first event",
    "mid text",
    "mid tool arguments",
    "after finish",
    "during tools",
    "during commit",
)
BEFORE_HEADERS, HEADERS, FIRST_EVENT, MID_TEXT, MID_ARGUMENTS, FINISHED, TOOLS, COMMIT = MOMENTS

# A tool that says in a file that it runs, after a while in which jpq comes to know its process,
# and goes on once another file is there.
TOOL = """
[tools.slow]
description = "Takes its time"
command = [
    "sh", "-c", "sleep 0.2; echo run >> runs; while [ ! -e go ]; do sleep 0.02; done; echo over",
]
parameters.n = { type = "integer", required = true }
run = "unattended"
"""
# jpq, standing still in the commit of a whole answer until a file is there.
_HELD = f"""
import os, runpy, sys, time
fsync = os.fsync
def held(descriptor):
    path = os.readlink("/proc/self/fd/" + str(descriptor))
    if path.endswith("events.jsonl"):
        with open(path, "rb") as file:
            if "{WORDS - 1}\u00e9".encode() in file.read():
                open("committing", "w").close()
                while not os.path.exists("go"):
                    time.sleep({_POLL_S})
    fsync(descriptor)
os.fsync = held
sys.argv[0] = "jpq"
runpy.run_module("jpq", run_name="__main__")
"""


class Outcome(NamedTuple):
    """What became of a turn: exit code as a shell has it, words shown and kept, the command
    that came next, and everything that is wrong."""

    code: int
    shown: int
    kept: int
    then: str
    problems: List[str]


class Fault(NamedTuple):
    """A kind of fault: what the server does, or what is done to the process that runs.

    ``moments`` are those at which it can happen.
    """

    moments: Sequence[str]
    steps: Optional[Callable[[], Sequence[Step]]] = None
    strike: Optional[Callable[[Child, str, str], None]] = None
    options: Sequence[str] = ()


def _status(line: str) -> Fault:
    return Fault((BEFORE_HEADERS,), lambda: error(line, b"{}"))


def _signal(signum: int) -> Fault:
    return Fault(MOMENTS, strike=lambda child, path, moment: child.signal(signum))


def _fill_disk(child: Child, path: str, moment: str) -> None:
    """From now on no file may grow; a write fails as one to a full disk does."""
    size = os.stat(path).st_size + _ROOM if moment == COMMIT else 1
    resource.prlimit(child.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


_STREAM = MOMENTS[:6]
_OVERLOADED = {"error": {"type": "overloaded_error", "message": "Too busy."}}
FAULTS: Dict[str, Fault] = {
    "the connection ends": Fault(_STREAM, lambda: []),
    "the connection is reset": Fault(_STREAM, lambda: [DROP]),
    "silence": Fault(
        _STREAM,
        lambda: [Pause(threading.Event())],
        options=("--set", "request.idle_timeout_s=1"),
    ),
    "an error event": Fault(_STREAM[1:], lambda: [chunk(each) for each in sse(_OVERLOADED)]),
    "malformed JSON": Fault(_STREAM[1:], lambda: [chunk(each) for each in sse("{nope")]),
    "429": _status("429 Too Many Requests"),
    "500": _status("500 Internal Server Error"),
    "529": _status("529 Overloaded"),
    "SIGTERM": _signal(signal.SIGTERM),
    "SIGKILL": _signal(signal.SIGKILL),
    "a full disk": Fault(MOMENTS, strike=_fill_disk),
}


def words(start: int, end: int) -> List[Any]:
    """Chunks with the words number ``start`` to ``end`` - 1."""
    return [delta(f"{number}\u00e9 ") for number in range(start, end)]


def word_numbers(text: str) -> List[int]:
    """The numbers of the words in ``text``, in order."""
    return [int(number) for number in re.findall("(\\d+)\u00e9", text)]


def play(fault: Fault, moment: str, folder: str) -> Outcome:
    """A turn that the fault hits at the moment, and the next one, in an empty ``folder``."""
    return _Turn(fault, moment, folder).play()


def _events(*values: Any) -> List[Step]:
    return [chunk(event) for event in sse(*values)]


def _call(arguments: str, **start: Any) -> Any:
    call = {"index": 0, "function": {"arguments": arguments, **start}}
    if start:
        call.update(id="call_1", type="function")
    return {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}


_CALLS = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}


def _begun(moment: str, start: int) -> List[Step]:
    """What a server sends before the moment; its text begins with word number ``start``."""
    if moment == BEFORE_HEADERS:
        return []
    if moment == HEADERS:
        return [head()]
    if moment == FIRST_EVENT:
        return [head(), *_events({"choices": [{"index": 0, "delta": {"role": "assistant"}}]})]
    if moment in (FINISHED, COMMIT):
        return [head(), *_events(*words(start, WORDS), FINISH, USAGE)]
    part = [head(), *_events(*words(start, start + _A_THIRD))]
    if moment == MID_TEXT:
        return part
    return part + _events(_call('{"n', name="slow"))


def _rest(moment: str) -> List[Step]:
    """What it sends after it if nothing stops it."""
    if moment in (MID_ARGUMENTS, TOOLS):
        ending = _events(_call('": 1}'), _CALLS, DONE)
    elif moment in (FINISHED, COMMIT):
        ending = _events(DONE)
    else:
        ending = _events(*words(_A_THIRD if moment == MID_TEXT else 0, WORDS), FINISH, DONE)
    return [*([head()] if moment == BEFORE_HEADERS else []), *ending, LAST_CHUNK]


class _Turn:
    def __init__(self, fault: Fault, moment: str, folder: str) -> None:
        self._fault = fault
        self._moment = moment
        self._folder = folder
        home = os.path.join(folder, "home")
        self._environ = environment(home)
        os.makedirs(home)
        with open(os.path.join(home, "config.toml"), "w", encoding="utf-8") as file:
            file.write(TOOL)
        self._library = Library(os.path.join(home, "data", "conversations"))
        journal = self._library.create({"workspace": folder, "model": "custom/test"})
        journal.commit([Draft(ChatRequest("Old question")), Draft(AssistantMessage("Old answer"))])
        journal.commit([Draft(TurnEnd("complete", "stop", {}, None))])
        self._id = journal.id
        self._events_path = os.path.join(journal.folder, "events.jsonl")
        self._inflight_path = os.path.join(journal.folder, INFLIGHT)
        journal.close()
        with open(self._events_path, "rb") as events:
            self._old = events.read()
        self._problems: List[str] = []

    def play(self) -> Outcome:
        ended = self._hit_by_server() if self._fault.strike is None else self._struck()
        code = ended.process.returncode
        told = ended.errors.decode()
        self._expect("Traceback" not in told, f"stderr: {told}")
        self._expect(code != 0 or len(told) == 0, f"success, and yet: {told}")
        self._expect(code in (0, -signal.SIGKILL, -signal.SIGTERM) or bool(told), "silent failure")
        shown = self._in_order("shown", ended.output.decode())
        kept = self._in_order("kept", as_text(self._saved))
        disk = self._fault.strike is _fill_disk
        self._expect(kept >= shown or (disk and "Cannot save" in told), "shown and lost")
        if kept == WORDS and (code == -signal.SIGTERM or self._moment == COMMIT and not disk):
            turn = self._saved.stream.last_turn()
            self._expect(turn is not None and not turn.unfinished, "whole, and yet unfinished")
        then = self._next_turn(kept)
        return Outcome(128 - code if code < 0 else code, shown, kept, then, self._problems)

    def _hit_by_server(self) -> Child:
        """The fault comes with the second attempt, too."""
        assert self._fault.steps is not None
        is_text = self._moment in (MID_TEXT, MID_ARGUMENTS)
        starts = (0, _A_THIRD) if is_text else (0, 0)
        scripts = [[*_begun(self._moment, start), *self._fault.steps()] for start in starts]
        with Server(*scripts) as server:
            return run(self._query(server, "-c", "go"), self._environ, self._folder)

    def _struck(self) -> Child:
        reached, released = threading.Event(), threading.Event()
        script = [*_begun(self._moment, 0), Tell(reached), Pause(released), *_rest(self._moment)]
        with contextlib.ExitStack() as stack:
            server = stack.enter_context(
                Server(
                    script, [head(), *_events(*words(_A_THIRD, WORDS), FINISH, DONE), LAST_CHUNK]
                )
            )
            stack.callback(released.set)
            # On a full disk Python would keep bytecode of which only the beginning was written.
            struck = {**self._environ, "PYTHONDONTWRITEBYTECODE": "1"}
            child = stack.enter_context(
                Child(self._query(server, "-c", "go"), struck, self._folder, terminal=False)
            )
            self._wait_for_moment(child, reached, released)
            assert self._fault.strike is not None
            self._fault.strike(child, self._events_path, self._moment)
            if self._fault.strike is _fill_disk:
                released.set()  # else the answer could be there before the signal is
                self._touch("go")
            elif self._moment == COMMIT:
                self._touch("go")
            child.end()
        return child

    def _wait_for_moment(
        self, child: Child, reached: threading.Event, released: threading.Event
    ) -> None:
        assert reached.wait(_WAIT_S), self._moment
        if self._moment in (MID_TEXT, MID_ARGUMENTS, TOOLS):
            child.wait_for(f"{_A_THIRD - 1}\u00e9".encode())
        elif self._moment in (FINISHED, COMMIT):
            child.wait_for(f"{WORDS - 1}\u00e9".encode())
            wait_until(self._has_usage)
        if self._moment == TOOLS:
            released.set()
            wait_until(lambda: self._exists("runs"))
        elif self._moment == COMMIT and self._fault.strike is not _fill_disk:
            released.set()
            wait_until(lambda: self._exists("committing"))

    def _has_usage(self) -> bool:
        """Whether jpq has read what comes behind the finish reason; it shows the text before."""
        try:
            with open(self._inflight_path, encoding="utf-8") as file:
                return '"usage"' in file.read()
        except FileNotFoundError:
            return False

    def _next_turn(self, kept: int) -> str:
        """Ask the next question, or go on with what is not whole; the option that does it."""
        whole = kept == WORDS
        rest = [head(), *_events(*words(kept, WORDS), FINISH, DONE), LAST_CHUNK]
        if self._exists("go"):
            os.remove(os.path.join(self._folder, "go"))
        ran_before = self._runs
        with Server(answer("Fine.") if whole else rest) as server:
            command = ["-c", "and?"] if whole else ["--retry"]
            ended = run(self._query(server, *command), self._environ, self._folder)
        told = ended.errors.decode()
        self._expect(ended.process.returncode == 0, f"the next turn: {told}")
        self._expect("cannot be read" not in told, f"the next turn: {told}")
        for seen in server.seen:
            try:
                validators_chat.check_request(seen.json, prefill=True)
            except AssertionError as reason:
                self._problems.append(f"poisoned: {reason}")
        self._expect(self._in_order("kept at last", as_text(self._saved)) == WORDS, "not whole")
        self._expect(self._runs == ran_before, "a tool ran again")
        self._expect(
            ran_before == (1 if self._runs_tool else 0), f"the tool ran {ran_before} times"
        )
        with open(self._events_path, "rb") as events:
            self._expect(events.read().startswith(self._old), "the old turn was changed")
        return command[0]

    @property
    def _runs_tool(self) -> bool:
        """Whether the call came whole: before the fault, or because it does not stop it."""
        goes_on = self._fault.strike is _fill_disk
        return self._moment == TOOLS or (self._moment == MID_ARGUMENTS and goes_on)

    @property
    def _runs(self) -> int:
        try:
            with open(os.path.join(self._folder, "runs"), encoding="utf-8") as file:
                return len(file.read().split())
        except FileNotFoundError:
            return 0

    @property
    def _saved(self) -> SavedConversation:
        return self._library.read(self._id)

    def _query(self, server: Server, *arguments: str) -> List[str]:
        settings = [f"providers.custom.base_url={server.url}", "request.backoff_base_s=0.01"]
        options = [word for setting in settings for word in ("--set", setting)]
        query = ["-m", "custom/test", "--retries", "1", *options, *self._fault.options, *arguments]
        held = self._moment == COMMIT and self._fault.strike is not _fill_disk
        return [sys.executable, "-c", _HELD, *query] if held and "go" in arguments else jpq(*query)

    def _in_order(self, what: str, text: str) -> int:
        numbers = word_numbers(text)
        self._expect(numbers == list(range(len(numbers))), f"{what}: {numbers}")
        return len(numbers)

    def _expect(self, holds: bool, problem: str) -> None:
        if not holds:
            self._problems.append(problem)

    def _touch(self, name: str) -> None:
        with open(os.path.join(self._folder, name), "w", encoding="utf-8"):
            pass

    def _exists(self, name: str) -> bool:
        return os.path.exists(os.path.join(self._folder, name))
