"""The JSON Lines that a program drives ``jpq chat --format jsonl`` with (docs/events.md)."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Union

from jpq.events import strict_json
from jpq.library.asking import PermissionRequest, QuestionRequest
from jpq.named import NamedTuple
from jpq.render.jsonl import event_fields

MAIN = "main"  # the session of lines that name none

Fields = Dict[str, Any]
Request = Union[PermissionRequest, QuestionRequest]


class BadLine(Exception):
    """A line that means nothing; ``session`` is the one it names, if it does."""

    def __init__(self, message: str, session: Optional[str] = None) -> None:
        super().__init__(message)
        self.session = session


class Open(NamedTuple):
    """What a session that is used for the first time is to be, other than the options say."""

    session: str
    model: Optional[str] = None
    system: Optional[str] = None
    conversation: Optional[str] = None


class User(NamedTuple):
    """A message, or with None for ``text`` the last one again. ``schema`` is what the answer
    must be; ``request`` is put on each line of its turn."""

    session: str
    text: Optional[str]
    attachments: Sequence[str] = ()
    schema: Union[str, Mapping[str, Any], None] = None
    request: Union[str, int, None] = None


class Permission(NamedTuple):
    """The answer to a ``permission_request``."""

    session: str
    id: str
    allow: bool
    reason: str = ""

    def reply_to(self, request: Request) -> Union[bool, str]:
        """What the line says to ``request``. Raises BadLine where it is no answer to that."""
        if not isinstance(request, PermissionRequest):
            raise BadLine(f"{self.id!r} is a question and takes an answer.", self.session)
        return self.allow or self.reason or False


class Answer(NamedTuple):
    """The answer to a ``question``; None for none."""

    session: str
    id: str
    text: Optional[str]

    def reply_to(self, request: Request) -> Optional[str]:
        """What the line says to ``request``. Raises BadLine where it is no answer to that."""
        if isinstance(request, PermissionRequest):
            raise BadLine(f"{self.id!r} takes a permission and no answer.", self.session)
        choices = ("yes", "no") if request.kind == "yes_no" else request.choices
        if self.text is not None and request.kind != "text" and self.text not in choices:
            one_of = json.dumps(list(choices))
            raise BadLine(f"The answer to {self.id!r} is one of {one_of}.", self.session)
        return self.text


class Cancel(NamedTuple):
    """Stop the oldest message that has no result yet."""

    session: str


class Close(NamedTuple):
    """Answer what is there, and let go of the conversation."""

    session: str


Line = Union[Open, User, Permission, Answer, Cancel, Close]


def parse_line(data: bytes) -> Line:
    """What ``data`` says. Raises BadLine."""
    try:
        value = strict_json.parse(data.decode("utf-8"))
    except ValueError as error:
        raise BadLine(f"The line is not JSON: {error}.") from error
    if not isinstance(value, dict):
        raise BadLine("The line is not a JSON object.")
    session = value.get("session", MAIN)
    if not isinstance(session, str):
        raise BadLine("'session' must be a string.")
    read = _TYPES.get(str(value.get("type")))
    if read is None:
        known = ", ".join(_TYPES)
        raise BadLine(f"There is no type {json.dumps(value.get('type'))}, only {known}.", session)
    try:
        return read(session, value)
    except ValueError as error:
        raise BadLine(f"{error}.", session) from error


def output_fields(event: Any) -> Optional[Fields]:
    """The line of ``event``; None where it has none."""
    if isinstance(event, PermissionRequest):
        return {"type": "permission_request", **event._asdict()}
    if isinstance(event, QuestionRequest):
        return {"type": "question", **event._asdict()}
    return event_fields(event)


def _open(session: str, value: Mapping[str, Any]) -> Line:
    named = (_optional(value, name) for name in ("model", "system", "conversation"))
    return Open(session, *named)


def _user(session: str, value: Mapping[str, Any]) -> Line:
    attachments = value.get("attachments", [])
    if not isinstance(attachments, list) or not all(isinstance(a, str) for a in attachments):
        raise ValueError("'attachments' must be a list of paths")
    schema = value.get("schema")
    if not isinstance(schema, (str, dict, type(None))):
        raise ValueError("'schema' must be JSON Schema or a string")
    text = _optional(value, "text") or "" if attachments else _text(value, "text")
    return User(session, text, attachments, schema, _request(value))


def _retry(session: str, value: Mapping[str, Any]) -> Line:
    return User(session, None, request=_request(value))


def _request(value: Mapping[str, Any]) -> Union[str, int, None]:
    request = value.get("id")
    if isinstance(request, bool) or not isinstance(request, (str, int, type(None))):
        raise ValueError("'id' must be a string or an integer")
    return request


def _permission(session: str, value: Mapping[str, Any]) -> Line:
    if not isinstance(value.get("allow"), bool):
        raise ValueError("'allow' must be true or false")
    return Permission(session, _text(value, "id"), value["allow"], _optional(value, "reason") or "")


def _answer(session: str, value: Mapping[str, Any]) -> Line:
    return Answer(session, _text(value, "id"), _optional(value, "text"))


def _text(value: Mapping[str, Any], name: str) -> str:
    text = value.get(name)
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"'{name}' must be a string with something in it")
    return text


def _optional(value: Mapping[str, Any], name: str) -> Optional[str]:
    text = value.get(name)
    if text is not None and not isinstance(text, str):
        raise ValueError(f"'{name}' must be a string")
    return text


_TYPES: Mapping[str, Callable[[str, Mapping[str, Any]], Line]] = {
    "user": _user,
    "retry": _retry,
    "permission": _permission,
    "answer": _answer,
    "cancel": lambda session, value: Cancel(session),
    "open": _open,
    "close": lambda session, value: Close(session),
}
