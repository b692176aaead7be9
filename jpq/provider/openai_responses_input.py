"""The messages of a thread as input items of the Responses API.

Its rules: each call is answered by an output with its ``call_id``, reasoning is followed by
what it led to, and what the provider encrypted goes back unchanged to the model that made
it. (Guides "Conversation state", "Function calling" and "Reasoning models" of OpenAI's
documentation, and the types of its Python library.)
"""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator, List, Mapping, Sequence, Set, Union

from jpq.conversation.thread import (
    ASSISTANT,
    USER,
    Origin,
    ThreadBlock,
    ThreadDocument,
    ThreadImage,
    ThreadOpaque,
    ThreadReasoning,
    ThreadText,
    ThreadToolCall,
    ThreadToolResult,
)
from jpq.provider.base import ProviderRequest, ProviderRow
from jpq.provider.openai_responses_item import CALL, CUSTOM_CALL, ITEM, REASONING, REFUSED
from jpq.provider.wire_names import CallIds, valid_name
from jpq.provider.wire_request import CONTINUE
from jpq.provider.wire_thread import data_url

Item = Dict[str, Any]

_LONGEST_CALL_ID = 64  # the API's own word: "Expected a string with maximum length 64"


def input_items(request: ProviderRequest, row: ProviderRow) -> List[Item]:
    """The conversation. A cut answer at its end is left open where the quirk ``prefill``
    says that the server's stream goes on with it; elsewhere the model is asked to go on."""
    items = _Encoder(request, row).items()
    prefill = row.quirks.get("prefill", False) and request.stream
    is_open = bool(items) and items[-1].get("role") != USER
    if request.thread.continues and is_open and not prefill:
        items.append(_user_message([_input_text(CONTINUE)]))
    return items


class _Encoder:
    def __init__(self, request: ProviderRequest, row: ProviderRow) -> None:
        self._thread = request.thread
        self._maker = Origin(row.name, request.model)
        self._ids = CallIds(longest=_LONGEST_CALL_ID)
        self._custom: Set[str] = set()  # ids of the calls that are not function calls

    def items(self) -> List[Item]:
        encoded: List[Item] = []
        for message in self._thread.messages:
            if message.role == ASSISTANT:
                items = [item for block in message.blocks for item in self._assistant(block)]
                while items and items[-1]["type"] == REASONING:
                    items.pop()  # the API wants to see what it led to
                encoded.extend(items)
            else:
                encoded.extend(self._user(message.blocks))
        return encoded

    def _user(self, blocks: Sequence[ThreadBlock]) -> Iterator[Item]:
        """Results first, right after their calls."""
        for block in blocks:
            if isinstance(block, ThreadToolResult):
                kind = CUSTOM_CALL if block.id in self._custom else CALL
                call_id = self._ids.of(block.id)
                yield {"type": f"{kind}_output", "call_id": call_id, "output": _output(block)}
        content = [part for block in blocks for part in _content(block)]
        if content:
            yield _user_message(content)

    def _assistant(self, block: ThreadBlock) -> Iterator[Item]:
        if isinstance(block, ThreadText):
            yield self._message(block)
        elif isinstance(block, ThreadToolCall):
            yield self._call(block)
        elif isinstance(block, (ThreadReasoning, ThreadOpaque)) and block.origin == self._maker:
            item = block.data if isinstance(block, ThreadOpaque) else block.opaque.get(ITEM)
            if isinstance(item, dict) and _goes_back(item):
                yield dict(item)

    def _message(self, block: ThreadText) -> Item:
        own = block.opaque if block.origin == self._maker else {}
        message = _assistant_message(block.text)
        if own.get(REFUSED):
            message["content"] = [{"type": "refusal", "refusal": block.text}]
        if own.get("id"):
            message.update(id=own["id"], status="completed")
        if own.get("phase"):
            message["phase"] = own["phase"]
        return message

    def _call(self, call: ThreadToolCall) -> Item:
        own = call.opaque if call.origin == self._maker else {}
        item: Item = {**own, "type": CALL, "call_id": self._ids.of(call.id)}
        item["name"] = valid_name(call.name)
        if own.get("type") == CUSTOM_CALL and isinstance(call.arguments.get("raw"), str):
            self._custom.add(call.id)
            return {**item, "type": CUSTOM_CALL, "input": call.arguments["raw"]}
        item["arguments"] = json.dumps(call.arguments, ensure_ascii=False)
        return item


def _goes_back(item: Mapping[str, Any]) -> bool:
    """Whether the provider takes its own item back: not a call of a tool that jpq would have
    had to run or to allow, because it cannot be answered."""
    kind = item.get("type")
    return isinstance(kind, str) and "call_id" not in item and kind != "mcp_approval_request"


def _content(block: ThreadBlock) -> Iterator[Item]:
    """``block`` as content of a question (guides "Images and vision" and "File inputs")."""
    if isinstance(block, ThreadText):
        yield _input_text(block.text)
    elif isinstance(block, ThreadImage):
        yield {"type": "input_image", "detail": "auto", "image_url": data_url(block)}
    elif isinstance(block, ThreadDocument):
        yield {"type": "input_file", "filename": block.name, "file_data": data_url(block)}


def _output(result: ThreadToolResult) -> Union[str, List[Item]]:
    """What a call gave: text, or a list of contents where there is more ("Function calling")."""
    if not result.attached:
        return result.content
    text = [_input_text(result.content)] if result.content.strip() else []
    return [*text, *(part for block in result.attached for part in _content(block))]


def _input_text(text: str) -> Item:
    return {"type": "input_text", "text": text}


def _user_message(content: Sequence[Item]) -> Item:
    return {"type": "message", "role": "user", "content": list(content)}


def _assistant_message(text: str) -> Item:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "content": content}
