"""Kills a jpq that streams, at a random moment, and looks for what it lost.

Every word of an answer has a number of its own, so that a word that is missing, that comes
twice or in the wrong place shows. The plan of a kill follows from its seed alone; when
exactly the signal arrives is up to the machine.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import threading
import time
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence

from bench.compare import Row
from jpq.store.library import Library
from tests.support.ptys import Child, jpq, run
from tests.support.server import FINISH, LAST_CHUNK, Server, Tell, answer, chunk, delta, head, sse

KILLS = 200
WORDS = 300  # in all the cycles of a turn together
SCENARIOS = ("text", "reasoning", "tools", "retry", "one burst")
MOMENTS = ("after some text", "when asked", "while committing", "while starting")
_WEIGHTS = (12, 3, 4, 1)
_PACE_S = 0.0002
_LONGEST_WAIT_S = 10.0

# What stderr shows of a call and of who answers, and what a terminal's status line leaves.
_ASIDE = re.compile(r"^(jpq: |  |.? ?nope|test-model$|\W+$)|nope")
_STATUS = re.compile(r"\r\x1b\[K[^\n]*?(?=\r\x1b\[K|\n|$)")
_COLOUR = re.compile(r"\x1b\[\d*m")


class Plan(NamedTuple):
    """One kill: what is streamed, where to, and when it ends.

    ``place`` is where in the turn the moment lies, from 0 to 1, and ``delay_s`` how long
    the signal waits after it.
    """

    seed: int
    scenario: str
    moment: str
    terminal: bool
    goes_on: bool
    place: float
    delay_s: float


class Report(NamedTuple):
    """What came of a kill: words shown and saved, and everything that is wrong."""

    plan: Plan
    shown: int
    saved: int
    problems: List[str]


def plan(seed: int) -> Plan:
    """The kill number ``seed``."""
    choice = random.Random(seed)
    moment = choice.choices(MOMENTS, _WEIGHTS)[0]
    longest_s = {"while starting": 0.3, "when asked": 0.05, "while committing": 0.01}
    return Plan(
        seed=seed,
        scenario=choice.choice(SCENARIOS),
        moment=moment,
        terminal=choice.random() < 0.5,
        goes_on=choice.random() < 0.5,
        place=choice.random(),
        delay_s=choice.random() * longest_s.get(moment, 0.002),
    )


class _Paced(List[Any]):
    """Steps of a script, a little apart."""

    def __iter__(self) -> Iterator[Any]:
        for step in super().__iter__():
            time.sleep(_PACE_S)
            yield step


def words(start: int, end: int) -> List[str]:
    """Words number ``start`` to ``end`` - 1, ten a line; their é takes two bytes."""
    return [f"{number}é" + ("\n" if number % 10 == 9 else " ") for number in range(start, end)]


def word_numbers(text: str) -> List[int]:
    """The numbers of the whole words in ``text``, in order."""
    return [int(number) for number in re.findall(r"(\d+)é", text)]


def scripts(plan: Plan, asked: Sequence[threading.Event]) -> List[Sequence[Any]]:
    """What the server sends to each request of the turn; request k sets ``asked[k]``."""
    last = [FINISH, "[DONE]"]
    texts = [delta(word) for word in words(0, WORDS)]
    if plan.scenario == "reasoning":
        thoughts = [_reasoning(word) for word in words(0, WORDS // 3)]
        cycles = [[*thoughts, *texts[WORDS // 3 :], *last]]
    elif plan.scenario == "tools":
        third = WORDS // 3
        cycles = [
            [*texts[:third], *_call("call_a"), "[DONE]"],
            [*texts[third : 2 * third], *_call("call_b"), "[DONE]"],
            [*texts[2 * third :], *last],
        ]
    elif plan.scenario == "retry":
        half = WORDS // 2
        cycles = [texts[:half], [*texts[half:], *last]]
    else:
        cycles = [[*texts, *last]]
    replies: List[Sequence[Any]] = []
    for event, values in zip(asked, cycles):
        body = [chunk(piece) for piece in sse(*values)]
        if plan.scenario == "one burst":
            replies.append([Tell(event), head(), b"".join(body), LAST_CHUNK])
        else:
            # Without the last chunk this is a lost connection.
            whole = [LAST_CHUNK] if values[-1] == "[DONE]" else []
            replies.append(_Paced([Tell(event), head(), *body, *whole]))
    return replies


def kill_once(plan: Plan, environ: Dict[str, str], folder: str) -> Report:
    """Stream a turn, kill it as planned, and check everything that must still hold.

    ``folder`` is empty and is the workspace; ``environ`` has a JPQ_HOME that is empty, too.
    """
    problems: List[str] = []
    with Server(answer("ok.")) as after:
        if plan.goes_on:
            _expect(0, run(_query(after, "before"), environ, folder), problems)
        shown = _stream_and_kill(plan, environ, folder)
        found = _show(environ, folder)
        saved = word_numbers(found)
        _check_shown(plan, shown, found, problems)
        _check_next(plan, after, environ, folder, problems)
        again = word_numbers(_show(environ, folder))
    if again != saved:
        problems.append(f"the next command changed what was saved: {saved[-3:]} to {again[-3:]}")
    return Report(plan, len(word_numbers(shown)), len(saved), problems)


def _stream_and_kill(plan: Plan, environ: Dict[str, str], folder: str) -> str:
    """Everything that the killed process had shown."""
    asked = [threading.Event() for _ in range(3)]
    with Server(*scripts(plan, asked)) as server:
        option = ["-c"] if plan.goes_on else []
        query = [*_query(server, *option), "go"]
        with Child(query, environ, folder, terminal=plan.terminal) as child:
            if plan.moment == "after some text":
                hidden = WORDS // 3 if plan.scenario == "reasoning" and not plan.terminal else 0
                child.wait_for(max(1, int(plan.place * len("".join(words(hidden, WORDS))))))
            elif plan.moment == "while committing":
                child.wait_for(f"{WORDS - 1}é".encode())
            elif plan.moment == "when asked":
                requests = {"tools": 3, "retry": 2}.get(plan.scenario, 1)
                asked[int(plan.place * requests)].wait(_LONGEST_WAIT_S)
            time.sleep(plan.delay_s)
            child.signal(signal.SIGKILL)
            child.end()
    shown = (child.output + b"\n" + child.errors).decode("utf-8", "ignore")
    return _COLOUR.sub("", _STATUS.sub("", shown.replace("\r\n", "\n")))


def _query(server: Server, *arguments: str) -> List[str]:
    setting = f"providers.custom.base_url={server.url}"
    quick = ("--set", "request.backoff_base_s=0.02")
    return jpq("-m", "custom/test", "--set", setting, *quick, *arguments)


def _show(environ: Dict[str, str], folder: str) -> str:
    return run(jpq("conversation", "show"), environ, folder).output.decode()


def _check_shown(plan: Plan, shown: str, found: str, problems: List[str]) -> None:
    """All that was on the terminal is in ``found``, what ``conversation show`` says."""
    saved = word_numbers(found)
    if saved != list(range(len(saved))):
        problems.append(f"saved words are not in order: {saved}")
    if plan.scenario != "reasoning" or plan.terminal:
        on_screen = word_numbers(shown)
        if on_screen != list(range(len(on_screen))):
            problems.append(f"shown words are not in order: {on_screen}")
    for line in shown.split("\n"):
        there = line in found
        if plan.terminal:  # which breaks lines where its width says
            there = " ".join(line.split()) in " ".join(found.split())
        if not there and not _ASIDE.search(line):
            problems.append(f"lost: {line!r}")


def _check_next(
    plan: Plan, after: Server, environ: Dict[str, str], folder: str, problems: List[str]
) -> None:
    """The next command works at once, sends a valid thread and leaves whole files."""
    library = Library(os.path.join(environ["JPQ_HOME"], "data", "conversations"))
    if not library.ids():
        return  # killed before there was anything to save
    retries = plan.seed % 2 == 0
    command = _query(after, "--retry") if retries else [*_query(after, "-c"), "and?"]
    ended = run(command, environ, folder)
    told = ended.errors.decode()
    if not (retries and ended.process.returncode == 65 and "turn is complete" in told):
        _expect(0, ended, problems)
        sent = after.seen[-1].json["messages"] if after.seen else []
        problems += _orphans(sent)
    for id in library.ids():
        problems += _damage(library.path(id))


def _expect(code: int, ended: Child, problems: List[str]) -> None:
    told = ended.errors.decode()
    if ended.process.returncode != code or "cannot be read" in told or "Traceback" in told:
        problems.append(f"{ended.process.args[-2:]} gave {ended.process.returncode}: {told}")


def _orphans(messages: List[Dict[str, Any]]) -> List[str]:
    calls = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    answers = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    return [] if calls == answers else [f"calls {calls} are answered by {answers}"]


def _damage(folder: str) -> List[str]:
    """What is wrong with the files of a conversation that nobody has open."""
    with open(os.path.join(folder, "events.jsonl"), "rb") as file:
        lines = file.read().splitlines()
    try:
        entries = [json.loads(line) for line in lines]
    except ValueError as error:
        return [f"events.jsonl has a line that is no JSON: {error}"]
    problems = []
    for name in ("event_id", "id"):
        kinds = (entry["type"] for entry in entries)
        ids = [
            (name, entry.get(name), kind if name == "id" else "")
            for entry, kind in zip(entries, kinds)
            if name in entry
        ]
        problems += [f"{id} is there twice" for id in set(ids) if ids.count(id) > 1]
    asked = [entry["content"] for entry in entries if entry["type"] == "chat_request"]
    problems += [f"{text!r} was asked twice" for text in set(asked) if asked.count(text) > 1]
    if os.path.exists(os.path.join(folder, "inflight.jsonl")):
        problems.append("inflight.jsonl is still there")
    return problems


def _reasoning(text: str) -> Dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"reasoning_content": text}}]}


def _call(id: str) -> List[Dict[str, Any]]:
    function = {"name": "nope", "arguments": '{"a": 1}'}
    call = {"index": 0, "id": id, "type": "function", "function": function}
    return [
        {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    ]


def measure(environ: Dict[str, str], count: int = KILLS) -> List[Row]:
    """Kill ``count`` turns; lost is what was shown and is not saved."""
    reports = []
    for seed in range(count):
        folder = os.path.join(environ["HOME"], f"kill-{seed}")
        os.mkdir(folder)
        own = {**environ, "JPQ_HOME": os.path.join(folder, "home"), "TERM": "xterm"}
        report = kill_once(plan(seed), own, folder)
        for problem in report.problems:
            print(f"{report.plan}: {problem}", flush=True)
        reports.append(report)
    shown = sum(report.shown for report in reports)
    saved = sum(report.saved for report in reports)
    bad = sum(1 for report in reports if report.problems)
    mid_turn = sum(1 for report in reports if report.shown)
    return [
        Row(
            f"{count} kills at random moments, {mid_turn} of them with text on the screen",
            f"{bad} with a loss, a repetition or a repair",
            f"{shown} words shown, {saved} saved",
            "",
            "0",
            bad == 0,
        )
    ]
