"""What a provider's error reply means: its kind, its own words, and what to do about it."""

from __future__ import annotations

import importlib
import json
import math
import re
import time
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Tuple

from jpq.errors import ErrorKind, StreamError
from jpq.events import json_depth

_LONGEST_WORDS = 300  # characters of the provider's own words that are shown
_DEEPEST = 4  # errors wrapped in errors, as gateways send them
# Control and direction characters could repaint the terminal or hide what a line says.
_UNSHOWABLE = "[\x00-\x20\x7f-\xa0\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+"
_TITLE = r"(?is)<title[^>]*>(.*?)</title"
_TAG = r"(?is)<(script|style)\b.*?</\1\s*>|<[^>]*>"
_HTML_READ = 20_000  # characters of a web page that are looked at
_CODE_FIELDS = ("type", "code", "status", "reason", "status_code", "raw_status_code", "error_type")
_WORD_FIELDS = ("message", "detail", "error_description", "msg", "description", "errors")

_TRY_LATER = "Try again later."
# Kind -> what happened, what to do.
_TOLD: Dict[ErrorKind, Tuple[str, str]] = {
    ErrorKind.AUTH: (
        "The provider did not accept the API key",
        "Check the key: `jpq keys ls` lists what is stored, `jpq keys set` replaces it.",
    ),
    ErrorKind.QUOTA: (
        "The account's quota or balance is used up",
        "Check the plan and billing at the provider, or choose another model with -m.",
    ),
    ErrorKind.RATE_LIMITED: ("The provider takes no more requests for now", _TRY_LATER),
    ErrorKind.OVERLOADED: ("The provider is overloaded", _TRY_LATER),
    ErrorKind.SERVER: ("The provider failed", _TRY_LATER),
    ErrorKind.NOT_FOUND: (
        "The provider does not know the model or the address",
        "Check the model's name and the provider's base_url.",
    ),
    ErrorKind.CONTEXT_LENGTH: (
        "The conversation is longer than the model can take",
        "Start a new one, leave attachments out, or choose a model that takes more with -m.",
    ),
    ErrorKind.INVALID_REQUEST: (
        "The provider did not accept the request",
        "Check the model's options, tools and attachments.",
    ),
    ErrorKind.CONTENT_FILTER: (
        "The provider's content filter stopped the request",
        "Say it in other words, or choose another model with -m.",
    ),
}


def from_status(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    where: str = "",
    *,
    now: Callable[[], float] = time.time,
) -> StreamError:
    """The error that a reply with a status other than 2xx means.

    ``headers`` are looked up without regard to case; ``now`` is the wall clock in seconds,
    which a Retry-After date is compared with.
    """
    place = f"{where}, HTTP {status}" if where else f"HTTP {status}"
    if 300 <= status < 400:
        location = _short(headers.get("Location", "")) or "nowhere"
        message = f"The server redirects to {location}, which is not followed."
        hint = "If that is the right server, set base_url to it."
        return StreamError(ErrorKind.NOT_FOUND, message, where=place, hint=hint, status=status)
    if status == 407:
        message = "The proxy asks for a user name and password."
        hint = "Put them into the proxy's URL: http://USER:PASSWORD@HOST:PORT"
        return StreamError(ErrorKind.AUTH, message, where=place, hint=hint, status=status)
    text = body.decode("utf-8", "replace").lstrip("\ufeff").strip()
    wait = _waits().wait_in_headers(headers, now)
    if is_html(text):
        return _from_web_page(status, text, place, wait)
    try:
        value = json_depth.loads(text)
    except ValueError:
        value = text
    return _from_value(value, status, place, wait)


def from_error_object(value: Any, where: str = "") -> StreamError:
    """The error that ``value``, found inside a reply with status 200, means.

    ``value`` is the error's JSON, an object that has it under ``error``, or text.
    """
    return _from_value(value, None, where, None)


def is_html(text: str) -> bool:
    """Whether ``text``, stripped of blanks, is a web page."""
    return (
        text[:1] == "<"
        and re.match(r"<(!doctype|html|head|body|!--|\?xml)", text, re.I) is not None
    )


def html_summary(text: str) -> str:
    """A web page's title, else its text; short and fit to be shown."""
    title = re.search(_TITLE, text[:_HTML_READ])
    return _short(title.group(1) if title else re.sub(_TAG, " ", text[:_HTML_READ]))


def _from_web_page(status: int, text: str, where: str, wait: Optional[float]) -> StreamError:
    kind = _kind_of(status, frozenset(), "", None)
    return StreamError(
        kind,
        f'The server answered with a web page: "{html_summary(text)}"',
        where=where,
        hint="Check base_url, and whether a proxy or firewall is in the way.",
        retry_after=wait if kind.retryable else None,
        status=status,
    )


def _from_value(
    value: Any, status: Optional[int], where: str, wait: Optional[float]
) -> StreamError:
    if isinstance(value, list) and value:
        value = value[0]  # Google wraps its errors in a list
    codes, words = frozenset(_codes(value)), _words(value)
    if status is None:
        numbers = (int(code) for code in sorted(codes) if re.fullmatch("[45][0-9][0-9]", code))
        status = next(numbers, None)
    if wait is None:
        wait = _waits().wait_in_body(value, words)
    kind = _kind_of(status, codes, words, wait)
    message, hint = _TOLD[kind]
    if kind is ErrorKind.AUTH and status == 403:
        message = "The provider does not allow this request"
    if kind is ErrorKind.CONTEXT_LENGTH:
        message += _room(value)
    if hint is _TRY_LATER and wait:
        hint = f"Try again in {_in_words(wait)}."
    return StreamError(
        kind,
        f"{message}: {_short(words)}" if words.strip() else f"{message}.",
        where=where,
        hint=hint,
        retry_after=wait if kind.retryable else None,
        status=status,
    )


def _kind_of(*reported: Any) -> ErrorKind:
    """The kind of failure that is reported with these fields of ``failure_kind.Reported``."""
    # Loaded late, as most runs never fail.
    module = importlib.import_module("jpq.provider.failure_kind")
    kind: ErrorKind = module.kind_of(module.Reported(*reported))
    return kind


def _waits() -> Any:
    return importlib.import_module("jpq.provider.failure_wait")  # late for the same reason


def _in_words(seconds: float) -> str:
    """A wait as a person plans it: never shorter than it is."""
    for unit, length in (("hours", 3600), ("minutes", 60)):
        if seconds > 2 * length:
            return f"{math.ceil(seconds / length)} {unit}"
    return f"{seconds:.3g} s"


def _room(value: Any) -> str:
    """llama.cpp gives the numbers beside its words, which do not have them."""
    error = value.get("error") if isinstance(value, dict) else None
    if not isinstance(error, dict) or not error.get("n_ctx"):
        return ""
    return f" ({error.get('n_prompt_tokens', 'too many')} tokens, room for {error['n_ctx']})"


def _codes(value: Any, depth: int = 0) -> Iterator[str]:
    """All that classifies an error, in lower case, numbers as text."""
    if isinstance(value, list):
        for item in value:
            yield from _codes(item, depth + 1)
    if not isinstance(value, dict) or depth > _DEEPEST:
        return
    for field in _CODE_FIELDS:
        if isinstance(value.get(field), (str, int)):
            yield str(value[field]).lower()
    error = value.get("error")
    if isinstance(error, str) and " " not in error:
        yield error.lower()
    for inner in (error, value.get("details"), value.get("innererror")):
        yield from _codes(inner, depth + 1)


def _words(value: Any, depth: int = 0) -> str:
    """The provider's own explanation, as it stands."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "; ".join(filter(None, (_words(item, depth + 1) for item in value[:3])))
    if not isinstance(value, dict) or depth > _DEEPEST:
        return ""
    metadata = value.get("metadata")
    upstream = metadata.get("raw") if isinstance(metadata, dict) else None
    if isinstance(upstream, str) and upstream.strip():
        return _upstream_words(upstream, depth)  # OpenRouter's own message only says "error"
    inner = _words(value.get("error"), depth + 1)
    for field in _WORD_FIELDS:
        if inner and " " in inner:
            break
        inner = _words(value.get(field), depth + 1) or inner
    return inner or (json.dumps(value, ensure_ascii=False) if value and depth == 0 else "")


def _upstream_words(text: str, depth: int) -> str:
    try:
        return _words(json_depth.loads(text), depth + 1) or text
    except ValueError:
        return text


def _short(text: str) -> str:
    """``text`` on one line, fit to be shown, cut where it is too long."""
    line = re.sub(_UNSHOWABLE, " ", text[: 4 * _LONGEST_WORDS]).strip()
    return line if len(line) <= _LONGEST_WORDS else line[: _LONGEST_WORDS - 3].rstrip() + "..."
