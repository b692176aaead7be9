"""Two jpq that write one conversation at the same time, and one whose disk fills."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from typing import Dict, List

from bench.compare import Row
from bench.durability import damage, query
from jpq.conversation.event import AssistantMessage, ChatRequest
from jpq.store.library import Library
from tests.support.ptys import Child, run
from tests.support.server import Server, answer

ROUNDS = 100
_ANSWER = "Every word of this answer has to be there, and be there once."
# Until the second has waited for the first, and both have started on a busy machine.
_PATIENCE = ("--set", "conversation.lock_wait_s=60")
_LONGEST_DELAY_S = 0.4
_LONGEST_S = 60.0

# No file may grow beyond so many bytes; a write beyond them fails as one to a full disk does.
# Python would keep bytecode of which only the beginning was written.
_LIMITED = (
    "import os, resource, sys; size = int(sys.argv[1]);"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY));"
    "os.environ['PYTHONDONTWRITEBYTECODE'] = '1';"
    "os.execv(sys.argv[2], sys.argv[2:])"
)


def measure_writers(environ: Dict[str, str], count: int = ROUNDS) -> List[Row]:
    """``count`` rounds of two writers; in every fourth one of them is killed at some moment."""
    place = _Place(environ, "writers")
    killed = 0
    with Server(answer(_ANSWER)) as server:
        expect_whole = [place.ask(server, "first")]
        for number in range(count):
            chance = random.Random(number)
            with place.start(server, f"a{number}") as one, place.start(
                server, f"b{number}"
            ) as other:
                if number % 4 == 3:
                    time.sleep(chance.random() * _LONGEST_DELAY_S)
                    one.signal(signal.SIGKILL)
                codes = [one.end(_LONGEST_S), other.end(_LONGEST_S)]
            killed += codes[0] == -signal.SIGKILL
            if codes[0] == 0:
                expect_whole.append(f"a{number}")
            elif number % 4 != 3:
                place.problem(f"a{number} ended with {codes[0]}: {one.errors.decode()}")
            if codes[1]:
                place.problem(f"b{number} ended with {codes[1]}: {other.errors.decode()}")
            expect_whole.append(f"b{number}")
        place.check(expect_whole, server)
    done = f"{count} rounds of two writers, {killed} killed"
    return [place.row(done, f"{len(expect_whole)} turns whole")]


def measure_full_disk(environ: Dict[str, str], count: int = ROUNDS) -> List[Row]:
    """``count`` turns on a disk that is full after a random number of bytes."""
    place = _Place(environ, "disk")
    failed = 0
    with Server(answer(_ANSWER)) as server:
        expect_whole = [place.ask(server, "first")]
        for number in range(count):
            size = os.stat(place.events).st_size
            room = size + random.Random(number).randrange(-200, 1000)
            command = [sys.executable, "-c", _LIMITED, str(max(room, 1))]
            ended = run(command + place.command(server, f"q{number}"), place.environ, place.folder)
            failed += ended.process.returncode == 74
            if ended.output.decode() != _ANSWER + "\n":
                place.problem(f"q{number} showed {ended.output!r}")
            if ended.process.returncode == 0:
                expect_whole.append(f"q{number}")
            elif b"Cannot" not in ended.errors:
                place.problem(f"q{number} gave no reason: {ended.errors!r}")
            expect_whole.append(place.ask(server, f"after{number}"))
        place.check(expect_whole, server)
    done = f"{count} turns on a disk that fills, {failed} of them not saved whole"
    return [place.row(done, f"{len(expect_whole)} turns whole")]


class _Place:
    """A workspace with one conversation, and what was found wrong with it."""

    def __init__(self, environ: Dict[str, str], name: str) -> None:
        self.folder = os.path.join(environ["HOME"], name)
        os.mkdir(self.folder)
        home = os.path.join(self.folder, "home")
        self.environ = {**environ, "JPQ_HOME": home, "TERM": "xterm"}
        self._library = Library(os.path.join(home, "data", "conversations"))
        self._problems = 0

    @property
    def events(self) -> str:
        """The only conversation's file."""
        (id,) = self._library.ids()
        return os.path.join(self._library.path(id), "events.jsonl")

    def command(self, server: Server, question: str) -> List[str]:
        """The command that asks ``question``, in the conversation if there is one."""
        goes_on = ["-c"] if self._library.ids() else []
        return [*query(server, *_PATIENCE, *goes_on), question]

    def ask(self, server: Server, question: str) -> str:
        """Ask, expecting success; the question."""
        ended = run(self.command(server, question), self.environ, self.folder)
        if ended.process.returncode or b"cannot be read" in ended.errors:
            self.problem(f"{question}: {ended.errors.decode()}")
        return question

    def start(self, server: Server, question: str) -> Child:
        """Ask, without waiting for the answer."""
        return Child(self.command(server, question), self.environ, self.folder, terminal=False)

    def problem(self, text: str) -> None:
        """Tell and count it."""
        print(text, flush=True)
        self._problems += 1

    def check(self, whole: List[str], server: Server) -> None:
        """Each question of ``whole`` is there once, with its whole answer below it."""
        self.ask(server, "last")
        (id,) = self._library.ids()
        for text in damage(self._library.path(id)):
            self.problem(text)
        answers: Dict[str, List[str]] = {}
        for turn in self._library.read(id).stream.turns():
            events = [entry.event for entry in turn.entries]
            said = [event.text for event in events if isinstance(event, AssistantMessage)]
            asked = [event.content for event in events if isinstance(event, ChatRequest)]
            answers.setdefault(asked[0], []).append("".join(said))
        for question in whole:
            if answers.get(question) != [_ANSWER]:
                self.problem(f"{question} is answered by {answers.get(question)}")

    def row(self, what: str, found: str) -> Row:
        """The line of the report."""
        told = f"{self._problems} with a loss, a repetition or a repair"
        return Row(what, told, found, "", "0", self._problems == 0)
