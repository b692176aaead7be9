"""The messages of a thread as content blocks of the Messages API.

Its rules: roles alternate, each call is answered at the beginning of the next message,
ids are made of few characters, no text is blank, and what the provider signed or encrypted
goes back unchanged to the model that made it.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Iterable, List, Mapping, Sequence, Union

from jpq.conversation.thread import (
    ASSISTANT,
    USER,
    Message,
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
from jpq.provider.anthropic_block import BLOCKS, COMPACTION
from jpq.provider.base import ProviderRequest, ProviderRow
from jpq.provider.wire_names import CallIds, valid_name
from jpq.provider.wire_request import CONTINUE

CACHE: Mapping[str, str] = {"type": "ephemeral"}

Block = Dict[str, Any]

_NOT_IN_IDS = re.compile("[^a-zA-Z0-9_-]")
# An error result must say something; a tool may fail without a word.
_SILENT_FAILURE = "The tool failed without a message."


def encode_messages(
    request: ProviderRequest, row: ProviderRow, *, prefill: bool, cache_hints: bool
) -> List[Dict[str, Any]]:
    """The messages of ``request``.

    An answer at the end is left open where the model takes that (``prefill``), or where a
    tool that the provider runs is still at work in it, or the provider paused after it had
    summed up the conversation; elsewhere the model is asked to go on. With ``cache_hints`` the
    last message that will not change any more is marked.
    """
    encoder = _Encoder(request, row)
    messages = encoder.messages()
    if cache_hints:
        _mark_last_stable(messages)
    if messages and messages[-1]["role"] == ASSISTANT:
        content = messages[-1]["content"]
        open_end = prefill and content[-1]["type"] == "text"
        if open_end:
            # The API refuses a prefilled answer that ends with blanks.
            content[-1] = {**content[-1], "text": content[-1]["text"].rstrip()}
        elif not encoder.server_tool_is_running and content[-1]["type"] != COMPACTION:
            messages.append({"role": USER, "content": [{"type": "text", "text": CONTINUE}]})
    return messages


class _Encoder:
    def __init__(self, request: ProviderRequest, row: ProviderRow) -> None:
        self._thread = request.thread
        self._maker = Origin(row.name, request.model)
        self._ids = CallIds(invalid=_NOT_IN_IDS)
        blocks = (block for message in self._thread.messages for block in message.blocks)
        own = [
            block.data
            for block in blocks
            if isinstance(block, ThreadOpaque) and self._is_own(block)
        ]
        self._uses = {block.get("id") for block in own if _is_server_use(block)}
        self._results = {block.get("tool_use_id") for block in own}
        self.server_tool_is_running = False

    def messages(self) -> List[Dict[str, Any]]:
        messages = self._thread.messages
        last = max((n for n, m in enumerate(messages) if m.role == ASSISTANT), default=-1)
        encoded = []
        for number, message in enumerate(messages):
            content = [part for block in message.blocks for part in self._block(block)]
            if message.role == ASSISTANT:
                content = self._settled(content, message, number == last)
            else:
                # What belongs to an error result stands behind the results.
                content.sort(key=lambda part: part["type"] != "tool_result")
            if content:
                encoded.append({"role": message.role, "content": content})
        return encoded

    def _block(self, block: ThreadBlock) -> Iterable[Block]:
        if isinstance(block, ThreadText):
            return self._text(block)
        if isinstance(block, ThreadToolCall):
            return (self._call(block),)
        if isinstance(block, ThreadToolResult):
            beside = map(_attached, block.attached) if block.is_error else ()
            return (self._result(block), *beside)
        if isinstance(block, ThreadOpaque):
            return (dict(block.data),) if self._is_own(block) else ()
        if isinstance(block, ThreadReasoning):
            # The API takes no other reasoning back.
            is_own = block.origin == self._maker and block.opaque.get("signature")
            thinking = {"type": "thinking", "thinking": block.text, **block.opaque}
            return (thinking,) if is_own else ()
        return (_attached(block),)

    def _is_own(self, block: ThreadOpaque) -> bool:
        """Whether ``block`` is one of this API's, made by the model that is asked."""
        return block.origin == self._maker and isinstance(block.data.get("type"), str)

    def _text(self, block: ThreadText) -> Iterable[Block]:
        parts = block.opaque.get(BLOCKS)
        if block.origin == self._maker and isinstance(parts, list) and _says(parts, block.text):
            return _not_blank(parts)
        return ({"type": "text", "text": block.text},)

    def _call(self, call: ThreadToolCall) -> Block:
        encoded: Block = {"type": "tool_use", "id": self._ids.of(call.id)}
        encoded.update(name=valid_name(call.name), input=call.arguments)
        return {**call.opaque, **encoded} if call.origin == self._maker else encoded

    def _result(self, result: ThreadToolResult) -> Block:
        """A result; the API takes pictures and PDFs in it, but no error that is more than text
        ("Handle tool calls" in Anthropic's documentation)."""
        encoded: Block = {"type": "tool_result", "tool_use_id": self._ids.of(result.id)}
        content = result.content
        if result.is_error:
            encoded["is_error"] = True
            content = content if content.strip() else _SILENT_FAILURE
        if content.strip():
            encoded["content"] = content
        if result.attached and not result.is_error:
            text = [{"type": "text", "text": content}] if content.strip() else []
            encoded["content"] = [*text, *map(_attached, result.attached)]
        return encoded

    def _settled(self, content: Sequence[Block], message: Message, is_last: bool) -> List[Block]:
        """``content`` without what the API refuses to take back: reasoning at the end, calls
        of the provider's own tools that have no result (one at the end may still run), and
        results that have no call."""
        has_calls = any(isinstance(block, ThreadToolCall) for block in message.blocks)
        may_run = is_last and (has_calls or self._thread.messages[-1] is message)
        kept = []
        for block in content:
            if _is_server_use(block) and block.get("id") not in self._results:
                if not may_run:
                    continue
                self.server_tool_is_running = True
            elif _is_server_result(block) and block["tool_use_id"] not in self._uses:
                continue
            kept.append(block)
        while kept and kept[-1]["type"] in ("thinking", "redacted_thinking"):
            kept.pop()
        return kept


def _attached(block: Union[ThreadImage, ThreadDocument]) -> Block:
    """A picture or a PDF ("Vision" and "PDF support" in Anthropic's documentation)."""
    source = {"type": "base64", "media_type": block.media_type, "data": block.data}
    if isinstance(block, ThreadImage):
        return {"type": "image", "source": source}
    return {"type": "document", "source": source, "title": block.name}


def _is_server_use(block: Mapping[str, Any]) -> bool:
    """Whether ``block`` calls a tool that the provider runs (``server_tool_use`` and others)."""
    return str(block.get("type")).endswith("_tool_use")


def _is_server_result(block: Mapping[str, Any]) -> bool:
    """Whether ``block`` is the result of such a call (``web_search_tool_result`` and others)."""
    return block["type"] != "tool_result" and str(block["type"]).endswith("_tool_result")


def _says(parts: Sequence[Any], text: str) -> bool:
    """Whether the blocks ``parts`` are the text as it is now: it may have been continued."""
    texts = [part.get("text") if isinstance(part, dict) else None for part in parts]
    return all(isinstance(piece, str) for piece in texts) and "".join(map(str, texts)) == text


def _not_blank(parts: Iterable[Mapping[str, Any]]) -> List[Block]:
    """The blocks ``parts``, with blank ones, which the API refuses, joined to their neighbours."""
    kept: List[Block] = []
    blank = ""
    for part in parts:
        if not part["text"].strip():
            if kept:
                kept[-1] = {**kept[-1], "text": kept[-1]["text"] + part["text"]}
            else:
                blank += part["text"]
            continue
        kept.append({**part, "text": blank + part["text"]})
        blank = ""
    return kept


def _mark_last_stable(messages: Sequence[Dict[str, Any]]) -> None:
    """Mark the last message of the user: an answer at the end is yet to be gone on with."""
    for message in reversed(messages):
        if message["role"] == USER:
            message["content"][-1] = {**message["content"][-1], "cache_control": CACHE}
            return
