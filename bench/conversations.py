"""Long conversations and many of them: what jpq needs beside a plain read of the same bytes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import Any, Dict, List, Optional

from bench.compare import Row, median, ratio, rounds
from bench.process import Cost, Program
from jpq.conversation.entry import to_json_bytes
from jpq.conversation.event import ChatRequest, Compaction, Draft
from jpq.store.library import Library

ROUNDS = 3
ENTRIES = 100_000
SHORT = 1_000
CONVERSATIONS = 10_000
_NEEDLE = "xylophone"
_PATTERN = "xylo.*e"
_WORDS = "The quick brown fox jumps over the lazy dog. "

# As the program itself does, these run without the garbage collector.
# Opens the conversation named by argv[2] in the store argv[1], and appends one entry.
_APPEND = """
import gc, sys, time
gc.disable()
from jpq.conversation.event import ChatRequest, Draft
from jpq.store.library import Library
journal = Library(sys.argv[1]).open(sys.argv[2], 0, print)
started = time.perf_counter()
journal.commit([Draft(ChatRequest("next"))])
print(time.perf_counter() - started)
journal.close()
"""
_LOADS = """
import gc, json, sys
gc.disable()
with open(sys.argv[1], "rb") as file:
    data = file.read()
kept = [json.loads(line) for line in data.split(b"\\n") if line]
"""
_LAST = """
import sys
from jpq.store.library import Library
assert Library(sys.argv[1]).last("/w")
"""
# What any list needs at the least: the names, and every file read once.
_READ = """
import os, sys
for name in sorted(os.listdir(sys.argv[1])):
    for file in ("metadata.json", "events.jsonl"):
        try:
            with open(os.path.join(sys.argv[1], name, file), "rb") as opened:
                opened.read()
        except OSError:
            pass
"""
_JPQ = [sys.executable, "-m", "jpq"]
_NAMES = "import os, sys; os.listdir(sys.argv[1])"


def measure(environ: Dict[str, str], count: int = ROUNDS) -> List[Row]:
    """Figures of a conversation of 100,000 entries, and of 10,000 conversations."""
    return [*_long(environ, count), *_many(environ, count)]


def _long(environ: Dict[str, str], count: int) -> List[Row]:
    store = os.path.join(environ["JPQ_HOME"], "data", "conversations")
    long, short = (_conversation(store, n, entries) for n, entries in enumerate((ENTRIES, SHORT)))
    _sum_up(store, long)
    model = os.path.join(environ["JPQ_HOME"], "reply.toml")
    with open(model, "w", encoding="utf-8") as script:
        script.write('[[reply]]\ntext = "Hello."\n')
    path = os.path.join(store, long, "events.jsonl")
    size = os.path.getsize(path) / 1e6
    costs = rounds(
        [
            Program("open", _python(_APPEND, store, long)),
            Program("short", _python(_APPEND, store, short)),
            Program("ask", [*_JPQ, "-m", f"scripted/{model}", "-r", long, "next"]),
            Program("loads", _python(_LOADS, path)),
        ],
        environ,
        count,
    )
    open_s, loads_s = _seconds(costs["open"]), _seconds(costs["loads"])
    ask_s = _seconds(costs["ask"])
    added = [whole.wall_s - start.wall_s for whole, start in zip(costs["open"], costs["short"])]
    # In turn, as what else is written to the disk decides most of it.
    appends = [[_append_ms(environ, store, id) for id in (short, long)] for _ in range(count)]
    to_short, to_long = (median(times) for times in zip(*appends))
    shutil.rmtree(store)
    return [
        Row(
            f"open a conversation of {ENTRIES:,} entries ({size:.0f} MB) and append to it",
            f"{median(open_s):.2f} s",
            f"json.loads of its lines {median(loads_s):.2f} s",
            f"x{ratio(open_s, loads_s):.2f}",
            "x2.5",
            ratio(open_s, loads_s) <= 2.5,
        ),
        Row(
            "append one entry to it, once it is open",
            f"{to_long:.1f} ms",
            f"to one of {SHORT:,} entries {to_short:.1f} ms",
            f"x{to_long / to_short:.2f}; opening takes "
            f"{median(added) / (ENTRIES - SHORT) * 1e6:.0f} us an entry",
            "x2",
            to_long <= 2 * to_short,
        ),
        Row(
            "ask another question in it, a whole run, when all but its last turn is summed up",
            f"{median(ask_s):.2f} s",
            f"json.loads of its lines {median(loads_s):.2f} s",
            f"x{ratio(ask_s, loads_s):.2f}",
            "x3",
            ratio(ask_s, loads_s) <= 3,
        ),
    ]


def _many(environ: Dict[str, str], count: int) -> List[Row]:
    store = os.path.join(environ["JPQ_HOME"], "data", "conversations")
    for number in range(CONVERSATIONS):
        _conversation(store, number, 6, _NEEDLE if number == CONVERSATIONS // 2 else "")
    jpq = [*_JPQ, "conversation"]
    programs = [
        Program("ls", [*jpq, "ls"]),
        Program("word", [*jpq, "grep", _NEEDLE]),
        Program("regex", [*jpq, "grep", _PATTERN]),
        Program("last", _python(_LAST, store)),
        Program("read", _python(_READ, store)),
        Program("names", _python(_NAMES, store)),
    ]
    name = _searcher()
    if name:
        programs += [_search(name, _NEEDLE, store), _search(name, _PATTERN, store)]
    last = Library(store).create({"workspace": "/w"})
    last.commit([Draft(ChatRequest("the last one"))])
    last.close()
    costs = rounds(programs, environ, count)
    seconds = {name: _seconds(values) for name, values in costs.items()}
    rows = [
        _beside("conversation ls", "ls", "read", "a plain read of all files", seconds, 4),
        _beside("conversation grep WORD", "word", "read", "a plain read", seconds, 3),
        _beside("conversation grep REGEX", "regex", "read", "a plain read", seconds, 8),
        _beside("finding what -c goes on with", "last", "names", "listing names", seconds, 6),
    ]
    if name:
        called = {"rg": "ripgrep"}.get(name, name)
        for what, ours, searched in (("WORD", "word", _NEEDLE), ("REGEX", "regex", _PATTERN)):
            other = f"{name} {searched}"
            rows.append(_beside(f"conversation grep {what}", ours, other, called, seconds, None))
    shutil.rmtree(store)
    return rows


def _beside(
    what: str,
    ours: str,
    other: str,
    called: str,
    seconds: Dict[str, List[float]],
    target: Optional[float],
) -> Row:
    found = ratio(seconds[ours], seconds[other])
    return Row(
        f"{what}, {CONVERSATIONS:,} conversations",
        f"{median(seconds[ours]) * 1000:.0f} ms",
        f"{called} {median(seconds[other]) * 1000:.0f} ms",
        f"x{found:.2f}",
        "" if target is None else f"x{target:g}",
        target is None or found <= target,
    )


def _conversation(store: str, number: int, entries: int, word: str = "") -> str:
    """A conversation of turns of three entries, written as jpq writes them; its id."""
    id = f"b{number:010d}"
    folder = os.path.join(store, id)
    os.makedirs(folder)
    about = {"title": f"Number {id}", "created_at": _time(0), "workspace": "/w", "model": "a/b"}
    with open(os.path.join(folder, "metadata.json"), "wb") as file:
        file.write(to_json_bytes({**about, "schema": 1}) + b"\n")
    with open(os.path.join(folder, "events.jsonl"), "wb") as file:
        for number in range(entries):
            file.write(to_json_bytes(_entry(number, word)) + b"\n")
    return id


def _entry(number: int, word: str) -> Dict[str, Any]:
    head = {"event_id": f"{number:07d}", "timestamp": _time(number)}
    if number % 3 == 0:
        return {**head, "type": "chat_request", "content": f"{_WORDS}{word} {number}"}
    if number % 3 == 1:
        text = f"{number} {_WORDS * 4}"
        made_by = {"provider": "a", "model": "b"}
        return {**head, "type": "chat_response", "message": text, "metadata": made_by}
    end = {"status": "complete", "finish_reason": "stop", "usage": {"output_tokens": 9}}
    return {**head, "type": "turn_end", **end, "model": "b"}


def _time(number: int) -> str:
    minutes, seconds = divmod(number, 60)
    return f"2026-01-01T{minutes // 60 % 24:02d}:{minutes % 60:02d}:{seconds:02d}.000Z"


def _sum_up(store: str, id: str) -> None:
    """Have all but the last turn of a conversation sent as a sentence."""
    journal = Library(store).open(id, 0, print)
    turns = journal.stream.turns()
    first, last = turns[0].entries[0], turns[-2].entries[-1]
    summed_up = Compaction(first.event_id, last.event_id, summary="All is well.")
    journal.commit([Draft(summed_up)])
    journal.close()


def _append_ms(environ: Dict[str, str], store: str, id: str) -> float:
    """How long appending takes after opening, which the process itself measures."""
    argv = _python(_APPEND, store, id)
    return float(json.loads(subprocess.check_output(argv, env=environ))) * 1000


def _searcher() -> str:
    """The program that people would search files with, as far as it is installed."""
    return next((name for name in ("rg", "grep") if shutil.which(name)), "")


def _search(name: str, pattern: str, store: str) -> Program:
    """It, counting the lines of all files that match."""
    options = "-c" if name == "rg" else "-rc"
    command = f'{name} {options} "{pattern}" "{store}" > /dev/null; true'
    return Program(f"{name} {pattern}", ["/bin/sh", "-c", command])


def _python(code: str, *arguments: str) -> List[str]:
    return [sys.executable, "-c", code, *arguments]


def _seconds(costs: List[Cost]) -> List[float]:
    return [cost.wall_s for cost in costs]
