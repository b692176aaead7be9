"""Twenty failing situations: how each program ends, and whether it says why."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
from typing import Any, Callable, Sequence

from bench.comparison.everyday import ANSWER, QUESTION, Situation
from bench.comparison.run import HOLD, Outcome, Place, says
from tests.support.server import (
    DONE,
    DROP,
    FINISH,
    LAST_CHUNK,
    Step,
    chunk,
    delta,
    error,
    head,
    sse,
)

_HALF = [head(), *(chunk(event) for event in sse(delta("Because "), delta("of")))]


def _verdict(outcome: Outcome, why: str) -> str:
    """How it ended: in the words of the table."""
    if outcome.code is None:
        return "hangs"
    told = bool(re.search(why, outcome.said, re.IGNORECASE))
    if "Traceback (most recent call last)" in outcome.said:
        return f"traceback, code {outcome.code}"
    if outcome.code == 0:
        return "code 0, but says why" if told else "code 0, as if all were well"
    return f"code {outcome.code}, says why" if told else f"code {outcome.code}, without the cause"


def _failing(why: str, *also: str, **how: Any) -> Callable[[Place], str]:
    """Ask; ``why`` is a pattern for what the person should be told."""

    def judge(place: Place) -> str:
        return _verdict(place.ask(QUESTION, also=("no tools", *also), **how), why)

    return judge


def _survives(place: Place) -> str:
    outcome = place.ask(QUESTION, also=("no tools", "plain"))
    if outcome.code == 0 and ANSWER.encode() in outcome.out:
        return "answers after a retry"
    return _verdict(outcome, "limit|overload|unavailable|429|503")


def _refused(place: Place) -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: refuses
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        return _verdict(place.ask(QUESTION, also=("no tools",), url=url), "connect|refused")


def _full_disk(place: Place) -> str:
    with open("/dev/full", "wb") as full:
        return _verdict(place.ask(QUESTION, also=("no tools",), stdout=full), "space|full|write")


def _shell_code(code: int) -> int:
    return code if code >= 0 else 128 - code


def _ended_by(signum: int) -> Callable[[Place], str]:
    """End it in the middle of its answer; is what was shown saved?"""

    def judge(place: Place) -> str:
        def end(process: subprocess.Popen[bytes]) -> None:
            process.send_signal(signum)

        outcome = place.ask(QUESTION, also=("no tools", "plain", "keep"), when_seen=end)
        if outcome.code is None:
            return "does not end"
        place.ended.set()
        kept = _saved(place.home, b"Because")
        return f"{'kept' if kept else 'lost'}, code {_shell_code(outcome.code)}"

    return judge


def _saved(home: str, words: bytes) -> bool:
    for folder, _, names in os.walk(home):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                if words in file.read():
                    return True
    return False


def _error(status: str, message: str, *headers: str, **more: Any) -> Sequence[Step]:
    body = json.dumps({"error": {"message": message, **more}}).encode()
    return error(status, body, "application/json", *headers)


_HTML = b"<html><body><h1>Sign in to the hotel's network</h1></body></html>"

SITUATIONS = (
    Situation(
        "The key is wrong (401)",
        [_error("401 Unauthorized", "Incorrect API key provided")],
        _failing("api key|401|authentic"),
    ),
    Situation(
        "No key is set",
        [_error("401 Unauthorized", "You didn't provide an API key")],
        _failing("key", unset=("OPENAI_API_KEY",)),
    ),
    Situation(
        "The model does not exist (404)",
        [_error("404 Not Found", "The model `test` does not exist", code="model_not_found")],
        _failing("does not exist|not found|404"),
    ),
    Situation(
        "The quota is used up (429)",
        [_error("429 Too Many Requests", "You exceeded your quota", code="insufficient_quota")],
        _failing("quota"),
    ),
    Situation(
        "Too long for the model's context (400)",
        [
            _error(
                "400 Bad Request",
                "This model's maximum context length is 8192 tokens",
                code="context_length_exceeded",
            )
        ],
        _failing("context|too long"),
    ),
    Situation(
        "Rate limited once, with Retry-After: 1",
        [_error("429 Too Many Requests", "Slow down", "Retry-After: 1"), says(ANSWER)],
        _survives,
    ),
    Situation(
        "Overloaded once (503)",
        [_error("503 Service Unavailable", "Overloaded"), says(ANSWER)],
        _survives,
    ),
    Situation("No server there", [says(ANSWER)], _refused),
    Situation(
        "A host that does not exist",
        [says(ANSWER)],
        _failing("connect|resolve|host|name", url="http://nowhere.invalid/v1"),
    ),
    Situation(
        "A web page instead of an answer (200)",
        [error("200 OK", _HTML, "text/html")],
        _failing("html|web page|json|parse|decode"),
    ),
    Situation(
        "The connection breaks in the middle", [[*_HALF, DROP]], _failing("connection|cut|read")
    ),
    Situation(
        "The stream ends in the middle, without its end marker",
        [[*_HALF, LAST_CHUNK]],
        _failing("cut|end|incomplete|interrupted|finish"),
    ),
    Situation(
        "An error inside the stream, in the middle",
        [[*_HALF, *(chunk(each) for each in sse({"error": {"message": "Server had an error"}}))]],
        _failing("server had an error"),
    ),
    Situation(
        "A piece of the stream is broken JSON",
        [[*_HALF, *(chunk(each) for each in sse('{"choices": [', FINISH, DONE)), LAST_CHUNK]],
        _failing("json|broken|malformed|parse|understand"),
    ),
    Situation(
        "Silence in the middle, where a limit can be set",
        [[*_HALF, HOLD]],
        _failing("time|silen|stall|nothing", "silence"),
    ),
    Situation(
        "The output limit cuts the answer",
        [says("Because of", "length")],
        _failing("limit|length|cut|truncat"),
    ),
    Situation(
        "The answer is empty",
        [says("")],
        _failing("empty|no answer|no text|nothing"),
    ),
    Situation("The disk under stdout is full", [says(ANSWER)], _full_disk),
    Situation("Ctrl+C in the middle: what was shown", [[*_HALF, HOLD]], _ended_by(signal.SIGINT)),
    Situation("Killed in the middle: what was shown", [[*_HALF, HOLD]], _ended_by(signal.SIGKILL)),
)
