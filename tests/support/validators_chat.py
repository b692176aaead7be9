"""The rules that OpenAI publishes for requests to its chat API, as assertions.

They are from "Create chat completion" (reference), the guides "Function calling", "Images and
vision" and "File inputs" of its documentation, and the messages of the API's own errors; that
roles alternate is what Mistral and llama.cpp's templates insist on.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any, List, Mapping, Pattern, Sequence, Set

_NAME = re.compile("[a-zA-Z0-9_-]{1,64}")
_ANY_ID = re.compile(r".*\S.*", re.DOTALL)
_FIELDS = {
    "system": {"role", "content"},
    "developer": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls", "prefix"},
    "tool": {"role", "content", "tool_call_id"},
}
_REASONING_FIELDS = {"reasoning_content", "reasoning", "reasoning_details"}
_DATA_URL = re.compile("data:([a-z]+/[a-z]+);base64,(.+)", re.DOTALL)
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def check_request(
    body: Mapping[str, Any],
    *,
    prefill: bool = False,
    ids: Pattern[str] = _ANY_ID,
    result_media: Any = True,
    answer_after_results: bool = False,
) -> None:
    """Assert that the API takes ``body``.

    ``prefill`` says that an answer may stand open, ``ids`` what ids of calls look like, and
    ``result_media`` (as the quirk) what the server takes of results that are not only text;
    ``answer_after_results`` is as the quirk, too.
    """
    json.dumps(body)
    assert isinstance(body["model"], str) and body["model"]
    assert body["messages"], "no messages"
    for message in body["messages"]:
        _check_message(message, result_media)
    _check_roles([message["role"] for message in body["messages"]])
    if answer_after_results:
        _check_answered([message["role"] for message in body["messages"]])
    _check_calls(body["messages"], ids)
    assert prefill or body["messages"][-1]["role"] != "assistant", "an answer stands open"
    names = [tool["function"]["name"] for tool in body.get("tools", ())]
    assert len(set(names)) == len(names) and all(map(_NAME.fullmatch, names))
    choice = body.get("tool_choice")
    if isinstance(choice, dict):
        assert choice["function"]["name"] in names
    elif choice is not None:
        assert names and choice in ("auto", "required", "none")


def _check_message(message: Mapping[str, Any], result_media: Any) -> None:
    role = message["role"]
    assert set(message) - _REASONING_FIELDS <= _FIELDS[role], f"{role} with {set(message)}"
    content = message["content"]
    if isinstance(content, list):
        assert content and (role == "user" or (role == "tool" and result_media == "content"))
        for part in content:
            _check_part(part)
    elif role == "tool":
        assert isinstance(content, str)
    elif content is None:
        assert message.get("tool_calls"), "an empty message"
    else:
        assert content.strip(), "a blank text"
    assert message.get("tool_calls", "absent"), "an empty list of calls"


def _check_part(part: Mapping[str, Any]) -> None:
    if part["type"] == "text":
        assert part["text"].strip(), "a blank text"
    elif part["type"] == "image_url":
        assert _media_type(part["image_url"]["url"]) in _IMAGES
    else:
        assert part["type"] == "file" and part["file"]["filename"]
        assert _media_type(part["file"]["file_data"]) == "application/pdf"


def _media_type(url: str) -> str:
    found = _DATA_URL.fullmatch(url)
    assert found is not None and base64.b64decode(found.group(2), validate=True)
    return found.group(1)


def _check_roles(roles: Sequence[str]) -> None:
    spoken = [role for role in roles if role not in ("system", "developer")]
    assert spoken[0] == "user", "the user begins"
    for role, following in zip(spoken, spoken[1:]):
        if role in ("user", "assistant"):
            assert following != role, "the roles alternate"


def _check_answered(roles: Sequence[str]) -> None:
    """Mistral's own rule: "Unexpected role 'user' after role 'tool'"."""
    assert ("tool", "user") not in list(zip(roles, roles[1:])), "a question right after a result"


def _check_calls(messages: Sequence[Mapping[str, Any]], ids: Pattern[str]) -> None:
    """Each call is answered exactly once, right after its message and in order."""
    seen: Set[str] = set()
    waiting: List[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert waiting and message["tool_call_id"] == waiting.pop(0)
            continue
        assert not waiting, "a call without a result"
        for call in message.get("tool_calls", ()):
            assert call["type"] == "function" and _NAME.fullmatch(call["function"]["name"])
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
            assert ids.fullmatch(call["id"]) and call["id"] not in seen, "ids must be unique"
            seen.add(call["id"])
            waiting.append(call["id"])
    assert not waiting, "a call without a result"
