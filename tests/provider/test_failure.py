"""Error replies of real providers: their kind, their words, how long to wait."""

from __future__ import annotations

import email.utils
import json
import os
from typing import Any, Dict, Optional

import pytest

from jpq.errors import ErrorKind, StreamError
from jpq.provider.failure import from_error_object, from_status
from tests.support import corpus

NOW = 1_700_000_000.0

# The kind of each recorded error whose status alone does not give it.
READ_FROM_THE_BODY = {
    "gemini/400.body": ErrorKind.AUTH,
    "mistral/400.body": ErrorKind.NOT_FOUND,
    "openai/400.body": ErrorKind.NOT_FOUND,
    "openrouter/400.body": ErrorKind.NOT_FOUND,
    "llamacpp/501.body": ErrorKind.INVALID_REQUEST,
}
BY_STATUS = {
    400: ErrorKind.INVALID_REQUEST,
    401: ErrorKind.AUTH,
    403: ErrorKind.AUTH,
    404: ErrorKind.NOT_FOUND,
    429: ErrorKind.RATE_LIMITED,
    500: ErrorKind.SERVER,
}
RECORDED = corpus.files("http-errors", "", ".body")


@pytest.mark.parametrize("path", corpus.cases(RECORDED))
def test_recorded(path: Optional[str]) -> None:
    body = corpus.read(path or "http-errors")
    assert path is not None
    meta = json.loads(corpus.read(path[: -len("body")] + "meta.json"))
    error = from_status(meta["http_status"], {}, body, "prov, https://host/v1/x")
    name = "/".join(path.split(os.sep)[1:])
    if "context-length" in path and meta["http_status"] != 429:
        expected = ErrorKind.CONTEXT_LENGTH
    else:
        expected = READ_FROM_THE_BODY.get(name) or BY_STATUS[meta["http_status"]]
    assert error.kind is expected
    assert error.status == meta["http_status"]
    assert error.where == f"prov, https://host/v1/x, HTTP {meta['http_status']}"
    assert ": " in error.message and error.hint, "the provider's words, and what to do"
    assert "\n" not in error.message and len(error.message) < 400


def _from(status: int, value: Any, **headers: str) -> StreamError:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return from_status(status, named, body, now=lambda: NOW)


@pytest.mark.parametrize(
    "status, value, kind, words",
    [
        (401, {"detail": "Unauthorized"}, ErrorKind.AUTH, "Unauthorized"),
        (422, {"detail": [{"loc": ["a"], "msg": "field required"}]}, ErrorKind.INVALID_REQUEST,
         "field required"),
        (400, {"code": "Client specified an invalid argument",
               "error": "Incorrect API key provided: xa***. "}, ErrorKind.AUTH, "Incorrect API"),
        (429, {"error": {"code": "insufficient_quota", "message": "You exceeded"}},
         ErrorKind.QUOTA, "You exceeded"),
        (400, {"type": "error", "error": {"type": "invalid_request_error",
               "message": "Your credit balance is too low to access the API."}},
         ErrorKind.QUOTA, "credit balance"),
        (402, {"error": {"message": "Insufficient Balance"}}, ErrorKind.QUOTA, "Balance"),
        (429, {"error": {"type": "rate_limit_error", "message": "slow down"}},
         ErrorKind.RATE_LIMITED, "slow down"),
        (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
         ErrorKind.OVERLOADED, "Overloaded"),
        (503, {"error": {"code": 503, "status": "UNAVAILABLE", "message": "The model is busy"}},
         ErrorKind.OVERLOADED, "busy"),
        (503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}},
         ErrorKind.OVERLOADED, "Loading model"),
        (503, b"", ErrorKind.SERVER, "The provider failed."),
        (502, b"upstream connect error", ErrorKind.SERVER, "upstream connect error"),
        (413, {"error": {"type": "request_too_large", "message": "too large"}},
         ErrorKind.CONTEXT_LENGTH, "too large"),
        (400, {"error": {"code": 400, "type": "exceed_context_size_error", "n_ctx": 4096,
               "n_prompt_tokens": 9000, "message": "the request exceeds the available size"}},
         ErrorKind.CONTEXT_LENGTH, "9000 tokens, room for 4096"),
        (400, {"error": {"code": "content_filter", "message": "filtered",
               "innererror": {"code": "ResponsibleAIPolicyViolation"}}},
         ErrorKind.CONTENT_FILTER, "filtered"),
        (403, {"error": {"code": 403, "message": "x requires moderation. Your input was flagged"}},
         ErrorKind.CONTENT_FILTER, "flagged"),
        (404, {"error": "model 'x' not found"}, ErrorKind.NOT_FOUND, "model 'x' not found"),
        (405, b"Method Not Allowed", ErrorKind.NOT_FOUND, "Method Not Allowed"),
        (408, b"", ErrorKind.SERVER, ""),
        (400, [{"error": {"code": 400, "message": "in a list"}}], ErrorKind.INVALID_REQUEST,
         "in a list"),
        (400, {"errors": [{"message": "one of several"}]}, ErrorKind.INVALID_REQUEST, "one of"),
        (429, {"error": {"message": "Provider returned error", "code": 429, "metadata": {
               "raw": '{"error": {"message": "upstream is full"}}', "provider_name": "X"}}},
         ErrorKind.RATE_LIMITED, "upstream is full"),
        (400, {"unheard": "of"}, ErrorKind.INVALID_REQUEST, '"unheard": "of"'),
        (429, {"error": "you have reached your weekly usage limit"}, ErrorKind.QUOTA, "weekly"),
        (400, b"[" * 100_000, ErrorKind.INVALID_REQUEST, "[[["),
    ],
)  # fmt: skip
def test_shape(status: int, value: Any, kind: ErrorKind, words: str) -> None:
    error = _from(status, value)
    assert (error.kind, error.status) == (kind, status)
    assert words in error.message


@pytest.mark.parametrize(
    "words",
    [
        "input length and `max_tokens` exceed context limit: 190000 + 16000 > 200000",
        "The decoder prompt (length 8357) is longer than the maximum model length of 8192.",
        "Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)",
        "Prompt exceeds max length",
        "InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
        "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "Input is too long for requested model.",
    ],
)
def test_too_long_is_said_in_many_ways(words: str) -> None:
    error = _from(400, {"error": {"message": words, "type": "invalid_request_error"}})
    assert error.kind is ErrorKind.CONTEXT_LENGTH and words in error.message


@pytest.mark.parametrize(
    "headers, expected",
    [
        ({"Retry_After": "17"}, 17.0),
        ({"Retry_After": " 1.5 "}, 1.5),
        ({"Retry_After": "-3"}, 0.0),
        ({"Retry_After": email.utils.formatdate(NOW + 30, usegmt=True)}, 30.0),
        ({"Retry_After": email.utils.formatdate(NOW - 30, usegmt=True)}, 0.0),
        ({"Retry_After": "soon"}, None),
        ({"Retry_After": ""}, None),
        ({"Retry_After": "9" * 400}, None),
        ({"Retry_After": "nan"}, None),
        ({"Retry_After": "Thu, 99 Foo 2023 99:99:99 GMT"}, None),
        ({"retry_after_ms": "250", "Retry_After": "9"}, 0.25),
        ({}, None),
    ],
)
def test_retry_after(headers: Dict[str, str], expected: Optional[float]) -> None:
    assert _from(429, b"", **headers).retry_after == expected


@pytest.mark.parametrize(
    "words, expected",
    [
        ("Please try again in 17s.", 17.0),
        ("Please try again in 20ms.", 0.02),
        ("Try again in 1h6m0.5s, please", 3960.5),
        ("Please retry after 6 seconds or ask for more", 6.0),
        ("Please retry in 48.9s.", 48.9),
        ("retry after 3 requests", None),
        ("try again later", None),
    ],
)
def test_a_wait_in_words(words: str, expected: Optional[float]) -> None:
    wait = _from(429, {"error": {"message": words}}).retry_after
    assert wait == (None if expected is None else pytest.approx(expected))


def test_googles_wait_makes_a_quota_a_rate_limit() -> None:
    error = {"code": 429, "message": "You exceeded your current quota", "status": "x"}
    assert _from(429, {"error": error}).kind is ErrorKind.QUOTA
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "17s"}]
    limited = _from(429, [{"error": {**error, "details": details}}])
    assert (limited.kind, limited.retry_after) == (ErrorKind.RATE_LIMITED, 17.0)


@pytest.mark.parametrize(
    "wait, words", [("0.25", "0.25 s"), ("99", "99 s"), ("121", "3 minutes"), ("7201", "3 hours")]
)
def test_the_person_is_told_when_to_come_back(wait: str, words: str) -> None:
    assert _from(429, b"", Retry_After=wait).hint == f"Try again in {words}."
    assert _from(503, b"").hint == "Try again later."


def test_a_wait_means_nothing_where_asking_again_cannot_help() -> None:
    assert _from(401, b"", Retry_After="5").retry_after is None


@pytest.mark.parametrize("status, kind", [(502, ErrorKind.SERVER), (404, ErrorKind.NOT_FOUND)])
def test_a_web_page_is_told_by_its_title(status: int, kind: ErrorKind) -> None:
    page = b"\n<!DOCTYPE html><html><head><title>Bad\n Gateway</title></head><h1>nginx</h1></html>"
    error = _from(status, page)
    assert error.kind is kind
    assert error.message == 'The server answered with a web page: "Bad Gateway"'


def test_a_web_page_without_a_title_is_told_by_its_text() -> None:
    error = _from(500, b"<html><style>p {x}</style><body><p>Out of <b>order</b></body></html>")
    assert error.message.endswith('"Out of order"')


def test_words_cannot_repaint_the_terminal_and_are_cut() -> None:
    error = _from(500, {"error": {"message": "a\x1b[2Jb\r\nc\u202ed\x9b1m " + "long " * 200}})
    assert error.message.startswith("The provider failed: a [2Jb c d 1m long")
    assert error.message.endswith("...") and len(error.message) < 330


def test_a_redirect_names_where_it_leads() -> None:
    error = from_status(302, {"Location": "https://elsewhere.example/v1"}, b"", "prov")
    assert error.kind is ErrorKind.NOT_FOUND
    assert "https://elsewhere.example/v1" in error.message


def test_a_proxy_that_wants_a_password_is_not_a_bad_key() -> None:
    error = from_status(407, {}, b"", "prov")
    assert "proxy" in error.message and not error.retryable


@pytest.mark.parametrize(
    "value, kind, status",
    [
        ({"error": {"type": "overloaded_error", "message": "x"}}, ErrorKind.OVERLOADED, None),
        ({"error": {"code": 502, "message": "upstream"}}, ErrorKind.SERVER, 502),
        ({"error": {"code": "401", "message": "no"}}, ErrorKind.AUTH, 401),
        ({"error": {"code": None, "message": "what"}}, ErrorKind.SERVER, None),
        ({"error": {"code": 499, "status": "CANCELLED", "message": "x"}}, ErrorKind.SERVER, 499),
        ({"error": {"message": "Failed to call a function.", "type": "invalid_request_error",
          "code": "tool_use_failed", "failed_generation": "<f>", "status_code": 400}},
         ErrorKind.INVALID_REQUEST, 400),
        ({"type": "invalid_request_error", "message": "bad"}, ErrorKind.INVALID_REQUEST, None),
        ({"type": "server_error", "message": "bad"}, ErrorKind.SERVER, None),
        ({"code": "insufficient_quota", "message": "x"}, ErrorKind.QUOTA, None),
        ({"code": "rate_limit_exceeded", "message": "x"}, ErrorKind.RATE_LIMITED, None),
        ({"code": "invalid_prompt", "message": "for safety reasons"}, ErrorKind.CONTENT_FILTER,
         None),
        ({"code": "image_too_large", "message": "x"}, ErrorKind.INVALID_REQUEST, None),
        ({"error": "the model ran away"}, ErrorKind.SERVER, None),
        ("plain words", ErrorKind.SERVER, None),
        (None, ErrorKind.SERVER, None),
        (7, ErrorKind.SERVER, None),
    ],
)  # fmt: skip
def test_inside_a_stream(value: Any, kind: ErrorKind, status: Optional[int]) -> None:
    error = from_error_object(value, "prov")
    assert (error.kind, error.status, error.where) == (kind, status, "prov")
