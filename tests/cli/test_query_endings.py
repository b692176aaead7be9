"""However a turn ends, stdout, stderr, exit code, result and the saved turn end agree."""

from __future__ import annotations

import contextlib
import json
import threading
from typing import Any, Callable, Iterator, List, NamedTuple, Sequence

import pytest

from tests.support import programs
from tests.support.programs import Ran, jpq, model_at
from tests.support.server import (
    DONE,
    DROP,
    FINISH,
    USAGE,
    Pause,
    Server,
    answer,
    chunk,
    delta,
    error,
    head,
    refusing,
    reply,
    sse,
)

SILENCE = object()


def finished(reason: str, *values: Any) -> List[Any]:
    end = {"model": "test-model", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
    return reply(*values, end, USAGE, DONE)


def begun(*steps: Any) -> List[Any]:
    return [head(), *(chunk(event) for event in sse(delta("Hello "), delta("there"))), *steps]


def refusal() -> List[Any]:
    said = {"model": "test-model", "choices": [{"index": 0, "delta": {"refusal": "I will not."}}]}
    return reply(said, FINISH, USAGE, DONE)


@contextlib.contextmanager
def serving(steps: Sequence[Any]) -> Iterator[Server]:
    over = threading.Event()
    with Server([Pause(over) if step is SILENCE else step for step in steps]) as server:
        try:
            yield server
        finally:
            over.set()


def body(kind: str, message: str) -> Any:
    return {"error": {"type": kind, "code": kind, "message": message}}


class Ending(NamedTuple):
    """How a turn ends: what the server sends, and what everybody is told."""

    script: Callable[[], Sequence[Any]]  # SILENCE in it lasts until the test is over
    code: int
    status: str
    text: str
    told: str  # a word on stderr; empty: nothing is
    options: Sequence[str] = ()


_OVERLOADED = body("overloaded_error", "Too busy.")
_BAD_KEY = json.dumps(body("invalid_api_key", "No such key.")).encode()

ENDINGS = {
    "complete": Ending(lambda: answer("Hello there"), 0, "complete", "Hello there", ""),
    "cut": Ending(lambda: begun(DROP), 74, "incomplete", "Hello there", "cut"),
    "stalled": Ending(
        lambda: begun(SILENCE),
        74,
        "incomplete",
        "Hello there",
        "nothing for 2 seconds",
        ("--set", "request.idle_timeout_s=2"),
    ),
    "refused": Ending(refusal, 76, "refused", "I will not.", "refused"),
    "filtered": Ending(
        lambda: finished("content_filter", delta("Hello")), 76, "filtered", "Hello", "filter"
    ),
    "empty": Ending(lambda: finished("stop"), 76, "empty", "", "empty"),
    "limited": Ending(
        lambda: finished("length", delta("Hello")), 76, "limited", "Hello", "output limit"
    ),
    "error after 200": Ending(lambda: reply(_OVERLOADED), 75, "error", "", "overloaded"),
    "error inside": Ending(
        lambda: reply(delta("Hello "), delta("there"), _OVERLOADED),
        75,
        "error",
        "Hello there",
        "overloaded",
    ),
    "auth": Ending(
        lambda: error("401 Unauthorized", _BAD_KEY), 77, "error", "", "did not accept the API key"
    ),
    "timeout": Ending(
        lambda: begun(SILENCE), 124, "incomplete", "Hello there", "--timeout", ("--timeout", "3")
    ),
}


# Into a pipe, text and markdown are drawn by the same view as auto.
CASES = [(name, format) for name in ENDINGS for format in ("auto", "json", "jsonl")]
CASES += [(name, format) for name in ("complete", "cut") for format in ("text", "markdown")]


@pytest.mark.parametrize(("name", "format"), CASES)
def test_every_channel_agrees(name: str, format: str) -> None:
    ending = ENDINGS[name]
    with serving(ending.script()) as server:
        ran = jpq(*model_at(server), *ending.options, "--format", format, "hi")
    assert ran.code == ending.code, ran
    _check_stderr(ran, ending)
    if format in ("json", "jsonl"):
        _check_result(ran, ending, format)
    else:
        assert ran.text == (ending.text + "\n" if ending.text else "")
    (folder,) = programs.conversations()
    saved = programs.entries(folder)
    assert (saved[0]["type"], saved[0]["content"]) == ("chat_request", "hi")
    assert (saved[-1]["type"], saved[-1]["status"]) == ("turn_end", ending.status)
    assert "".join(entry.get("message", "") for entry in saved) == ending.text


def _check_stderr(ran: Ran, ending: Ending) -> None:
    if ending.told:
        ran.failed_with(ending.code, ending.told)
        assert ran.told[0].startswith("jpq: ")
    else:
        assert ran.err == b""


def _check_result(ran: Ran, ending: Ending, format: str) -> None:
    result = ran.result
    assert result["status"] == ending.status
    assert result["text"] == ending.text
    assert result["exit_code"] == ran.code
    if format == "json":
        assert len(ran.events) == 1
        return
    kinds = [event["type"] for event in ran.events]
    assert kinds[0] == "conversation" and kinds.count("result") == 1
    assert kinds.count("error") == (1 if ending.told else 0)
    assert "".join(e["text"] for e in ran.events if e["type"] == "text_chunk") == ending.text


def server_says(status: str, kind: str = "", *headers: str) -> Callable[[], Sequence[Any]]:
    data = json.dumps(body(kind, "It says no.")).encode()
    return lambda: error(status, data, "application/json", *headers)


# What a server may answer, and the code that a script sees.
REPLIES = {
    "not found": (server_says("404 Not Found"), 1, "custom, http"),
    "bad request": (server_says("400 Bad Request", "invalid_request_error"), 1, "not accept"),
    "too long": (server_says("400 Bad Request", "context_length_exceeded"), 65, "longer"),
    "rate limited": (server_says("429 Too Many Requests"), 75, "no more requests"),
    "server error": (server_says("500 Internal Server Error"), 75, "failed"),
    "forbidden": (server_says("403 Forbidden"), 77, "does not allow"),
    "quota": (server_says("429 Too Many Requests", "insufficient_quota"), 77, "used up"),
    "no headers": (lambda: [SILENCE], 74, "sent nothing"),
    "reset before headers": (lambda: [DROP], 69, "127.0.0.1"),
    "web page": (
        lambda: error("200 OK", b"<html><title>Log in</title></html>", "text/html"),
        74,
        "Log in",
    ),
    "no JSON": (lambda: error("200 OK", b"it works!", "text/plain"), 74, "cut off"),
}


@pytest.mark.parametrize("name", REPLIES)
def test_what_a_server_may_answer(name: str) -> None:
    steps, code, word = REPLIES[name]
    with serving(steps()) as server:
        ran = jpq(*model_at(server), "--set", "request.idle_timeout_s=2", "--json", "hi")
    ran.failed_with(code, word)
    assert ran.result["exit_code"] == code


def test_nothing_listens() -> None:
    with refusing() as port:
        at = programs.base_url(f"http://127.0.0.1:{port}/v1")
        ran = jpq("-m", "custom/test", "--retries", "0", *at, "--json", "hi")
    ran.failed_with(69, "127.0.0.1")
    assert ran.result["status"] == "error"


@pytest.mark.parametrize("format", ["auto", "json", "jsonl"])
@pytest.mark.parametrize("blank", ["", " \n"])
def test_an_empty_answer_is_asked_for_again_once(blank: str, format: str) -> None:
    empty = finished("stop", delta(blank))
    with Server(empty, answer("Hello"), empty) as server:
        options = ["-m", "custom/test", *programs.base_url(server.url), "--format", format]
        ran = jpq(*options, "hi")
        requests = len(server.seen)
        still_empty = jpq(*options, "hi")
    assert (ran.code, requests) == (0, 2)
    assert (
        ran.text.strip().startswith("Hello") if format == "auto" else ran.result["text"] == "Hello"
    )
    (told,) = ran.told
    assert "The reply is empty" in told and told.endswith("Asking again, once.")
    assert (still_empty.code, len(server.seen)) == (76, 4)
    assert [line.startswith("jpq: The reply is empty") for line in still_empty.told[:2]] == [
        True
    ] * 2
    if format != "auto":
        assert (still_empty.result["status"], still_empty.result["exit_code"]) == ("empty", 76)


def test_a_cut_answer_is_gone_on_with() -> None:
    with Server(begun(DROP), answer(" and goodbye.")) as server:
        options = ["-m", "custom/test", *programs.base_url(server.url)]
        first = jpq(*options, "--retries", "0", "hi")
        again = jpq(*options, "--retry", "--json")
    assert first.code == 74
    assert (again.code, again.result["status"]) == (0, "complete")
    (folder,) = programs.conversations()
    assert programs.entries(folder)[-1]["status"] == "complete"


def test_retries_are_told_and_the_answer_is_whole() -> None:
    busy = error("503 Service Unavailable", b"{}")
    with Server(busy, answer("Hello")) as server:
        ran = jpq(
            *("-m", "custom/test", *programs.base_url(server.url)),
            *("--set", "request.backoff_base_s=0.01", "hi"),
        )
    assert (ran.code, ran.text) == (0, "Hello\n")
    assert len(ran.told) == 1 and "Attempt 2 of 4" in ran.told[0]
