"""Twenty everyday situations: what is asked for, and how one sees whether it was done."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from typing import Any, Callable, List, NamedTuple, Sequence

from bench.comparison.run import HOLD, Outcome, Place, says, texts
from tests.support.pressing import calls
from tests.support.server import (
    DONE,
    FINISH,
    Script,
    chunk,
    delta,
    head,
    reply,
    sse,
)

ANSWER = "Because of Rayleigh."
QUESTION = "Why is the sky blue?"
YES, NO, NONE = "yes", "no", "–"


class Situation(NamedTuple):
    """``judge`` has the place to itself and says what is in the cell of the table."""

    what: str
    scripts: Sequence[Script]
    judge: Callable[[Place], str]


def _word(done: bool) -> str:
    return YES if done else NO


def _answered(outcome: Outcome) -> bool:
    return outcome.code == 0 and ANSWER.encode() in outcome.out


def _only_the_answer(place: Place) -> str:
    outcome = place.ask(QUESTION, also=("plain", "no tools"))
    if not _answered(outcome):
        return NO
    return YES if outcome.out == ANSWER.encode() + b"\n" else "with more around it"


def _at_once(place: Place) -> str:
    """The server holds the rest back until the first word was seen."""

    def go_on(process: subprocess.Popen[bytes]) -> None:
        shown.set()
        place.ended.set()

    shown = threading.Event()
    patience = threading.Timer(15.0, place.ended.set)  # then the rest comes, and it was no
    patience.start()
    early: List[bool] = []

    def seen(process: subprocess.Popen[bytes]) -> None:
        early.append(not place.ended.is_set())
        go_on(process)

    outcome = place.ask(QUESTION, when_seen=seen, also=("plain", "no tools"))
    patience.cancel()
    return _word(outcome.code == 0 and early == [True] and b"Because" in outcome.out)


def _asked(place: Place, question: str, *words: str, stdin: bytes = b"") -> str:
    outcome = place.ask(question, stdin=stdin, also=("no tools",))
    found = any(all(word in text for word in words) for text in texts(outcome.requests))
    return _word(_answered(outcome) and found)


def _with(ability: str, holds: Callable[[Outcome], bool]) -> Callable[[Place], str]:
    """Ask with the option for ``ability``; ``holds`` says whether it was done."""

    def judge(place: Place) -> str:
        if not place.can(ability):
            return NONE
        outcome = place.ask(QUESTION, ability, also=("no tools",) if ability != "tool" else ())
        return _word(outcome.code == 0 and holds(outcome))

    return judge


def _template(place: Place) -> str:
    if not place.can("template"):
        return NONE
    outcome = place.ask("", "template", stdin=b"")
    return _word("Tell me about rivers" in " ".join(texts(outcome.requests)))


def _continue(place: Place) -> str:
    if not place.can("continue"):
        return NONE
    place.ask("Name a colour.", also=("keep", "no tools"))
    outcome = place.ask("Another one?", "continue", also=("no tools",))
    last = [text for text in texts(outcome.requests) if "Another one?" in text]
    return _word(bool(last) and "Name a colour." in last[0] and ANSWER in last[0])


def _listed(place: Place) -> str:
    if not place.can("list"):
        return NONE
    place.ask(QUESTION, also=("keep", "no tools"))
    listed = place.command("list")
    return _word(listed.code == 0 and bool(listed.out.strip()))


def _shown(place: Place) -> str:
    if not place.can("show"):
        return NONE
    place.ask(QUESTION, also=("keep", "no tools"))
    return _word(ANSWER in place.command("show").out.decode("utf-8", "replace"))


def _nothing_saved(place: Place) -> str:
    if not place.can("ephemeral"):
        return NONE
    place.ask(QUESTION, "ephemeral")
    found = []
    for folder, _, names in os.walk(place.home):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                found += [name] * (ANSWER.encode() in file.read())
    return _word(not found)


def _limit(place: Place) -> str:
    if not place.can("limit"):
        return NONE
    outcome = place.ask(QUESTION, "limit", also=("no tools",))
    return _word(outcome.code not in (None, 0) and outcome.seconds < 15)


def _old_python(place: Place) -> str:
    floor = re.search(r">=\s*3\.(\d+)", place.installed.python)
    assert floor is not None, place.installed.python
    return YES if int(floor.group(1)) <= 8 else f"from 3.{floor.group(1)} on"


def _is_json(data: bytes, *names: str) -> bool:
    try:
        value: Any = json.loads(data)
    except ValueError:
        return False
    value = value[0] if isinstance(value, list) and value else value
    return isinstance(value, dict) and all(name in value for name in names)


def _json_result(outcome: Outcome) -> bool:
    lines = [outcome.out, *outcome.out.splitlines()]
    return any(_is_json(line) for line in lines) and ANSWER.encode() in outcome.out


def _plain_bytes(place: Place) -> str:
    outcome = place.ask(QUESTION, also=("no tools",))
    return _word(_answered(outcome) and not re.search(rb"[\x1b\r\x08]", outcome.out))


_FENCED = "Here:\n\n```python\nprint(1)\n```\n\nDone."
_PERSON = '{"name": "Ada", "age": 36}'
_FIRST = [head(), *(chunk(event) for event in sse(delta("Because ")))]

SITUATIONS = (
    Situation("The answer, and nothing else, on stdout", [says(ANSWER)], _only_the_answer),
    Situation(
        "The first word shows while the rest is still to come",
        [[*_FIRST, HOLD, *(chunk(each) for each in sse(delta("of it."), FINISH, DONE))]],
        _at_once,
    ),
    Situation("No escape sequence goes into a pipe", [says(ANSWER)], _plain_bytes),
    Situation(
        "Words and a pipe together",
        [says(ANSWER)],
        lambda place: _asked(place, "Explain", "Explain", "a = 1", stdin=b"a = 1\n"),
    ),
    Situation(
        "The question on stdin alone",
        [says(ANSWER)],
        lambda place: _asked(place, "", QUESTION, stdin=QUESTION.encode()),
    ),
    Situation(
        "A system prompt for one question",
        [says(ANSWER)],
        _with("system", lambda outcome: "in French" in texts(outcome.requests)[0]),
    ),
    Situation("Go on with the last conversation", [says(ANSWER)], _continue),
    Situation(
        "A picture beside the question",
        [says(ANSWER)],
        _with("image", lambda outcome: "data:image/png" in "".join(texts(outcome.requests))),
    ),
    Situation(
        "JSON that follows a schema",
        [says(_PERSON)],
        _with(
            "schema",
            lambda outcome: (
                _is_json(outcome.out, "name", "age") and '"age"' in texts(outcome.requests)[0]
            ),
        ),
    ),
    Situation(
        "Only the code block of the answer",
        [says(_FENCED)],
        _with("extract", lambda outcome: outcome.out.strip() == b"print(1)"),
    ),
    Situation("The result as JSON for a program", [says(ANSWER)], _with("json", _json_result)),
    Situation(
        "How many tokens it took",
        [says(ANSWER)],
        _with("usage", lambda outcome: bool(re.search(r"4[,.]?711", outcome.said))),
    ),
    Situation(
        "A tool of one's own is called, and the answer uses it",
        [reply(*calls(("get_time", "{}")), DONE), says(ANSWER)],
        _with(
            "tool",
            lambda outcome: _answered(outcome) and '"noon' in texts(outcome.requests)[-1],
        ),
    ),
    Situation("A template with a parameter", [says(ANSWER)], _template),
    Situation(
        "Many questions from a file",
        [says(ANSWER)],
        lambda place: (
            NONE
            if not place.can("batch")
            else _word(place.command("batch").out.count(ANSWER.encode()) == 2)
        ),
    ),
    Situation("Saved conversations are listed", [says(ANSWER)], _listed),
    Situation("The last one is shown again", [says(ANSWER)], _shown),
    Situation("Nothing is saved when told so", [says(ANSWER)], _nothing_saved),
    Situation("A time limit for the whole run", [[*_FIRST, HOLD]], _limit),
    Situation("Runs on Python 3.8", [says(ANSWER)], _old_python),
)
