"""Which kind of failure an error reply is, from its status, its codes and its words.

Providers disagree on statuses: a bad key is 401, 403 or 400, an empty account 402 or 429,
an overloaded server 529, 503 or an error inside a reply with status 200. So the codes and
the words are read before the status is believed. The order of the questions matters.
"""

from __future__ import annotations

import re
from typing import AbstractSet, Callable, Optional, Tuple

from jpq.errors import ErrorKind
from jpq.named import NamedTuple


class Reported(NamedTuple):
    """What an error reply says.

    ``status`` is the HTTP status or the number in an error inside a stream; ``codes`` are
    its types, codes and reasons in lower case; ``wait`` is how long it asks to wait.
    """

    status: Optional[int]
    codes: AbstractSet[str]
    words: str
    wait: Optional[float]


def kind_of(reported: Reported) -> ErrorKind:
    """The kind; an error inside a stream that says nothing of use is the server's."""
    return next((kind for kind, applies in _QUESTIONS if applies(reported)), ErrorKind.SERVER)


def _words(pattern: str) -> Callable[[str], object]:
    # Compiled when it is first asked, since most runs never fail.
    return lambda words: re.search(pattern, words, re.IGNORECASE)


_CONTEXT_CODES = {
    "context_length_exceeded",
    "exceed_context_size_error",
    "model_max_prompt_tokens_exceeded",
    "request_too_large",
    "too_many_prompt_tokens",
}
_context_words = _words(
    r"context (length|window|size)|maximum context|(prompt|input) is too long|prompt too long"
    r"|too many (input )?tokens|exceeds the maximum number of tokens|messages is too long"
    # Anthropic, vLLM, Kimi, Z.ai, Qwen, text-generation-inference
    r"|exceed context limit|maximum model length|exceeded model token limit"
    r"|prompt exceeds max length|range of input length|`inputs` tokens \+ `max_new_tokens`"
)


def _context_length(reported: Reported) -> bool:
    if reported.codes & _CONTEXT_CODES or reported.status == 413:
        return True
    return reported.status in (None, 400, 422, 500) and bool(_context_words(reported.words))


_QUOTA_CODES = {
    "billing_error",
    "billing_hard_limit_reached",
    "insufficient_balance",
    "insufficient_credits",
    "insufficient_quota",
    "payment_required",
    "usage_limit_reached",
}
_quota_words = _words(
    r"exceeded your current quota|balance is too low|insufficient (balance|credit|funds|quota)"
    r"|out of credits|spending limit|used all available credits|quota exhausted"
    r"|reached your (\w+ )?usage limit"
)


def _quota(reported: Reported) -> bool:
    if reported.status == 402 or reported.codes & _QUOTA_CODES:
        return True
    # Google calls a limit per minute a quota, too, but then says how long to wait.
    limited = reported.status in (None, 400, 403, 429) and reported.wait is None
    return limited and bool(_quota_words(reported.words))


_FILTER_CODES = {
    "content_filter",
    "content_policy_violation",
    "bio_policy",
    "data_inspection_failed",
    "image_content_policy_violation",
    "invalid_prompt",  # OpenAI's word for a prompt that its policy forbids
    "misalignment_policy_violation",
    "moderation_blocked",
    "responsibleaipolicyviolation",
}
_filter_words = _words(
    r"content (management|moderation) policy|requires moderation|was flagged|content filter"
)


def _content_filter(reported: Reported) -> bool:
    if reported.codes & _FILTER_CODES:
        return True
    return reported.status in (None, 400, 403) and bool(_filter_words(reported.words))


_AUTH_CODES = {
    "api_key_invalid",
    "authentication_error",
    "incorrect_api_key",
    "invalid_api_key",
    "permission_denied",
    "permission_error",
    "unauthenticated",
    "unauthorized",
}
_auth_words = _words(
    r"(invalid|incorrect|missing|wrong|expired|no) api[ -]?key"
    r"|api[ -]?key (is )?(not valid|invalid|missing|expired|not found)|missing authentication"
)


def _auth(reported: Reported) -> bool:
    if reported.status in (401, 403) or reported.codes & _AUTH_CODES:
        return True
    return reported.status in (None, 400) and bool(_auth_words(reported.words))


_OVERLOAD_CODES = {"overloaded", "overloaded_error", "unavailable", "unavailable_error"}
_overload_words = _words(
    r"overloaded|over capacity|at capacity|high demand|loading model|temporarily unavailable"
)


def _overloaded(reported: Reported) -> bool:
    if reported.status == 529 or reported.codes & _OVERLOAD_CODES:
        return True
    may_be = reported.status in (None, 429, 500, 502, 503)
    return may_be and bool(_overload_words(reported.words))


_RATE_CODES = {
    "rate_limit_error",
    "rate_limit_exceeded",
    "rate_limited",
    "resource_exhausted",
    "throttlingexception",
    "too_many_requests",
}


def _rate_limited(reported: Reported) -> bool:
    return reported.status == 429 or bool(reported.codes & _RATE_CODES)


_MISSING_CODES = {"invalid_model", "model_not_found", "not_found", "not_found_error"}
_missing_words = _words(r"model\b.{0,100}\b(does not exist|not found)|not a valid model")


def _not_found(reported: Reported) -> bool:
    if reported.status in (404, 405, 410) or reported.codes & _MISSING_CODES:
        return True
    return reported.status in (None, 400, 422) and bool(_missing_words(reported.words))


_SERVER_CODES = {"api_error", "internal", "internal_error", "internal_server_error", "server_error"}
# Time-outs on the server's side, and requests that it gave up itself.
_SERVER_STATUSES = (408, 409, 425, 499)
_NOT_BUILT = 501  # "this model does not take audio" is said with it


def _server(reported: Reported) -> bool:
    if reported.status is None:
        return bool(reported.codes & _SERVER_CODES)
    failed = reported.status >= 500 and reported.status != _NOT_BUILT
    return failed or reported.status in _SERVER_STATUSES


_INVALID_CODES = {
    "bad_request",
    "invalid_argument",
    "invalid_request_error",
    "tool_use_failed",
    # What OpenAI finds out about an attachment once the answer has begun.
    "data_residency_mismatch",
    "empty_image_file",
    "failed_to_download_image",
    "image_file_not_found",
    "image_file_too_large",
    "image_parse_error",
    "image_too_large",
    "image_too_small",
    "invalid_base64_image",
    "invalid_image",
    "invalid_image_format",
    "invalid_image_mode",
    "invalid_image_url",
    "unsupported_image_media_type",
}


def _invalid_request(reported: Reported) -> bool:
    return reported.status is not None or bool(reported.codes & _INVALID_CODES)


_QUESTIONS: Tuple[Tuple[ErrorKind, Callable[[Reported], bool]], ...] = (
    (ErrorKind.CONTEXT_LENGTH, _context_length),
    (ErrorKind.QUOTA, _quota),
    (ErrorKind.CONTENT_FILTER, _content_filter),
    (ErrorKind.OVERLOADED, _overloaded),
    (ErrorKind.RATE_LIMITED, _rate_limited),
    (ErrorKind.AUTH, _auth),
    (ErrorKind.NOT_FOUND, _not_found),
    (ErrorKind.SERVER, _server),
    (ErrorKind.INVALID_REQUEST, _invalid_request),
)
