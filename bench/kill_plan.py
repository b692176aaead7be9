"""What is streamed to a jpq that will be killed, and when it will be.

Every word of an answer has a number of its own, so that a word that is missing, that comes
twice or in the wrong place shows. The plan of a kill follows from its seed alone; when
exactly the signal arrives is up to the machine.
"""

from __future__ import annotations

import random
import re
import threading
import time
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence

from tests.support.server import FINISH, LAST_CHUNK, Tell, chunk, delta, head, sse

WORDS = 300  # in all the cycles of a turn together
SCENARIOS = ("text", "reasoning", "tools", "retry", "one burst", "a running tool")
MOMENTS = ("after some text", "when asked", "while committing", "while starting")
_WEIGHTS = (12, 3, 4, 1)
_PACE_S = 0.0002
# A tool that says in a file that it runs.
TOOL = """
[tools.nope_slow]
description = "Takes its time"
command = ["sh", "-c", "echo run >> runs; sleep 0.1; echo nope"]
run = "unattended"
display = { title = "nope" }
"""


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
    cycles: List[List[Any]]
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
    elif plan.scenario == "a running tool":
        half = WORDS // 2
        cycles = [[*texts[:half], *_call("call_a", "nope_slow"), "[DONE]"], [*texts[half:], *last]]
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


def _reasoning(text: str) -> Dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"reasoning_content": text}}]}


def _call(id: str, name: str = "nope") -> List[Dict[str, Any]]:
    function = {"name": name, "arguments": '{"a": 1}' if name == "nope" else "{}"}
    call = {"index": 0, "id": id, "type": "function", "function": function}
    return [
        {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    ]
