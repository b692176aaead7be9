"""The messages of a thread as contents of a Gemini request.

Gemini's rules: the roles are ``user`` and ``model``; the calls of one content are answered
by as many function responses in the next one, matched by their ids or their names and order;
a part that was signed goes back as it came, to the model that signed it ("Function calling"
and "Thought signatures" in Google's documentation).
"""

from __future__ import annotations

import re
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Sequence, Union

from jpq.conversation.thread import (
    ASSISTANT,
    Message,
    Origin,
    Thread,
    ThreadBlock,
    ThreadDocument,
    ThreadImage,
    ThreadOpaque,
    ThreadText,
    ThreadToolCall,
    ThreadToolResult,
)
from jpq.provider.base import ProviderRow
from jpq.provider.google_parts import CALL_ID, PARTS
from jpq.provider.wire_thread import after_results

_Part = Dict[str, Any]

# "Thought signatures" gives this for calls that another model made. Models since Gemini 3
# refuse the first call of a step that has no signature.
NOT_SIGNED = "skip_thought_signature_validator"

# What a part may hold besides its call, and what blocks of other APIs have that a part has not:
# a provider may have been configured with another API when they were kept.
_BESIDE_CALL = ("thought", "thoughtSignature", "partMetadata")
_OTHERS = {"type", "id", "extra_content", "reasoning_details", "images"}

_INVALID_IN_NAME = re.compile(r"[^a-zA-Z0-9_.:-]")
_LONGEST_NAME = 64


def encode_contents(
    thread: Thread, row: ProviderRow, model: str, *, signed_calls: bool
) -> List[Dict[str, Any]]:
    """The contents of ``thread``; with ``signed_calls`` no step is without a signature."""
    return _Encoder(row, model, signed_calls).contents(thread.messages)


def text_content(role: str, text: str) -> Dict[str, Any]:
    """A content that is one text."""
    return {"role": role, "parts": [{"text": text}]}


def valid_name(name: str) -> str:
    """A name that Gemini takes, for a tool that another model may have made up."""
    valid = _INVALID_IN_NAME.sub("_", name)
    if not (valid[:1].isalpha() or valid[:1] == "_"):
        valid = f"_{valid}"
    return valid[:_LONGEST_NAME]


class _Encoder:
    def __init__(self, row: ProviderRow, model: str, signed_calls: bool) -> None:
        self._maker = Origin(row.name, model)
        self._signed_calls = signed_calls
        self._given_ids: Dict[str, str] = {}  # a call's id in the thread -> Gemini's own

    def contents(self, messages: Iterable[Message]) -> List[Dict[str, Any]]:
        contents: List[Dict[str, Any]] = []
        for message in messages:
            parts = [part for block in message.blocks for part in self._block(block)]
            role = "user"
            if message.role == ASSISTANT:
                role = "model"
                if self._signed_calls:
                    _sign_first_call(parts)
            else:
                # What tools gave beside their responses stands behind all of these.
                parts.sort(key=lambda part: "functionResponse" not in part)
            if not parts:
                continue
            if contents and contents[-1]["role"] == role:
                contents[-1]["parts"].extend(parts)
            else:
                contents.append({"role": role, "parts": parts})
        return contents

    def _block(self, block: ThreadBlock) -> Iterable[_Part]:
        if isinstance(block, ThreadText):
            return self._text(block)
        if isinstance(block, ThreadToolCall):
            return (self._call(block),)
        if isinstance(block, ThreadToolResult):
            return self._result(block)
        if isinstance(block, (ThreadImage, ThreadDocument)):
            return (_inline(block),)
        if block.origin != self._maker:
            return ()
        if isinstance(block, ThreadOpaque):
            return _kept(block.data)
        return _kept({PARTS: block.opaque.get(PARTS)})

    def _text(self, block: ThreadText) -> Iterable[_Part]:
        parts = list(_kept(block.opaque)) if block.origin == self._maker else []
        said = "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
        if parts and block.text.endswith(said):
            # What comes before is from an answer that was cut, and that these parts continue.
            before = block.text[: len(block.text) - len(said)]
            return [{"text": before}, *parts] if before.strip() else parts
        return ({"text": block.text},)

    def _call(self, call: ThreadToolCall) -> _Part:
        function: _Part = {"name": valid_name(call.name), "args": call.arguments}
        if call.origin != self._maker:
            return {"functionCall": function}
        given = call.opaque.get(CALL_ID)
        if isinstance(given, str):
            self._given_ids[call.id] = given
            function["id"] = given
        return {**_beside_call(call.opaque), "functionCall": function}

    def _result(self, result: ThreadToolResult) -> Iterable[_Part]:
        """Models since Gemini 3 take what a tool gave within its response ("Function calling",
        multimodal function responses), older ones only beside it."""
        # FunctionResponse in the reference: "output" and "error" are its own words.
        said = {"error" if result.is_error else "output": result.content}
        response: _Part = {"name": valid_name(result.name), "response": said}
        if result.id in self._given_ids:
            response["id"] = self._given_ids[result.id]
        if self._signed_calls:
            if result.attached:
                response["parts"] = list(map(_inline, result.attached))
            return ({"functionResponse": response},)
        beside = (part for b in after_results([result]) for part in self._block(b))
        return ({"functionResponse": response}, *beside)


def _inline(block: Union[ThreadImage, ThreadDocument]) -> _Part:
    # "Image understanding" and "Document understanding" in Google's documentation
    return {"inlineData": {"mimeType": block.media_type, "data": block.data}}


def _kept(opaque: Mapping[str, Any]) -> Iterator[_Part]:
    """The parts that were kept as they came; a text that says nothing is refused."""
    parts = opaque.get(PARTS, [opaque])
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict) and part and not (_is_blank(part) or _OTHERS & set(part)):
            yield dict(part)


def _is_blank(part: Mapping[str, Any]) -> bool:
    text = part.get("text")
    return isinstance(text, str) and not text.strip() and set(part) <= {"text", "thought"}


def _beside_call(opaque: Mapping[str, Any]) -> _Part:
    return {name: opaque[name] for name in _BESIDE_CALL if name in opaque}


def _sign_first_call(parts: Sequence[_Part]) -> None:
    calls = [part for part in parts if "functionCall" in part]
    if calls and "thoughtSignature" not in calls[0]:
        calls[0]["thoughtSignature"] = NOT_SIGNED
