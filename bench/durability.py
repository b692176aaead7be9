"""Kills a jpq that streams, at a random moment, and looks for what it lost.

What is streamed and when the signal is sent is in ``bench.kill_plan``.
"""

from __future__ import annotations

import concurrent.futures
import json
import os
import re
import shutil
import signal
import threading
import time
from typing import Any, Dict, List, NamedTuple

from bench.compare import Row
from bench.kill_plan import TOOL, WORDS, Plan, plan, scripts, word_numbers, words
from jpq.store.library import Library
from tests.support.ptys import Child, jpq, nothing_ignored, run
from tests.support.server import Server, answer

KILLS = 500
_POLL_S = 0.002
AT_ONCE = 4
_LONGEST_WAIT_S = 10.0

# What stderr shows of a call and of who answers, and what a terminal's status line leaves.
_ASIDE = re.compile(r"^(jpq: |  |.? ?nope|test-model$|\W+$)|nope")
_STATUS = re.compile(r"\r\x1b\[K[^\n]*?(?=\r\x1b\[K|\n|$)")
_COLOUR = re.compile(r"\x1b\[\d*m")


class Report(NamedTuple):
    """What came of a kill: words shown and saved, and everything that is wrong."""

    plan: Plan
    shown: int
    saved: int
    problems: List[str]


def kill_once(plan: Plan, environ: Dict[str, str], folder: str) -> Report:
    """Stream a turn, kill it as planned, and check everything that must still hold.

    ``folder`` is empty and is the workspace; ``environ`` has a JPQ_HOME that is empty, too.
    """
    problems: List[str] = []
    os.makedirs(environ["JPQ_HOME"], exist_ok=True)
    with open(os.path.join(environ["JPQ_HOME"], "config.toml"), "w", encoding="utf-8") as file:
        file.write(TOOL)
    with Server(answer("ok.")) as after:
        if plan.goes_on:
            expect(0, run(query(after, "before"), environ, folder), problems)
        shown = _stream_and_kill(plan, environ, folder)
        found = _show(environ, folder)
        saved = word_numbers(found)
        runs = _runs(folder)
        _check_shown(plan, shown, found, problems)
        _check_next(plan, after, environ, folder, problems)
        if _runs(folder) != runs:
            problems.append("the next command ran the tool again")
        again = word_numbers(_show(environ, folder))
    if again != saved:
        problems.append(f"the next command changed what was saved: {saved[-3:]} to {again[-3:]}")
    return Report(plan, len(word_numbers(shown)), len(saved), problems)


def _stream_and_kill(plan: Plan, environ: Dict[str, str], folder: str) -> str:
    """Everything that the killed process had shown."""
    asked = [threading.Event() for _ in range(3)]
    with Server(*scripts(plan, asked)) as server:
        option = ["-c"] if plan.goes_on else []
        command = [*query(server, *option), "go"]
        with Child(command, environ, folder, terminal=plan.terminal) as child:
            if plan.moment == "after some text":
                hidden = WORDS // 3 if plan.scenario == "reasoning" and not plan.terminal else 0
                child.wait_for(max(1, int(plan.place * len("".join(words(hidden, WORDS))))))
            elif plan.moment == "while committing":
                child.wait_for(f"{WORDS - 1}é".encode())
            elif plan.moment == "when asked" and plan.scenario == "a running tool":
                _wait_for_run(folder)
            elif plan.moment == "when asked":
                requests = {"tools": 3, "retry": 2}.get(plan.scenario, 1)
                asked[int(plan.place * requests)].wait(_LONGEST_WAIT_S)
            time.sleep(plan.delay_s)
            child.signal(signal.SIGKILL)
            child.end()
    shown = (child.output + b"\n" + child.errors).decode("utf-8", "ignore")
    return _COLOUR.sub("", _STATUS.sub("", shown.replace("\r\n", "\n")))


def _runs(folder: str) -> int:
    """How often the tool was run."""
    try:
        with open(os.path.join(folder, "runs"), encoding="utf-8") as file:
            return len(file.read().split())
    except FileNotFoundError:
        return 0


def _wait_for_run(folder: str) -> None:
    deadline = time.monotonic() + _LONGEST_WAIT_S
    while not _runs(folder) and time.monotonic() < deadline:
        time.sleep(_POLL_S)


def query(server: Server, *arguments: str) -> List[str]:
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
    command = query(after, "--retry") if retries else [*query(after, "-c"), "and?"]
    ended = run(command, environ, folder)
    told = ended.errors.decode()
    if not (retries and ended.process.returncode == 65 and "turn is complete" in told):
        expect(0, ended, problems)
        sent = after.seen[-1].json["messages"] if after.seen else []
        problems += _orphans(sent)
    for id in library.ids():
        problems += damage(library.path(id))


def expect(code: int, ended: Child, problems: List[str]) -> None:
    told = ended.errors.decode()
    if ended.process.returncode != code or "cannot be read" in told or "Traceback" in told:
        problems.append(f"{ended.process.args[-2:]} gave {ended.process.returncode}: {told}")


def _orphans(messages: List[Dict[str, Any]]) -> List[str]:
    calls = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    answers = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    return [] if calls == answers else [f"calls {calls} are answered by {answers}"]


def damage(folder: str) -> List[str]:
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


def measure(environ: Dict[str, str], count: int = KILLS) -> List[Row]:
    """Kill ``count`` turns; lost is what was shown and is not saved."""

    def report_of(seed: int) -> Report:
        folder = os.path.join(environ["HOME"], f"kill-{seed}")
        os.mkdir(folder)
        own = {**environ, "JPQ_HOME": os.path.join(folder, "home"), "TERM": "xterm"}
        report = kill_once(plan(seed), own, folder)
        for problem in report.problems:
            print(f"{report.plan}: {problem}", flush=True)
        shutil.rmtree(folder)
        return report

    with nothing_ignored(), concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        reports = list(pool.map(report_of, range(count)))
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
